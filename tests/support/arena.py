"""Two brokers as processes, people who answer at both at once, and what must hold afterwards."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import orjson

from placet.bus.port import Ack, Delivery, Settle
from placet.bus.rabbit import RabbitBus
from placet.clock import SystemClock
from placet.domain.audience import Audience
from placet.domain.interaction import InputState
from placet.process.auth import PERSON_SCOPES, Scope
from placet.process.platform import Platform, from_settings
from placet.process.settings import Settings, load
from placet.store.clock import DatabaseClock
from placet_broker.rules import opening
from placet_broker.rules.record import Record
from placet_broker.store import StoredInteractions
from tests.integration.broker.desk import RUNNER_ASKS, approval
from tests.support.cluster import Cluster, cluster
from tests.support.eventually import eventually
from tests.support.rabbitmq import purge

PEOPLE = Audience(initiator="zoe", approvers=("ann", "bob", "carol"))
Reply = httpx2.Response
Ask = Callable[[], Awaitable[Reply]]


@dataclass
class Heard:
    """Ids of the messages that told how an input ended, by queue and input."""

    ids: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    async def resolution(self, delivery: Delivery) -> Settle:
        self.ids["resolution", orjson.loads(delivery.body)["input_id"]].add(delivery.event_id)
        return Ack()

    async def event(self, delivery: Delivery) -> Settle:
        body = orjson.loads(delivery.body)
        self.ids[body["type"], body["input_id"]].add(delivery.event_id)
        return Ack()


@dataclass
class Arena:
    """Where the races are run."""

    placet: Cluster
    interactions: StoredInteractions
    clock: DatabaseClock
    brokers: tuple[httpx2.AsyncClient, httpx2.AsyncClient]
    keys: dict[str, dict[str, str]]
    runner: RabbitBus
    heard: Heard
    chance: random.Random
    ended_ids: list[str] = field(default_factory=list)

    async def ask(
        self, *, opened_ago: timedelta = timedelta(0), ends: datetime | None = None, **changes: Any
    ) -> Record:
        """A question of a run, in the database as the broker writes it; `ends` is looked at in time."""
        given = {"audience": PEOPLE, "expires_at": ends, **changes}
        now = self.clock.now()
        full = opening.prepared(approval(**given), RUNNER_ASKS, now=now, default_life=None)
        record = opening.opened(full, RUNNER_ASKS, None, now - opened_ago)
        assert await self.interactions.open(record)
        return record

    async def look_at(self, record: Record, at: datetime) -> None:
        """Have both brokers' clockwork come by then."""
        await self.interactions.collection.update(record.id, {}, {"$set": {"due": at}})

    async def at(self, moment: datetime, spread: float = 0.02) -> None:
        """About then."""
        left = (moment - self.clock.now()).total_seconds()
        await asyncio.sleep(max(0.0, left + self.chance.uniform(-spread, spread)))

    async def post(self, broker: int, who: str, path: str, **body: Any) -> Reply:
        return await self.brokers[broker % 2].post(path, json=body, headers=self.keys[who])

    async def say(self, broker: int, who: str, id: str, content: Any = True, **more: Any) -> Reply:
        return await self.post(broker, who, f"/v1/inputs/{id}", content=content, **more)

    async def both(self, number: int, one: Ask, other: Ask) -> tuple[Reply, Reply]:
        """At once, each of them the first to be sent in every second race."""
        if number % 2:
            second, first = await asyncio.gather(other(), one())
        else:
            first, second = await asyncio.gather(one(), other())
        return first, second

    async def ended(self, id: str, *replies: Reply) -> Record:
        """The input, which has one end that everybody heard of; replies are answers to it alone."""
        record = await self.whole(id)
        assert not record.pending
        assert [entry["what"] for entry in record.history].count("settled") == 1
        self._decided_by_enough(record)
        for reply in replies:
            told_as_it_is(reply, record)
        self.ended_ids.append(id)
        return record

    async def whole(self, id: str) -> Record:
        """The input, with a chain that fits it."""
        trail, record = await self.interactions.trail(id), await self.interactions.get(id)
        assert trail is not None
        assert record is not None
        assert trail.disagreements() == []
        assert len(record.history) == record.rev + 1
        for names in ([v.by for v in record.votes], [v.seat for v in record.votes]):
            assert len(set(names)) == len(names), "nobody's yes counts twice"
        return record

    def _decided_by_enough(self, record: Record) -> None:
        resolution = record.resolution
        assert resolution is not None
        if record.state is InputState.EXPIRED:
            assert (resolution.by, resolution.channel) == (None, "timer"), "nobody decides it"
        if record.state is InputState.ANSWERED and record.policy.quorum > 1:
            voters = set(resolution.voters)
            assert len(resolution.voters) == len(voters) >= record.policy.quorum
            assert voters <= set(record.audience.named), "each is still asked"

    async def told_once(self) -> None:
        """Every end was told to the runner and to everybody else, under one id each."""

        def all_heard() -> bool:
            kinds = ("resolution", "input.resolved")
            return all(self.heard.ids.get((k, id)) for k in kinds for id in self.ended_ids)

        await eventually(all_heard, within=60)
        for ids in self.heard.ids.values():
            assert len(ids) == 1 or ids <= self._numbered()
        self.ended_ids.clear()

    def _numbered(self) -> set[str]:
        told = ("input.reminder", "input.escalated")
        return set().union(*(ids for (kind, _), ids in self.heard.ids.items() if kind in told))


