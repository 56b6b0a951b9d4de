"""/v1/inputs/{id}/links: one-time links to an input, for the channels that reach people."""

from datetime import timedelta

from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.process.access import authenticate
from placet.process.http import json_response
from placet.process.idempotency import Key, once
from placet_broker.api.bodies import LinkBody, read
from placet_broker.rules.record import Link
from placet_broker.usecases import UseCases
from placet_broker.usecases.link_input import Wanted


def router(use_cases: UseCases) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/inputs", tags=["inputs"])
    links = use_cases.link_input

    @routes.post("/{id}/links", status_code=201, summary="Make a one-time link")
    async def create_link(id: str, request: Request, key: Key = None) -> Response:
        """For a channel that reaches people: it names one person and one answer, and proves nobody.

        The token is in this reply and nowhere else; the page is `/l/TOKEN`. The same request again
        under its `Idempotency-Key` is 200, with the link and without the token.
        """
        who = await authenticate(request)
        body = await read(LinkBody, request)
        one = once(who, f"links of {id}", key, body.model_dump(mode="json"))
        life = timedelta(seconds=body.seconds)
        wanted = Wanted(body.person, body.action, body.content, life, one)
        token, link = await links.create(id, who, wanted)
        path = token and f"/l/{token}"
        shown = {**_shown(link), "token": token, "path": path}
        return json_response(shown, 201 if token else 200)

    @routes.post("/{id}/links/{link}/code", status_code=201, summary="Make a link's one-time code")
    async def create_code(id: str, link: str, request: Request) -> Response:
        """For whoever made the link, to be sent to the person; good for ten minutes."""
        who = await authenticate(request)
        code = await links.code(id, link, who)
        return json_response({"code": code}, 201)

    return routes


def _shown(link: Link) -> dict[str, object]:
    return {
        "id": link.id,
        "person": link.person,
        "action": str(link.action),
        "content": link.content,
        "digest": link.digest,
        "until": link.until,
    }
