"""Replicas of both services in one process, on one database and one bus, that die as by kill -9."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import httpx2

from placet import Agent
from placet.agents.loading import Loaded
from placet.bus.inprocess import Hub
from placet.client import AsyncClient
from placet.process.http import create_app
from placet.process.platform import Platform
from placet.process.settings import Settings, load
from placet.store.sqlite import SQLiteDatabase
from placet_broker.settings import BrokerSettings
from placet_broker.wiring import Broker
from placet_runner.settings import RunnerSettings
from placet_runner.wiring import Runner
from tests.support.stateful.member import OF, Connection, Line, Member, Network, Watch, task_factory
from tests.support.stateful.virtual import VirtualClock, VirtualLoop

R = TypeVar("R")
LEASE = 30.0

Agents = Callable[[Member], Sequence[Agent]]
"""The agents of one process; their tools belong to it."""


class Fleet:
    """The servers, which nothing ends, and the processes on them."""

    def __init__(self, loop: VirtualLoop, agents: Agents, watch: Watch, seed: int) -> None:
        self.loop = loop
        self.loop.set_task_factory(task_factory)
        self.clock = VirtualClock(self.loop)
        self.hub = Hub(clock=self.clock)
        self.databases: dict[str, SQLiteDatabase] = {}
        self.members: list[Member] = []
        self.network = Network(seed)
        self._agents = agents
        self._watch = watch

    def living(self, service: str) -> list[Member]:
        """The processes of a service that live."""
        return [each for each in self.members if each.service == service and each.alive]

    def run(self, work: Awaitable[R]) -> R:
        """Do this in the loop."""
        return self.loop.run_until_complete(work)

    async def start(self, service: str) -> Member:
        """One more process."""
        member = Member(service, self._watch, self.network)
        context = contextvars.copy_context()
        context.run(OF.set, member)
        await asyncio.create_task(self._start(member), context=context)
        self.members.append(member)
        return member

    async def _start(self, member: Member) -> None:
        platform = Platform(
            load(Settings),
            databases=lambda name: Connection(member, self._server(name)),
            buses=lambda user: Line(member, self.hub.bus(user)),
            clock=self.clock,
        )
        if member.service == "runner":
            loaded = Loaded(agents={each.name: each for each in self._agents(member)})
            settings = load(RunnerSettings, lease_seconds=LEASE)
            member.part = Runner(platform, settings, loaded)
        else:
            member.part = Broker(platform, load(BrokerSettings))
        member.platform = platform
        await platform.open()
        await member.part.start()
        app = create_app([member.part.service], platform)
        member.door = _Door(member, app)

    def _server(self, name: str) -> SQLiteDatabase:
        if name not in self.databases:
            self.databases[name] = SQLiteDatabase(":memory:", clock=self.clock)
        return self.databases[name]

    def client(self, member: Member, key: str) -> AsyncClient:
        """With this key, to this process."""
        return AsyncClient("http://127.0.0.1", key, transport=member.door)

    async def stop(self, member: Member) -> None:
        """SIGTERM: what it holds is handed back, unless it dies of something else first."""
        context = contextvars.copy_context()
        context.run(OF.set, member)
        stopping = asyncio.create_task(member.part.stop(), context=context)
        await asyncio.wait([stopping])
        member.kill()
        if not stopping.cancelled():
            stopping.result()

    def close(self) -> None:
        """Everything ends; nothing is left of the loop."""
        for member in self.members:
            member.kill()
        self.run(self._closed())
        self.loop.close()

    async def _closed(self) -> None:
        own = asyncio.current_task()
        rest = [task for task in asyncio.all_tasks() if task is not own]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        for database in self.databases.values():
            await database.close()


class _Door(httpx2.AsyncBaseTransport):
    """A request to one process is handled in it, and fails where it dies."""

    def __init__(self, member: Member, app: Any) -> None:
        self._member = member
        self._inner = httpx2.ASGITransport(app=app)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self._member.alive:
            raise httpx2.ConnectError("it is dead")
        context = contextvars.copy_context()
        context.run(OF.set, self._member)
        handling = asyncio.create_task(self._inner.handle_async_request(request), context=context)
        await asyncio.wait([handling])
        if handling.cancelled() or not self._member.alive:
            raise httpx2.ReadError("it died")
        return handling.result()
