"""Events are numbered without a gap, stored once, and streamed from where a reader left off."""

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from placet.bus.port import Outgoing
from placet.clock import SystemClock
from placet.messages import EventType
from placet.process.auth import Scope
from placet_notifier.ports import Page
from placet_notifier.rules.filters import Entry
from placet_notifier.store import StoredEvents
from placet_notifier.usecases.feed import Feed
from tests.integration.notifier.desk import QUEUE, Desk, Sent, event
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


async def take(events: AsyncIterator[Sent], count: int) -> list[Sent]:
    async with asyncio.timeout(10):
        return [await anext(events) for _ in range(count)]


async def everything(log: StoredEvents, namespace: str = "default") -> list[Entry]:
    entries: list[Entry] = []
    while page := (await log.after(namespace, entries[-1].number if entries else 0)).entries:
        entries += page
    return entries


async def test_each_event_is_stored_once_and_the_numbers_have_no_gap(two: Desk) -> None:
    happened = [event() for _ in range(300)]
    for each in random.Random(7).sample(happened * 2, 600):  # noqa: S311 - an order, no secret
        await two.publish(each)

    async def stored() -> bool:
        return await two.stored() == 300

    await eventually(stored)
    entries = await everything(two.notifier.log)
    assert [entry.number for entry in entries] == list(range(1, 301))
    assert {entry.id for entry in entries} == {each.id for each in happened}


async def test_replicas_that_append_the_same_at_once_store_it_once(two: Desk) -> None:
    first, second = (notifier.log for notifier in two.notifiers)
    seen: list[int] = []

    async def watch() -> None:
        while not seen or seen[-1] < 400:
            page = await second.after("default", seen[-1] if seen else 0)
            seen.extend(entry.number for entry in page.entries)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        for batch in range(40):
            same = [event(id=f"evt_{batch}_{n}") for n in range(10)]
            group.create_task(first.append("default", same))
            group.create_task(second.append("default", list(reversed(same))))
    assert seen == list(range(1, 401))
    assert len({entry.id for entry in await everything(first)}) == 400


async def test_what_another_replica_stored_is_not_stored_again(two: Desk) -> None:
    first, second = (notifier.log for notifier in two.notifiers)
    happened = event()
    assert await first.append("default", [happened]) == 1
    assert await second.append("default", [event()]) == 1
    assert await second.append("default", [happened, event()]) == 1
    assert await first.append("default", [happened]) == 0
    assert await two.stored() == 3


async def test_namespaces_have_numbers_of_their_own(still: Desk) -> None:
    log = still.notifier.log
    for namespace in ("a", "a:0", "b"):
        assert await log.append(namespace, [event(namespace=namespace)]) == 1
    assert [entry.number for entry in await everything(log, "a")] == [1]
    assert await log.span("a:0") == (1, 1)


async def test_a_message_from_anybody_else_is_refused_with_the_reason(desk: Desk) -> None:
    forger = desk.hub.bus("svc-billing")
    await forger.open()
    await desk.publish(event(), forger)
    garbage = Outgoing("placet.events", "x", "placet.event.v1", b"{]", "evt_bad")
    await desk.runner.publish(garbage)
    await desk.publish(event(), desk.broker)
    dead = await eventually(lambda: _two_dead(desk))
    assert {each.queue for each in dead} == {QUEUE}
    assert any("svc-billing" in each.reason for each in dead)
    await eventually(desk.stored)
    assert await desk.stored() == 1


async def _two_dead(desk: Desk) -> list[object]:
    found = await desk.runner.dead()
    return list(found) if len(found) == 2 else []


async def test_a_stream_goes_on_without_a_gap_or_a_double_across_replicas(two: Desk) -> None:
    alice = await two.key()
    start = event()
    await two.publish(start)

    async def publish() -> None:
        for _ in range(200):
            await two.publish(event())
            await asyncio.sleep(0.001)

    publishing = asyncio.create_task(publish())
    numbers: list[int] = []
    rng = random.Random(11)  # noqa: S311 - a schedule, no secret
    while len(numbers) < 201:
        position = {**alice, "Last-Event-ID": str(numbers[-1] if numbers else 0)}
        async with two.stream(position, replica=rng.randrange(2)) as events:
            wanted = min(rng.randint(1, 60), 201 - len(numbers))
            numbers += [each.number for each in await take(events, wanted)]
    await publishing
    assert numbers == list(range(1, 202))


async def test_a_stream_without_a_position_begins_now(desk: Desk) -> None:
    alice = await desk.key()
    await desk.publish(event())
    await eventually(desk.stored)
    async with desk.stream(alice) as events:
        later = event(EventType.INPUT_REQUESTED, input_id="inp_1")
        await desk.publish(later)
        [sent] = await take(events, 1)
    assert (sent.number, sent.name, sent.data["id"]) == (2, "input.requested", later.id)


async def test_an_agents_stream_has_its_events_with_inputs_by_their_own_names(desk: Desk) -> None:
    alice = await desk.key()
    kinds = (EventType.RUN_STARTED, EventType.INPUT_REQUESTED, EventType.INPUT_RESOLVED)
    for kind in kinds:
        happened = event(kind, agent_id="agt_7")
        await desk.publish(happened, desk.broker)
        await desk.publish(happened, desk.broker)
        await desk.publish(event(kind), desk.broker)
    async with desk.stream(alice, "/v1/agents/agt_7/events?after=0") as events:
        sent = await take(events, 3)
        await desk.publish(event(EventType.RUN_COMPLETED, agent_id="agt_7"))
        sent += await take(events, 1)
    names = ["run.started", "input_required", "input_resolved", "run.completed"]
    assert [each.name for each in sent] == names
    assert {each.data["agent_id"] for each in sent} == {"agt_7"}


