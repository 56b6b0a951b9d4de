"""An operator who stops calls and lets them go on, and what must not have started meanwhile."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from placet.client import AsyncClient
from placet.domain.freeze import Freeze
from placet.errors import PlacetError
from placet.gate.freezing import covers
from placet.kernel.journal import ModelReplied, ToolStarted
from tests.support.stateful.evidence import Evidence, Story
from tests.support.stateful.people import People
from tests.support.stateful.watching import Watching

SETTLES = 0.3
"""Seconds within which a write lands whose writer had read before the freeze that nothing was frozen."""
FOREVER = 2**31


@dataclass(slots=True)
class Span:
    """A freeze, and between which starts of calls none may be that it covers."""

    freeze: Freeze
    since: int
    until: int = FOREVER


@dataclass(slots=True)
class Stopped:
    """What was frozen, in order."""

    spans: list[Span] = field(default_factory=list)

    def active(self) -> list[Span]:
        """Those that nobody has begun to lift."""
        return [span for span in self.spans if span.until == FOREVER]


class Operators(People):
    """People, and somebody with the scope `freeze`."""

    watching: Watching

    def __init__(self) -> None:
        super().__init__()
        self.stopped = Stopped()

    async def freeze(self, tools: tuple[str, ...], agent: str | None, pick: int) -> None:
        """Keep calls from starting."""
        client = self.client("broker", "app", pick)
        if client is None:
            return
        try:
            made = await client.freezes.make("drawn", agent=agent, tools=tools)
        except PlacetError:
            return
        await asyncio.sleep(SETTLES)
        self.stopped.spans.append(Span(made, len(self.watching.landed)))

    async def lift(self, pick: int) -> None:
        """Let the calls of one freeze start again."""
        active = self.stopped.active()
        client = self.client("broker", "app", pick)
        if active and client is not None:
            await self._lifted(client, active[pick % len(active)])

    async def lift_all(self) -> None:
        """Let everything go on, also what a dead process froze without saying so."""
        for span in self.stopped.active():
            span.until = len(self.watching.landed)
        client = self.client("broker", "app")
        assert client is not None, "a broker lives"
        for each in await client.freezes.list():
            await client.freezes.lift(each.id)

    async def _lifted(self, client: AsyncClient, span: Span) -> None:
        span.until = len(self.watching.landed)
        try:
            await client.freezes.lift(span.freeze.id)
        except PlacetError:
            return


def started_frozen(seen: Evidence) -> Iterator[str]:
    """Calls that started although a freeze covered them."""
    for story in seen.runs.values():
        tools = {c.id: c.tool for e in story.of(ModelReplied) for c in e.reply.calls}
        for entry in story.of(ToolStarted):
            at = seen.landed[entry.key, str(entry.attempt)]
            for span in seen.frozen:
                within = span.since <= at < span.until
                if within and _covers(span.freeze, story, tools[entry.call_id]):
                    yield f"{story.id} started {entry.call_id} although {span.freeze}"


def _covers(freeze: Freeze, story: Story, tool: str) -> bool:
    run = story.document
    agents = {run["agent_id"], run["root_agent_id"], *run["path"]}
    return covers(freeze, run["namespace"], agents, tool)
