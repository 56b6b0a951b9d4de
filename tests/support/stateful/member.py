"""One service process of a test: it has its own way to the servers, and dies as by kill -9."""

import asyncio
import contextvars
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

import httpx2

from placet.bus.inprocess import InProcessBus
from placet.bus.port import Consumption, Handler, Outgoing
from placet.store.port import Change, Collection, Document, Filter, Index, Sort, Update
from placet.store.sqlite import SQLiteDatabase

R = TypeVar("R")
LAGS = (0.0, 0.0, 0.0, 0.001, 0.002, 0.005)
"""Seconds."""


class Watch(Protocol):
    """Who sees everything that passes, in the order in which it happens."""

    def wrote(self, member: "Member", table: str, image: Document) -> None:
        """A write of this process matched and left this."""

    async def published(self, member: "Member", message: Outgoing) -> None:
        """This process publishes this now."""


class Network:
    """Between processes and servers: everything takes its time, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - so that a failure comes again
        self.twice: set[str] = set()
        """Types of messages that are published twice now."""
        self.lossy: set[str] = set()
        """Types of messages that are confirmed and lost now."""

    async def lag(self) -> None:
        """On the way: mostly no time, sometimes longer than what comes after."""
        if span := self._dice.choice(LAGS):
            await asyncio.sleep(span)


OF: contextvars.ContextVar["Member | None"] = contextvars.ContextVar("member", default=None)


@dataclass(eq=False)
class Member:
    """One service process: what runs in it knows that it does, and stops where it is killed."""

    service: str
    watch: Watch
    network: Network
    alive: bool = True
    writes_left: int | None = None
    """It dies at the write after these."""
    before: bool = False
    """Whether that write is lost with it; else it happens and nobody hears of it."""
    part: Any = None
    platform: Any = None
    door: httpx2.AsyncBaseTransport | None = None
    tasks: set["asyncio.Task[Any]"] = field(default_factory=set)
    consumers: list[Any] = field(default_factory=list)

    def check(self) -> None:
        """A dead process does nothing more."""
        if not self.alive:
            raise asyncio.CancelledError

    async def asks(self, do: Callable[[], Awaitable[R]], *, writes: bool = False) -> R:
        """A call of the database: what was sent happens, whether the sender lives or not."""
        self.check()
        dies = writes and self._dies_now()
        if dies and self.before:
            self.kill()
            self.check()
        sent = contextvars.Context().run(asyncio.ensure_future, self._made(do))
        result = await asyncio.shield(sent)
        if dies and self.alive:
            self.kill()
        self.check()
        return result

    async def _made(self, do: Callable[[], Awaitable[R]]) -> R:
        await self.network.lag()
        result = await do()
        await self.network.lag()
        return result

    def _dies_now(self) -> bool:
        if self.writes_left is None:
            return False
        self.writes_left -= 1
        return self.writes_left < 0

    def kill(self) -> None:
        """As kill -9: no task goes on, nothing is said, what was delivered and not settled returns."""
        self.alive = False
        for consumer in self.consumers:
            consumer._stopped = True
            if consumer in consumer._queue.consumers:
                consumer._queue.consumers.remove(consumer)
            if consumer._server.topology.private_for(consumer._queue.name):
                consumer._server.remove(consumer._queue)
        for task in [task for task in self.tasks if not task.done()]:
            task.cancel()


def task_factory(loop: asyncio.AbstractEventLoop, work: Any, **parts: Any) -> "asyncio.Task[Any]":
    """Tasks belong to the process in which they were made."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **parts)
    context = parts.get("context")
    member = context.get(OF) if context is not None else OF.get()
    if member is not None:
        member.tasks.add(task)
        task.add_done_callback(member.tasks.discard)
    return task


@dataclass
class Line:
    """A process's way to the bus; messages may be lost, or come twice."""

    member: Member
    inner: InProcessBus

    @property
    def user(self) -> str:
        return self.inner.user

    async def open(self) -> None:
        await self.inner.open()

    async def publish(self, message: Outgoing) -> None:
        network = self.member.network
        await network.lag()
        self.member.check()
        await self.member.watch.published(self.member, message)
        if message.type not in network.lossy:
            await self.inner.publish(message)
        if message.type in network.twice:
            await self.inner.publish(message)
        await network.lag()
        self.member.check()

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Consumption:
        self.member.check()
        consumer = await self.inner.consume(queue, handler, prefetch=prefetch)
        self.member.consumers.append(consumer)
        return consumer

    async def close(self) -> None:
        await self.inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@dataclass
class Connection:
    """A process's connection to a database that outlives it."""

    member: Member
    inner: SQLiteDatabase

    def collection(self, name: str, indexes: Sequence[Index] = ()) -> Collection:
        return Table(self.member, name, self.inner.collection(name, indexes))

    async def open(self) -> None:
        await self.inner.open()

    async def ping(self) -> None:
        await self.member.asks(self.inner.ping)

    async def now(self) -> datetime:
        return await self.member.asks(self.inner.now)

    async def close(self) -> None:
        """The database stays."""


@dataclass
class Table:
    """A collection over such a connection."""

    member: Member
    name: str
    inner: Collection

    async def get(self, id: str) -> Document | None:
        return await self.member.asks(lambda: self.inner.get(id))

    async def get_many(self, ids: Iterable[str]) -> dict[str, Document]:
        return await self.member.asks(lambda: self.inner.get_many(ids))

    async def find(
        self,
        where: Filter,
        *,
        sort: Sort = (),
        limit: int = 100,
        fields: Sequence[str] | None = None,
        by: str | None = None,
    ) -> list[Document]:
        return await self.member.asks(
            lambda: self.inner.find(where, sort=sort, limit=limit, fields=fields, by=by)
        )

    async def insert(self, document: Document) -> bool:
        async def work() -> bool:
            inserted = await self.inner.insert(document)
            if inserted:
                self.member.watch.wrote(self.member, self.name, document)
            return inserted

        return await self.member.asks(work, writes=True)

    async def update(self, id: str, where: Filter, change: Update) -> Document | None:
        async def work() -> Document | None:
            image = await self.inner.update(id, where, change)
            if image is not None:
                self.member.watch.wrote(self.member, self.name, image)
            return image

        return await self.member.asks(work, writes=True)

    async def update_all(self, changes: Sequence[Change]) -> list[Document | None]:
        return await self.member.asks(lambda: self.inner.update_all(changes), writes=True)

    async def clear(self, id: str, change: Update) -> None:
        await self.member.asks(lambda: self.inner.clear(id, change), writes=True)

    async def delete(self, id: str, where: Filter) -> bool:
        return await self.member.asks(lambda: self.inner.delete(id, where), writes=True)

    async def count(self, where: Filter, *, limit: int) -> int:
        return await self.member.asks(lambda: self.inner.count(where, limit=limit))
