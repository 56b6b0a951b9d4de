"""All of Placet in a test's own process, in memory: the services themselves, and a clock turned by hand."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio
import httpx2

from placet.agents.agent import Agent
from placet.agents.loading import Loaded
from placet.agents.operator import Operator
from placet.bus.inprocess import Hub
from placet.cli.servers import builds
from placet.client import AsyncClient, Run
from placet.domain.run import RunStatus
from placet.process.auth import ALL_SCOPES
from placet.process.http import create_app
from placet.process.platform import Platform
from placet.process.settings import Settings, load
from placet.store.sqlite import SQLiteDatabase
from placet.testing.clock import HandClock
from placet.testing.person import FakePerson

LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Embedded:
    """A Placet that runs until the test leaves it."""

    client: AsyncClient
    """With every right."""
    clock: HandClock
    person: FakePerson

    async def run(self, agent: str, text: str, *, user: str | None = None, **options: Any) -> Run:
        """Start a run, and let the person answer until it has ended or waits for more than they say."""
        started = await self.client.agent(agent).start(text, user=user or self.person.id, **options)
        return await self.go_on(started)

    async def go_on(self, run: Run) -> Run:
        """Let the person answer until the run has ended or waits for more than they say."""
        run = await run.wait()
        while run.status is RunStatus.INPUT_REQUIRED:
            waiting = {each.id for each in run.inputs}
            if not await self.person.attend(self.client, self.clock.now()):
                return run
            run = await self._moved(run, waiting)
        return run

    async def turn(self, run: Run, by: timedelta) -> Run:
        """Let time pass; returns the run once what fell due by it has happened to its inputs."""
        waiting = {each.id for each in (await self.client.runs.get(run.id)).inputs}
        self.clock.turn(by)
        due = {
            each.id
            for each in await self.client.inbox("pending")
            if each.id in waiting
            and (until := each.value.request.expires_at)
            and until < self.clock.now()
        }
        return await self._moved(run, due) if due else await self.client.runs.get(run.id)

    async def _moved(self, run: Run, before: set[str]) -> Run:
        """The run once one of these inputs is not among what it waits for, and it stands still."""
        while True:
            now = await self.client.runs.get(run.id)
            still = before & {each.id for each in now.inputs}
            if now.status is not RunStatus.INPUT_REQUIRED or len(still) < len(before):
                return await now.wait()
            await anyio.sleep(LOOK)


@asynccontextmanager
async def embedded(
    *agents: Agent,
    person: FakePerson | None = None,
    clock: HandClock | None = None,
    operator: Operator | None = None,
) -> AsyncIterator[Embedded]:
    """Placet with these agents, as a durable runtime has them; nothing of it outlives the block.

    Deadlines go by `clock`. `person` answers what waits when `run` or `go_on` is called.
    """
    time = clock or HandClock()
    hub = Hub(clock=time)
    platform = Platform(
        load(Settings),
        databases=lambda _: SQLiteDatabase(":memory:", clock=time),
        buses=hub.bus,
        clock=time,
    )
    bounds = operator or Operator()
    loaded = Loaded(agents={each.name: each.under(bounds) for each in agents}, operator=bounds)
    installed: list[Any] = list(builds("runner", "broker"))
    runner, broker = installed
    services = [broker(platform, due_poll_seconds=LOOK), runner(platform, loaded=loaded)]
    async with AsyncExitStack() as stack:
        await platform.open()
        stack.push_async_callback(platform.close)
        for service in services:
            await service.start()
            stack.push_async_callback(service.stop)
        key, _ = await platform.auth.keys.create(
            namespace="default", name="test", service="test", scopes=ALL_SCOPES
        )
        transport = httpx2.ASGITransport(app=create_app(services, platform))
        client = AsyncClient("http://127.0.0.1", key, transport=transport)
        yield Embedded(await stack.enter_async_context(client), time, person or FakePerson())
