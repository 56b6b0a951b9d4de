"""/v1/events and /v1/agents/{id}/events: what happens, as it happens, from where a reader left off."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from placet.errors import FieldError, Invalid, NotAllowed
from placet.process.access import authenticate
from placet.process.auth import Caller, Scope
from placet_notifier.api.stream import EventStream
from placet_notifier.metrics import NotifierMetrics
from placet_notifier.rules.filters import ON_AGENTS, Wanted, types_of
from placet_notifier.usecases.feed import Feeds

GROUPS = {Scope.RUNS_READ: "run", Scope.INPUTS_READ: "input"}
"""Which events a scope lets a reader see."""
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "The stream; it does not end."}
}


async def reader(request: Request) -> Caller:
    """The caller, who must have one of the reading scopes."""
    found = await authenticate(request)
    if not any(found.may(scope) for scope in GROUPS):
        raise NotAllowed(f"this credential lacks the scope {' or '.join(GROUPS)}")
    return found


Reader = Annotated[Caller, Depends(reader)]
Last = Annotated[str | None, Header(alias="Last-Event-ID", max_length=30)]
After = Annotated[str | None, Query(max_length=30)]
Word = Annotated[str, Query(max_length=200)]
Words = Annotated[str, Query(max_length=1000)]


def router(feeds: Feeds, metrics: NotifierMetrics) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["events"])

    async def stream(
        request: Request, who: Caller, position: str | None, wanted: Wanted, names: dict[str, str]
    ) -> Response:
        start = await feeds.start_at(who.namespace, number_of(position))
        return EventStream(
            feeds, metrics, request, who.namespace, start, wanted=wanted, names=names
        )

    @routes.get("/events", responses=STREAM, summary="Events of the namespace, as a stream")
    async def events(
        request: Request,
        who: Reader,
        last: Last = None,
        after: After = None,
        agent: Word = "",
        run: Word = "",
        types: Words = "",
    ) -> Response:
        """Goes on behind `Last-Event-ID` or `after`; without either, begins now."""
        wanted = Wanted(agent, run, types_of(types.split(",")), _groups(who))
        return await stream(request, who, last or after, wanted, {})

    @routes.get("/agents/{agent}/events", responses=STREAM, summary="Events of one agent")
    async def agent_events(
        request: Request,
        who: Reader,
        agent: str,
        last: Last = None,
        after: After = None,
        run: Word = "",
        types: Words = "",
    ) -> Response:
        """As `/v1/events`; inputs are `input_required` and `input_resolved`, once for each."""
        wanted = Wanted(agent, run, types_of(types.split(",")), _groups(who))
        return await stream(request, who, last or after, wanted, ON_AGENTS)

    return routes


def number_of(position: str | None) -> int | None:
    """The number that a reader has come to; None for none. Raises Invalid."""
    if not position:
        return None
    if not (position.isascii() and position.isdigit() and len(position) <= 15):
        detail = "Last-Event-ID is the id of an event of this stream, a whole number"
        raise Invalid(detail, [FieldError("/Last-Event-ID", detail)])
    return int(position)


def _groups(who: Caller) -> frozenset[str]:
    return frozenset(group for scope, group in GROUPS.items() if who.may(scope))
