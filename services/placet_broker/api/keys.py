"""/v1/keys: credentials of the caller's namespace."""

from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.errors import FieldError, Invalid
from placet.process.auth import Auth, Caller
from placet.process.cursors import Cursor, Limit, place_of
from placet.process.http import json_response
from placet.process.idempotency import Key, once
from placet.store.port import Document
from placet_broker.api.bodies import KeyBody, documented, read
from placet_broker.api.callers import Anybody, Operator
from placet_broker.api.listing import aged_page


def router(auth: Auth) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/keys", tags=["keys"])

    @routes.post("", status_code=201, openapi_extra=documented(KeyBody), summary="Make a key")
    async def create(who: Operator, request: Request, key: Key = None) -> Response:
        """The key itself is in this reply and nowhere else. Nobody grants a scope that they lack.

        The same request again under its `Idempotency-Key` is 200, with the record and without the key.
        """
        body = await read(KeyBody, request)
        if body.kind == "amqp":
            return json_response({"record": await _map(auth, who, body)}, 201)
        secret, record = await _make(auth, who, body, key)
        return json_response({"key": secret, "record": record}, 200 if secret is None else 201)

    @routes.get("", summary="The keys of the namespace, newest first, without the secrets")
    async def list_keys(who: Operator, limit: Limit = 100, cursor: Cursor = None) -> Response:
        place = place_of("keys", cursor, datetime, str)
        found = await auth.keys.page(who.namespace, limit=limit, after=place)
        return aged_page("keys", found, limit)

    @routes.get("/self", summary="What the caller's credential is")
    async def own(who: Anybody) -> Response:
        """For clients that want to know whom they answer as."""
        own = {"id": who.id, "namespace": who.namespace, "person": who.is_person}
        return json_response({**own, "scopes": sorted(who.scopes)})

    @routes.delete("/{id}", summary="Revoke a key; it is worthless at once")
    async def revoke(who: Operator, id: str) -> Response:
        return json_response({"record": await auth.keys.revoke(who.namespace, id)})

    return routes


async def _make(
    auth: Auth, who: Caller, body: KeyBody, key: str | None
) -> tuple[str | None, Document]:
    """A new key and its record; no key where this very request made it before."""
    fields = body.model_dump(include={"name", "scopes", "person", "service", "expires_at"})
    one = once(who, "keys", key, body.model_dump(mode="json"))
    if one is not None:
        return await auth.keys.create_once(one, namespace=who.namespace, by=who, **fields)
    return await auth.keys.create(namespace=who.namespace, by=who, **fields)


async def _map(auth: Auth, who: Caller, body: KeyBody) -> dict[str, object]:
    if body.expires_at is not None:
        detail = "a mapping of an AMQP user has no end; revoke it"
        raise Invalid(detail, [FieldError("/expires_at", detail)])
    if body.service is None or body.person is not None:
        detail = "an AMQP user stands for a service"
        raise Invalid(detail, [FieldError("/service", detail)])
    return await auth.keys.map_amqp_user(
        body.name, namespace=who.namespace, service=body.service, scopes=body.scopes, by=who
    )