def told_as_it_is(reply: Reply, record: Record) -> None:
    """A winner hears of their end, a loser of the winner."""
    assert reply.status_code in (200, 202, 409), reply.text
    body = reply.json()
    if reply.status_code == 409:
        assert body["code"] == "settled", reply.text
    shown = body["input"] if reply.status_code == 409 else body
    if shown["state"] == "pending":
        assert reply.status_code == 202, "a vote, and not the last"
        return
    assert shown["state"] == record.state
    assert record.resolution is not None
    by = record.resolution.by
    assert (shown["resolution"]["by"] or {}).get("id") == (by and by.id)


async def run(
    arena: Arena, race: Callable[[Arena, int], Awaitable[str]], count: int, at_once: int = 16
) -> Counter[str]:
    """So many races, and how they ended."""
    numbers, ends = iter(range(count)), Counter[str]()

    async def some() -> None:
        for number in numbers:
            ends[await race(arena, number)] += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(some())
    await arena.told_once()
    return ends


@asynccontextmanager
async def arena(folder: Path, mongo_url: str, amqp: str, seed: int) -> AsyncIterator[Arena]:
    """Two brokers that are ready, on one MongoDB and one RabbitMQ."""
    await purge(amqp.format(user="placet-runner"))
    async with AsyncExitStack() as stack:
        placet = await stack.enter_async_context(
            cluster(folder, mongo_url, amqp, ("broker", "broker"), PLACET_DUE_POLL_SECONDS="0.05")
        )
        wanted = load(Settings, mongo_url=mongo_url, database_prefix=placet.prefix, amqp_url=None)
        platform = from_settings(wanted)
        database = platform.database("interactions")
        clock = DatabaseClock(SystemClock(), database)
        interactions = StoredInteractions(database, clock)
        await platform.open()
        stack.push_async_callback(platform.close)
        await clock.measure()
        heard, runner = Heard(), RabbitBus(amqp.format(user="placet-runner"))
        notifier = RabbitBus(amqp.format(user="placet-notifier"))
        for bus in (runner, notifier):
            await bus.open()
            stack.push_async_callback(bus.close)
        for bus, queue, handle in (
            (runner, "placet.runner.resolutions", heard.resolution),
            (notifier, "placet.notifier.events", heard.event),
        ):
            consumption = await bus.consume(queue, handle, prefetch=200)
            stack.push_async_callback(consumption.stop)
        one, other = [
            await stack.enter_async_context(httpx2.AsyncClient(base_url=m.url, timeout=60))
            for m in placet.members
        ]
        yield Arena(
            placet, interactions, clock, (one, other), await _keys(platform), runner, heard,
            random.Random(seed),  # noqa: S311 - luck, no secret
        )  # fmt: skip


async def _keys(platform: Platform) -> dict[str, dict[str, str]]:
    operator = [*PERSON_SCOPES, Scope.OPERATE]
    keys = {}
    for who in (*PEOPLE.named, "dora", "root"):
        key, _ = await platform.auth.keys.create(
            namespace="default",
            name=who,
            person=who,
            scopes=operator if who == "root" else PERSON_SCOPES,
        )
        keys[who] = {"Authorization": f"Bearer {key}"}
    return keys
