"""/v1/keys: credentials of the caller's namespace."""

from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from placet.errors import FieldError, Invalid
from placet.process.access import caller
from placet.process.auth import Auth, Caller, Scope
from placet.process.http import json_response
from placet_broker.api.bodies import KeyBody, documented, read
from placet_broker.api.cursors import place_of
from placet_broker.api.listing import Limit, aged_page

Operator = Annotated[Caller, Depends(caller(Scope.OPERATE))]

Anybody = Annotated[Caller, Depends(caller())]


def router(auth: Auth) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/keys", tags=["keys"])

    @routes.post("", status_code=201, openapi_extra=documented(KeyBody), summary="Make a key")
    async def create(who: Operator, request: Request) -> Response:
        """The key itself is in this reply and nowhere else. Nobody grants a scope that they lack."""
        body = await read(KeyBody, request)
        if body.kind == "amqp":
            return json_response(orjson.dumps({"record": await _map(auth, who, body)}), 201)
        key, record = await auth.create_key(
            namespace=who.namespace,
            name=body.name,
            scopes=body.scopes,
            person=body.person,
            service=body.service,
            expires_at=body.expires_at,
            by=who,
        )
        return json_response(orjson.dumps({"key": key, "record": record}), 201)

    @routes.get("", summary="The keys of the namespace, without the secrets")
    async def list_keys(who: Operator, limit: Limit = 100, cursor: str | None = None) -> Response:
        found = await auth.list_keys(who.namespace, limit=limit, after=place_of(cursor))
        return aged_page(found, limit)

    @routes.get("/self", summary="What the caller's credential is")
    async def own(who: Anybody) -> Response:
        """For clients that want to know whom they answer as."""
        own = {"id": who.id, "namespace": who.namespace, "person": who.is_person}
        return json_response(orjson.dumps({**own, "scopes": sorted(who.scopes)}))

    @routes.delete("/{id}", summary="Revoke a key; it is worthless at once")
    async def revoke(who: Operator, id: str) -> Response:
        return json_response(orjson.dumps({"record": await auth.revoke_key(who.namespace, id)}))

    return routes


async def _map(auth: Auth, who: Caller, body: KeyBody) -> dict[str, object]:
    if body.expires_at is not None:
        detail = "a mapping of an AMQP user has no end; revoke it"
        raise Invalid(detail, [FieldError("/expires_at", detail)])
    if body.service is None or body.person is not None:
        detail = "an AMQP user stands for a service"
        raise Invalid(detail, [FieldError("/service", detail)])
    return await auth.map_amqp_user(
        body.name, namespace=who.namespace, service=body.service, scopes=body.scopes, by=who
    )
