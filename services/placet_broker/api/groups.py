"""/v1/groups: groups of people that are kept here, in the caller's namespace."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.process.auth.groups import Groups
from placet.process.cursors import Cursor, Limit
from placet.process.http import json_response
from placet_broker.api.bodies import GroupBody, documented, read
from placet_broker.api.callers import Operator, Reader
from placet_broker.api.listing import name_after, named_page

_GROUP = "/{name:path}"
_MEMBER = "/{name}/members/{person}"


def router(groups: Groups) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/groups", tags=["people"])

    @routes.get("", summary="Groups, by name")
    async def list_groups(who: Reader, limit: Limit = 50, cursor: Cursor = None) -> Response:
        found = await groups.page(who.namespace, limit=limit, after=name_after("groups", cursor))
        return named_page("groups", found, limit, "name")

    @routes.put(_MEMBER, summary="Put a person in")
    async def add_member(who: Operator, name: str, person: str) -> Response:
        return json_response(await groups.add(who.namespace, name, person))

    @routes.delete(_MEMBER, summary="Take a person out")
    async def remove_member(who: Operator, name: str, person: str) -> Response:
        return json_response(await groups.remove(who.namespace, name, person))

    @routes.get(_GROUP, summary="One group")
    async def get_group(who: Reader, name: str) -> Response:
        return json_response(await groups.get(who.namespace, name))

    @routes.put(_GROUP, openapi_extra=documented(GroupBody), summary="Make a group, or change one")
    async def put_group(who: Operator, name: str, request: Request) -> Response:
        """The same again changes nothing."""
        body = await read(GroupBody, request)
        return json_response(await groups.put(who.namespace, name, body.members))

    @routes.delete(_GROUP, summary="Let there be no such group")
    async def delete_group(who: Operator, name: str) -> Response:
        """The group as it was. Nobody answers by it any more; members are read when one answers."""
        return json_response(await groups.delete(who.namespace, name))

    return routes
