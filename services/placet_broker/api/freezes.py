"""/v1/freezes: calls that an operator keeps from starting."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from placet.domain.freeze import Freeze
from placet.errors import NotAllowed
from placet.process.access import authenticate, caller
from placet.process.auth import Caller, Scope
from placet.process.cursors import Cursor, Limit, cursor_of, place_of
from placet.process.freezes import StoredFreezes
from placet.process.idempotency import Key, once
from placet_broker.api.bodies import FreezeBody, documented, read

READERS = (Scope.FREEZE, Scope.RUNS_READ, Scope.INPUTS_READ)


async def _reader(request: Request) -> Caller:
    """Whoever may see runs or inputs may know why they wait."""
    who = await authenticate(request)
    if not any(map(who.may, READERS)):
        raise NotAllowed(f"this credential lacks the scope {Scope.RUNS_READ}")
    return who


Active = Annotated[
    bool | None, Query(description="Those that hold, or those that were lifted; else both.")
]
Operator = Annotated[Caller, Depends(caller(Scope.FREEZE))]
Reader = Annotated[Caller, Depends(_reader)]


class FreezePage(BaseModel):
    """Freezes, newest first."""

    items: list[Freeze]
    next_cursor: Cursor = None


def router(freezes: StoredFreezes) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/freezes", tags=["freezes"])

    @routes.post(
        "",
        status_code=201,
        openapi_extra=documented(FreezeBody),
        summary="Keep calls from starting",
    )
    async def freeze(
        who: Operator, request: Request, response: Response, key: Key = None
    ) -> Freeze:
        """What runs already runs on. A covered call that is approved waits, and its yes is kept.

        The same request again under its `Idempotency-Key` is 200, with the freeze as it stands.
        """
        body = await read(FreezeBody, request)
        one = once(who, "freezes", key, body.model_dump(mode="json"))
        made, fresh = await freezes.freeze(
            who.namespace,
            agent=body.agent,
            tools=body.tools,
            reason=body.reason,
            by=who.id,
            once=one,
        )
        response.status_code = 201 if fresh else 200
        return made

    @routes.get("", summary="What is, or was, kept from starting")
    async def list_freezes(
        who: Reader, active: Active = None, limit: Limit = 50, cursor: Cursor = None
    ) -> FreezePage:
        after = place_of("freezes", cursor, datetime, str)
        found = await freezes.page(
            who.namespace,
            active=active,
            after=after,
            limit=limit,
        )
        more = cursor_of("freezes", found[-1].at, found[-1].id) if len(found) == limit else None
        return FreezePage(items=found, next_cursor=more)

    @routes.get("/{id}", summary="One freeze")
    async def get_freeze(who: Reader, id: str) -> Freeze:
        return await freezes.get(who.namespace, id)

    @routes.post("/{id}/lift", summary="Let calls start again")
    async def lift(who: Operator, id: str) -> Freeze:
        """One that is lifted stays as it was lifted. All else is checked again before a call starts."""
        return await freezes.lift(who.namespace, id, who.id)

    return routes
