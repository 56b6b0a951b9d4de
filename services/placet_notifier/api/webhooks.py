"""/v1/webhooks: endpoints of the caller's namespace, and what became of their deliveries."""

from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from placet.process.access import caller
from placet.process.auth import Caller, Scope
from placet.process.cursors import Cursor, Limit, cursor_of, page_after, place_of
from placet.process.http import json_response
from placet.process.idempotency import Key, once
from placet_notifier.rules.delivery import State
from placet_notifier.rules.endpoint import Endpoint
from placet_notifier.rules.filters import types_of
from placet_notifier.usecases.manage_webhooks import ManageWebhooks


class WebhookBody(BaseModel):
    """A new endpoint."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    url: str = Field(min_length=1, max_length=2000)
    """https://..., of a server that the internet can reach."""
    types: list[str] = Field(default=[], max_length=32)
    """Event types such as `input.requested`; none stands for all."""
    description: str = Field(default="", max_length=500)
    """For people."""


Operator = Annotated[Caller, Depends(caller(Scope.OPERATE))]


def router(manage: ManageWebhooks) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])

    def shown(endpoint: Endpoint) -> dict[str, Any]:
        return endpoint.view(manage.clock.now())

    def with_secret(endpoint: Endpoint, status: int) -> Response:
        secret = endpoint.secrets[0].value
        return _json({"webhook": shown(endpoint), "secret": secret}, status)

    @routes.post("", status_code=201, summary="Make a webhook; its secret is shown this once")
    async def create(
        who: Operator, body: Annotated[WebhookBody, Body()], key: Key = None
    ) -> Response:
        """The same request again under its `Idempotency-Key` is 200, with the webhook and no secret."""
        types = sorted(types_of(body.types))
        one = once(who, "webhooks", key, body.model_dump(mode="json"))
        made, fresh = await manage.create(
            who.namespace, who.id, body.url, types, body.description, one
        )
        return with_secret(made, 201) if fresh else _json({"webhook": shown(made), "secret": None})

    @routes.get("", summary="The webhooks of the namespace, without the secrets")
    async def list_all(who: Operator, limit: Limit = 100, cursor: Cursor = None) -> Response:
        found = [
            (f"{each.created_at.isoformat()} {each.id}", shown(each))
            for each in await manage.list(who.namespace)
        ]
        items, more = page_after("webhooks", sorted(found, key=lambda e: e[0]), cursor, limit)
        return _json({"items": items, "next_cursor": more})

    @routes.get("/{id}", summary="One webhook")
    async def get(who: Operator, id: str) -> Response:
        return _json({"webhook": shown(await manage.get(who.namespace, id))})

    @routes.delete(
        "/{id}", status_code=204, summary="Delete it; what is still to be sent is dropped"
    )
    async def delete(who: Operator, id: str) -> Response:
        await manage.delete(who.namespace, id)
        return Response(status_code=204)

    @routes.post("/{id}/rotate", summary="A new secret; the one before signs too for 24 hours")
    async def rotate(who: Operator, id: str) -> Response:
        return with_secret(await manage.rotate(who.namespace, id), 200)

    @routes.get("/{id}/deliveries", summary="Its deliveries, newest first")
    async def deliveries(
        who: Operator,
        id: str,
        state: State | None = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        place = place_of("deliveries", cursor, datetime, str)
        found = await manage.deliveries(who.namespace, id, state, limit, place)
        last = found[-1] if len(found) == limit else None
        more = cursor_of("deliveries", last.created_at, last.id) if last else None
        return _json({"items": [each.view() for each in found], "next_cursor": more})

    @routes.post(
        "/{id}/deliveries/{delivery}/redeliver",
        status_code=202,
        summary="Send it once more, under the same webhook-id",
    )
    async def redeliver(who: Operator, id: str, delivery: str) -> Response:
        again = await manage.redeliver(who.namespace, id, delivery)
        return _json({"delivery": again.view()}, 202)

    return routes


def _json(content: object, status: int = 200) -> Response:
    return json_response(orjson.dumps(content, option=orjson.OPT_UTC_Z), status)