async def test_a_stream_can_be_narrowed(desk: Desk) -> None:
    alice = await desk.key()
    await desk.publish(event(run_id="run_2", root_run_id="run_2"))
    await desk.publish(event(EventType.RUN_FAILED, run_id="run_2", root_run_id="run_2"))
    await desk.publish(event(EventType.RUN_FAILED))
    async with desk.stream(alice, "/v1/events?after=0&run=run_2&types=run.failed") as events:
        [sent] = await take(events, 1)
        await desk.publish(event(EventType.RUN_FAILED, run_id="x", root_run_id="run_2"))
        [below] = await take(events, 1)
    assert (sent.number, below.data["run_id"]) == (2, "x")


async def test_a_reader_sees_what_its_scopes_allow(desk: Desk) -> None:
    inputs = await desk.key(Scope.INPUTS_READ)
    other = await desk.key(namespace="other")
    await desk.publish(event())
    await desk.publish(event(EventType.INPUT_REQUESTED))
    await desk.publish(event(namespace="other", run_id="theirs"))
    async with desk.stream(inputs, "/v1/events?after=0") as events:
        [sent] = await take(events, 1)
    assert sent.name == "input.requested"
    async with desk.stream(other, "/v1/events?after=0") as events:
        [sent] = await take(events, 1)
    assert (sent.number, sent.data["run_id"]) == (1, "theirs")
    operator = await desk.key(Scope.OPERATE)
    assert (await desk.call("GET", "/v1/events", operator)).status_code == 403
    assert (await desk.call("GET", "/v1/events", {})).status_code == 401


async def test_what_a_reader_asks_for_must_exist(still: Desk) -> None:
    alice = await still.key()
    for query in ("types=run.exploded", "after=x", "after=-1"):
        refused = await still.call("GET", f"/v1/events?{query}", alice)
        assert refused.status_code == 400
        assert refused.json()["errors"]


async def test_a_position_that_is_no_longer_kept_is_a_gap(still: Desk) -> None:
    alice = await still.key()
    brief = StoredEvents(
        still.platform.database("deliveries"), SystemClock(), timedelta(seconds=-1)
    )
    for _ in range(3):
        await brief.append("default", [event(), event()])
    assert await brief.forget(limit=100)
    assert await brief.span("default") == (5, 6)
    for position in ("0", "3", "7"):
        gap = await still.call("GET", "/v1/events", {**alice, "Last-Event-ID": position})
        assert (gap.status_code, gap.json()["code"]) == (409, "REPLAY_GAP")
        assert (gap.json()["oldest"], gap.json()["newest"]) == (5, 6)
    async with still.stream({**alice, "Last-Event-ID": "4"}) as events:
        assert [each.number for each in await take(events, 2)] == [5, 6]


async def test_numbers_go_on_when_everything_old_is_forgotten(still: Desk) -> None:
    database = still.platform.database("deliveries")
    brief = StoredEvents(database, SystemClock(), timedelta(seconds=-1))
    await brief.append("default", [event()])
    await brief.forget(limit=100)
    await brief.forget(limit=100)
    assert await StoredEvents(database, SystemClock(), timedelta(1)).append("default", [event()])
    assert await brief.span("default") == (1, 2)


async def test_a_stream_ends_cleanly_when_the_service_stops(desk: Desk) -> None:
    alice = await desk.key()
    async with desk.stream(alice) as events:
        await desk.notifier.stop()
        async with asyncio.timeout(5):
            assert [each async for each in events] == []


async def test_a_feed_reads_on_behind_a_hole(desk: Desk) -> None:
    log, database = desk.notifier.log, desk.platform.database("deliveries")
    for _ in range(6):
        await log.append("default", [event()])
    assert await database.collection("events").delete("default:000000000004", {})
    feed = Feed("default", log, poll=3600)
    await feed.open()
    feed.last = 0  # it has not read yet
    await eventually(lambda: feed.last == 6)
    feed.close()


async def test_many_streams_share_one_look_at_the_database(desk: Desk) -> None:
    alice = await desk.key()
    reads = 0
    after = desk.notifier.log.after

    async def counting(namespace: str, number: int) -> Page:
        nonlocal reads
        reads += 1
        return await after(namespace, number)

    desk.notifier.log.after = counting  # type: ignore[method-assign]
    async with asyncio.TaskGroup() as group:
        opened = [group.create_task(_first(desk, alice)) for _ in range(50)]
        await eventually(lambda: _streams(desk) == 50)
        before = reads
        happened = event()
        await desk.publish(happened)
    assert {task.result() for task in opened} == {happened.id}
    assert reads - before < 30
    await eventually(lambda: _streams(desk) == 0)


async def _first(desk: Desk, key: dict[str, str]) -> str:
    async with desk.stream(key) as events:
        [sent] = await take(events, 1)
        return str(sent.data["id"])


def _streams(desk: Desk) -> float:
    return float(desk.notifier.metrics.streams._value.get())
