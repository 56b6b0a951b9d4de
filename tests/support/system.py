"""All of Placet in the test's own process: real services, real REST, agents of the test's own."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from placet import Agent
from placet.agents.loading import Loaded
from placet.agents.operator import Operator
from placet.agents.tool import Tool
from placet.bus.inprocess import Hub
from placet.client import AsyncClient
from placet.clock import Clock, SystemClock
from placet.domain.run import RunStatus
from placet.process.auth import ALL_SCOPES
from placet.process.http import create_app
from placet.process.platform import Buses, Databases, Platform
from placet.process.settings import Settings, load
from placet.store.sqlite import SQLiteDatabase
from placet_broker.settings import BrokerSettings
from placet_broker.wiring import Broker
from placet_runner.ports import Image
from placet_runner.settings import RunnerSettings
from placet_runner.wiring import Runner
from tests.support.eventually import eventually


@dataclass
class System:
    """A running Placet."""

    platform: Platform
    runner: Runner
    broker: Broker
    client: AsyncClient
    key: str
    app: Any

    @asynccontextmanager
    async def client_with(self, scopes: Iterable[str]) -> AsyncIterator[AsyncClient]:
        """A service of these scopes alone."""
        key, _ = await self.platform.auth.keys.create(
            namespace="default", name="other", service="other", scopes=list(scopes)
        )
        transport = httpx2.ASGITransport(app=self.app)
        async with AsyncClient("http://127.0.0.1", key, transport=transport) as client:
            yield client

    async def image(self, run_id: str) -> Image:
        image = await self.runner.runs.get(run_id)
        assert image is not None
        return image

    async def stands(self, run_id: str, status: RunStatus | str) -> Image:
        """The run, once it has this status."""

        async def look() -> Image | None:
            image = await self.image(run_id)
            return image if image.status == status else None

        found: Image = await eventually(look)
        return found

    async def settled_outboxes(self, run_id: str) -> None:
        """Wait until everything that the run had to say was said."""
        await eventually(lambda: self._quiet(run_id))

    async def _quiet(self, run_id: str) -> bool:
        return not (await self.image(run_id)).document["outbox"]


def in_memory(clock: Clock | None = None) -> tuple[Databases, Buses]:
    """SQLite in memory and the in-process bus."""
    own = clock or SystemClock()
    return lambda _: SQLiteDatabase(":memory:", clock=own), Hub(clock=own).bus


def on_disk(folder: Path, clock: Clock | None = None) -> tuple[Databases, Buses]:
    """Databases that a second system finds again; what was on the bus is lost with the first."""
    own = clock or SystemClock()
    return lambda name: SQLiteDatabase(folder / f"{name}.db", clock=own), Hub(clock=own).bus


@asynccontextmanager
async def system(
    agents: Sequence[Agent],
    parts: tuple[Databases, Buses] | None = None,
    *,
    prepare: Callable[[Runner], None] | None = None,
    operator: Operator | None = None,
    clock: Clock | None = None,
    **settings: float,
) -> AsyncIterator[System]:
    """A runner and a broker that have started. `prepare` sees the runner before it starts.

    The agents stand under the operator, if there is one; the clock is the databases' too.
    """
    databases, buses = parts or in_memory(clock)
    platform = Platform(load(Settings), databases=databases, buses=buses, clock=clock)
    bounded = [agent.under(operator) if operator else agent for agent in agents]
    loaded = Loaded(agents={a.name: a for a in bounded}, operator=operator or Operator())
    runner = Runner(platform, load(RunnerSettings, **settings), loaded)
    broker = Broker(platform, load(BrokerSettings))
    async with AsyncExitStack() as stack:
        await platform.open()
        stack.push_async_callback(platform.close)
        if prepare:
            prepare(runner)
        for each in (broker, runner):
            await each.start()
            stack.push_async_callback(each.stop)
        app = create_app([runner.service, broker.service], platform)
        key, _ = await platform.auth.keys.create(
            namespace="default", name="test", service="test", scopes=ALL_SCOPES
        )
        transport = httpx2.ASGITransport(app=app)
        client = await stack.enter_async_context(
            AsyncClient("http://127.0.0.1", key, transport=transport)
        )
        yield System(platform, runner, broker, client, key, app)


def deploy(agent: Agent, tools: Iterable[Tool] | None = None, **rules: Any) -> None:
    """Give an agent that is loaded these tools or rules, as a deploy of another file would."""
    for name, value in rules.items():
        setattr(agent, name, value)
    agent.__dict__.pop("policy", None)
    if tools is not None:
        agent.__dict__["toolbox"] = {tool.name: tool for tool in tools}
    agent._situations.clear()
