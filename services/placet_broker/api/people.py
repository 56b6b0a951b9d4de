"""/v1/people: who is known in the caller's namespace."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.process.auth.people import People
from placet.process.cursors import Cursor, Limit
from placet.process.http import json_response
from placet_broker.api.bodies import PersonBody, documented, read
from placet_broker.api.callers import Operator, Reader
from placet_broker.api.listing import name_after, named_page

_PERSON = "/{id:path}"
_IDENTITY = "/{id}/identities/{identity}"


def router(people: People) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/people", tags=["people"])

    @routes.get("", summary="People, by id")
    async def list_people(who: Reader, limit: Limit = 50, cursor: Cursor = None) -> Response:
        found = await people.page(who.namespace, limit=limit, after=name_after("people", cursor))
        return named_page("people", found, limit, "id")

    @routes.put(_IDENTITY, summary="Say that an identity on a channel is this person")
    async def link_identity(who: Operator, id: str, identity: str) -> Response:
        """From then on it answers as this person everywhere; 409 if it is somebody else."""
        return json_response(await people.link(who.namespace, id, identity))

    @routes.delete(_IDENTITY, summary="Say so no more")
    async def unlink_identity(who: Operator, id: str, identity: str) -> Response:
        return json_response(await people.unlink(who.namespace, id, identity))

    @routes.get(_PERSON, summary="One person")
    async def get_person(who: Reader, id: str) -> Response:
        return json_response(await people.get(who.namespace, id))

    @routes.put(
        _PERSON, openapi_extra=documented(PersonBody), summary="Make a person, or change one"
    )
    async def put_person(who: Operator, id: str, request: Request) -> Response:
        """What is left out stays as it is, and null takes it away; the same again changes nothing."""
        body = await read(PersonBody, request)
        said = body.model_dump(exclude_unset=True)
        return json_response(await people.put(who.namespace, id, **said))

    @routes.delete(_PERSON, summary="Let a person in no more")
    async def disable_person(who: Operator, id: str) -> Response:
        """Keys and sessions end at once and tokens are refused; the record stays, for the history."""
        return json_response(await people.disable(who.namespace, id))

    return routes
