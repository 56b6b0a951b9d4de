"""/v1/delegations: who answers in whose place, until when, in the caller's namespace."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from placet.process.auth.delegations import Delegations
from placet.process.cursors import Cursor, Limit, place_of
from placet.process.http import json_response
from placet.process.idempotency import Key, once
from placet_broker.api.bodies import DelegationBody, documented, read
from placet_broker.api.callers import Anybody, Reader
from placet_broker.api.listing import aged_page

InForce = Annotated[bool, Query(description="Without those that have ended.")]


def router(delegations: Delegations) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/delegations", tags=["people"])

    @routes.get("", summary="Delegations, newest first")
    async def list_delegations(
        who: Reader, in_force: InForce = False, limit: Limit = 50, cursor: Cursor = None
    ) -> Response:
        """Those that have ended too, unless `in_force`."""
        after = place_of("delegations", cursor, datetime, str)
        found = await delegations.page(
            who.namespace,
            limit=limit,
            after=after,
            in_force=in_force,
        )
        return aged_page("delegations", found, limit)

    @routes.post(
        "", status_code=201, openapi_extra=documented(DelegationBody), summary="Delegate answering"
    )
    async def delegate(who: Anybody, request: Request, key: Key = None) -> Response:
        """Of one's own with `inputs:answer`, of somebody else with `operate`. No circles.

        The same request again under its `Idempotency-Key` is 200, with the delegation as it stands.
        """
        body = await read(DelegationBody, request)
        one = once(who, "delegations", key, body.model_dump(mode="json"))
        made, fresh = await delegations.create(who, body.to, body.until, body.named, one)
        return json_response(made, 201 if fresh else 200)

    @routes.get("/{id}", summary="One delegation")
    async def get_delegation(who: Reader, id: str) -> Response:
        return json_response(await delegations.get(who.namespace, id))

    @routes.delete("/{id}", summary="End a delegation now")
    async def end_delegation(who: Anybody, id: str) -> Response:
        """By whom it is of, or with `operate`."""
        return json_response(await delegations.end(who, id))

    return routes
