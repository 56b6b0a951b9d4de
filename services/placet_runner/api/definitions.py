"""/v1/definitions and /v1/agents: what runs can be of, and putting such over the API."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header
from pydantic import BaseModel
from starlette.responses import Response

from placet.agents.agent import Agent
from placet.agents.sent import body_schema
from placet.domain.digest import digest_of
from placet.errors import DefinitionError, NotFound, Refused
from placet.process import conditions
from placet.process.caller import Caller
from placet.process.cursors import Cursor, Limit, page_after
from placet.process.http import json_response
from placet.process.idempotency import Key, once
from placet_runner.api.callers import Author, Reader
from placet_runner.rules.definitions import StoredDefinition
from placet_runner.usecases.definitions import ManageDefinitions

IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=500)]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", max_length=500)]
_BODY = {"requestBody": {"content": {"application/json": {"schema": body_schema()}}}}


class DefinitionItem(BaseModel):
    """What a run can be of."""

    name: str
    source: Literal["file", "api"]
    """Files are the operator's and in every namespace; what came over the API is in one."""
    tools: list[str] = []
    model: str = ""
    version: int | None = None
    """Of one that came over the API: how often it was put."""
    created_at: datetime | None = None
    created_by: str | None = None
    updated_at: datetime | None = None
    updated_by: str | None = None
    problem: str | None = None
    """Why no run can be of it now, if none can."""


class DefinitionShown(DefinitionItem):
    """One definition; `definition` is what was put, None where a file has it."""

    definition: dict[str, Any] | None = None


class DefinitionPage(BaseModel):
    """Definitions by name."""

    items: list[DefinitionItem]
    next_cursor: str | None = None
    problems: list[str]
    """Files that could not be loaded, and why."""


class AgentName(BaseModel):
    """A definition by its name."""

    name: str


class AgentPage(BaseModel):
    """The names that runs can be posted to."""

    items: list[AgentName]
    next_cursor: str | None = None


def definitions_router(manage: ManageDefinitions, problems: Callable[[], list[str]]) -> APIRouter:
    """The routes; `problems` tells which agent files could not be loaded."""
    api = APIRouter(prefix="/v1", tags=["definitions"])
    shelf = manage.shelf

    @api.get("/definitions", summary="What runs can be of")
    async def definitions(who: Reader, limit: Limit = 100, cursor: Cursor = None) -> DefinitionPage:
        """What runs can be of, by name, and which files could not be loaded and why."""
        named = [(name, name) for name in await shelf.names(who.namespace)]
        names, more = page_after("definitions", named, cursor, limit)
        stored = await shelf.stored.get_many(who.namespace, names)
        made = [await _shown(manage, name, stored.get(name)) for name in names]
        items = [DefinitionItem(**each.model_dump(exclude={"definition"})) for each in made if each]
        return DefinitionPage(items=items, next_cursor=more, problems=problems())

    @api.get("/definitions/{name}", response_model=DefinitionShown, summary="One definition")
    async def definition(name: str, who: Reader, if_none_match: IfNoneMatch = None) -> Response:
        """One definition, with the ETag that a change of it must name."""
        stored = None if name in shelf.files else await manage.get(who.namespace, name)
        shown = await _shown(manage, name, stored)
        if shown is None:
            raise NotFound(f"there is no definition {name[:100]!r}")
        return _reply(shown, stored, if_none_match)

    @api.put(
        "/definitions/{name}",
        response_model=DefinitionShown,
        openapi_extra=_BODY,
        summary="Make or replace a definition",
    )
    async def put_definition(
        name: str,
        body: Annotated[dict[str, Any], Body()],
        who: Author,
        if_match: IfMatch = None,
        if_none_match: IfNoneMatch = None,
        key: Key = None,
    ) -> Response:
        """Make a definition with `If-None-Match: *`, or replace the version that `If-Match` names.

        It may ask people and delegate; whatever reaches the operator's machine is refused.
        """
        manage.refuse_file(name)
        if conditions.expect_absent(if_none_match):
            one = once(who, f"definitions/{name}", key, body)
            made, fresh = await manage.create(who.namespace, name, body, who.id, one)
            return _reply(await _of(manage, made), made, status=201 if fresh else 200)
        seen = await _seen(manage, who, name, if_match)
        made = await manage.replace(seen, body, who.id)
        return _reply(await _of(manage, made), made)

    @api.delete("/definitions/{name}", status_code=204, summary="Delete a definition")
    async def delete_definition(name: str, who: Author, if_match: IfMatch = None) -> Response:
        """Delete the version that `If-Match` names; runs that wait go on once there is another."""
        manage.refuse_file(name)
        seen = await _seen(manage, who, name, if_match)
        await manage.delete(seen)
        return Response(status_code=204)

    @api.get("/agents", summary="The names that runs can be posted to")
    async def agents(who: Reader, limit: Limit = 100, cursor: Cursor = None) -> AgentPage:
        """The definitions that runs can be started of, by name."""
        named = [(name, AgentName(name=name)) for name in await shelf.names(who.namespace)]
        items, more = page_after("agents", named, cursor, limit)
        return AgentPage(items=items, next_cursor=more)

    return api


async def _seen(
    manage: ManageDefinitions, who: Caller, name: str, if_match: str | None
) -> StoredDefinition:
    """The version that `If-Match` names. Raises Unconditional before it looks, NotFound, Changed."""
    conditions.expect(if_match, None)
    seen = await manage.get(who.namespace, name)
    conditions.expect(if_match, conditions.etag(seen.tag))
    return seen


async def _shown(
    manage: ManageDefinitions, name: str, stored: StoredDefinition | None
) -> DefinitionShown | None:
    """A definition as people see it; None: it is gone."""
    agent = manage.shelf.files.get(name)
    if agent is not None:
        return DefinitionShown(name=name, source="file", **_made_of(agent))
    return None if stored is None else await _of(manage, stored)


async def _of(manage: ManageDefinitions, stored: StoredDefinition) -> DefinitionShown:
    fields: dict[str, Any] = {}
    try:
        fields = _made_of(await manage.shelf.agent(stored))
    except (Refused, DefinitionError) as error:
        fields["problem"] = str(error)
    return DefinitionShown(
        name=stored.name,
        source="api",
        version=stored.version,
        created_at=stored.created_at,
        created_by=stored.created_by,
        updated_at=stored.updated_at,
        updated_by=stored.updated_by,
        definition=dict(stored.body),
        **fields,
    )


def _made_of(agent: Agent) -> dict[str, Any]:
    return {"tools": sorted(agent.toolbox), "model": agent.resolved_model.name}


def _reply(
    shown: DefinitionShown,
    stored: StoredDefinition | None,
    if_none_match: str | None = None,
    status: int = 200,
) -> Response:
    body = shown.model_dump(mode="json")
    version = stored.tag if stored else digest_of(body).removeprefix("sha256:")[:32]
    tag = conditions.etag(version)
    if conditions.is_known(if_none_match, tag):
        return Response(status_code=304, headers={"ETag": tag})
    return json_response(body, status, {"ETag": tag})
