"""/v1/requests: other services ask over REST."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from placet.domain.resolution import Input
from placet.messages.strict import decode_request_strict
from placet.process.access import caller
from placet.process.auth import Caller, Scope
from placet.process.http import json_response
from placet_broker.rules.opening import Asker
from placet_broker.usecases import UseCases

LONGEST_WAIT = 60.0

Asking = Annotated[Caller, Depends(caller(Scope.RUNS_WRITE))]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT)]


def router(use_cases: UseCases) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/requests", tags=["requests"])

    @routes.post(
        "", status_code=202, response_model=Input, summary="Ask for an approval, or any kind"
    )
    async def ask(who: Asking, request: Request, wait: Wait = 0) -> Response:
        """202 while it waits, 200 once it has settled. Sending the same again is harmless."""
        asked = decode_request_strict(await request.body())
        record = await use_cases.open_request(asked, Asker(who.id, who.namespace))
        if record.pending and wait:
            record = await use_cases.waiters.wait(record, wait)
        return json_response(record.as_json(), 202 if record.pending else 200)

    @routes.post("/{id}/withdraw", response_model=Input, summary="Take back a request of your own")
    async def withdraw(who: Asking, id: str) -> Response:
        record = await use_cases.close_input.withdraw(id, who)
        return json_response(record.as_json())

    return routes
