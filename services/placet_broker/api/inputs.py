"""/v1/inputs: what waits, one input, and answering it."""

import asyncio
import contextlib
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from placet.domain.audience import Priority
from placet.domain.interaction import InputState, Kind
from placet.domain.resolution import Input
from placet.errors import Invalid
from placet.process import conditions
from placet.process.access import authenticate_with, foreseen
from placet.process.auth import Caller
from placet.process.crash import crash_point
from placet.process.cursors import Cursor, Limit
from placet.process.http import HotRoute, json_response
from placet_broker import ports
from placet_broker.api.bodies import AnswerBody, documented, read
from placet_broker.api.callers import Anybody
from placet_broker.api.cursors import cursor_after, place_of
from placet_broker.api.submissions import submitted
from placet_broker.rules import answering
from placet_broker.rules.record import Record
from placet_broker.usecases import UseCases
from placet_broker.usecases.people import Known

Wait = Annotated[
    float, Query(ge=0, le=60, description="Seconds to wait for, at most, until it settles.")
]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", max_length=500)]
_STATE = "Pending ones come oldest first, others newest first."
_LABEL = "A label that it was asked with; of several it has each."
_RUN = "A run's id; of a root run, those of all runs below it too."
_ANSWERS = documented(AnswerBody)


class Narrowed:
    """What narrows a list of inputs; everything that is given must hold."""

    def __init__(
        self,
        state: Annotated[InputState | None, Query(description=_STATE)] = None,
        kind: Annotated[Kind | None, Query(description="What is asked.")] = None,
        priority: Annotated[Priority | None, Query(description="How urgent it is now.")] = None,
        label: Annotated[list[str] | None, Query(max_length=10, description=_LABEL)] = None,
        run: Annotated[str | None, Query(max_length=200, description=_RUN)] = None,
        mine: Annotated[bool, Query(description="Only what the caller may answer.")] = False,
    ) -> None:
        self.state = state
        self.mine = mine
        found = [
            kind and f"kind:{kind}",
            priority and f"priority:{priority}",
            run and f"run:{run}",
            *(f"label:{each}" for each in label or ()),
        ]
        self.words = tuple(word for word in found if word)
        """As the words of `rules.finding`."""


def answers(use_cases: UseCases) -> APIRouter:
    """The routes that answer one input."""
    routes = APIRouter(prefix="/v1", tags=["inputs"], route_class=HotRoute)

    @routes.post(
        "/inputs/{id}", response_model=Input, openapi_extra=_ANSWERS, summary="Answer an input"
    )
    async def answer(id: str, request: Request) -> Response:
        return await _answer(use_cases, request, id, None)

    @routes.post(
        "/agents/{agent}/inputs/{id}",
        response_model=Input,
        openapi_extra=_ANSWERS,
        summary="Answer an input of this agent",
    )
    async def answer_of_agent(agent: str, id: str, request: Request) -> Response:
        return await _answer(use_cases, request, id, agent)

    return routes


def router(use_cases: UseCases) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["inputs"])

    @routes.get("/inputs", summary="What waits, or has settled")
    async def list_inputs(
        who: Anybody,
        narrowed: Annotated[Narrowed, Depends(Narrowed)],
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """Without `inputs:read` it is what the caller may answer, as with `mine`."""
        return await _listed(who, narrowed, narrowed.words, limit, cursor)

    @routes.get("/agents/{agent}/inputs", summary="What an agent, or a definition's agents, asked")
    async def list_agent_inputs(
        who: Anybody,
        agent: str,
        narrowed: Annotated[Narrowed, Depends(Narrowed)],
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        words = (*narrowed.words, f"agent:{agent}")
        return await _listed(who, narrowed, words, limit, cursor)

    async def _listed(
        who: Caller, narrowed: Narrowed, words: tuple[str, ...], limit: int, cursor: str | None
    ) -> Response:
        query = ports.Query(
            who.namespace, narrowed.state, words, after=place_of(cursor), limit=limit
        )
        return _page(await use_cases.read_inputs.find(who, query, mine=narrowed.mine), limit)

    @routes.get("/inputs/{id}", response_model=Input, summary="One input")
    async def get_input(
        who: Anybody, id: str, wait: Wait = 0, if_none_match: IfNoneMatch = None
    ) -> Response:
        """With `wait`, once it has settled or that many seconds have passed.

        With `If-None-Match`, 304 while it is that version; one that is another already is not waited for.
        """
        record = await use_cases.read_inputs.get(who, id)
        tag = conditions.etag(record.rev)
        if wait and (if_none_match is None or conditions.is_known(if_none_match, tag)):
            record = await use_cases.waiters.wait(record, wait)
            tag = conditions.etag(record.rev)
        if conditions.is_known(if_none_match, tag):
            return Response(status_code=304, headers={"ETag": tag})
        return json_response(record.as_json(), headers={"ETag": tag})

    return routes


async def _answer(use_cases: UseCases, request: Request, id: str, agent: str | None) -> Response:
    """202 for the answer that settles, 200 for the same again."""
    early = await _early(request)
    person = early.named.id if early and early.named else None
    # Both reads at once: nothing of the question is used unless the other lets the caller in.
    ahead, (who, standing) = await asyncio.gather(
        use_cases.answer_input.ahead(id), authenticate_with(request, person)
    )
    body = early or await read(AnswerBody, request)
    known = Known(who.namespace, person, standing) if person and standing else None
    sent = submitted(body, id, who, request, agent)
    answered = await use_cases.answer_input(replace(sent, ahead=ahead.knowing(known)))
    crash_point("settle.respond")
    status = 202 if answered.settled_now else 200
    return json_response(answered.record.as_json(), status)


async def _early(request: Request) -> AnswerBody | None:
    """The body, if it says for whom this credential answers; of a wrong one is told only who may come in."""
    guess = foreseen(request)
    if guess is not None and answering.for_others(guess):
        with contextlib.suppress(Invalid, HTTPException):
            return await read(AnswerBody, request)
    return None


def _page(found: list[Record], limit: int) -> Response:
    more = cursor_after(found[-1]) if len(found) == limit else None
    items = [record.as_fragment() for record in found]
    return json_response({"items": items, "next_cursor": more})
