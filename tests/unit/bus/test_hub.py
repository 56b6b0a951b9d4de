"""The in-process bus beyond the shared cases: outages, losses, contexts, cancelled work."""

import asyncio
from contextvars import ContextVar

import pytest

from placet.bus import Ack, Delivery, Hub, Settle, bus_on, open_bus
from placet.bus.rabbit import RabbitBus
from placet.errors import Unavailable
from placet.testing.bus_cases import BROKER, RUNNER, Recorder, outgoing, until

REQUESTS = "placet.broker.requests"


async def test_a_cut_hub_refuses_and_a_mended_one_goes_on() -> None:
    hub, handler = Hub(), Recorder()
    runner, broker = await open_bus(hub, RUNNER), await open_bus(hub, BROKER)
    for _ in range(3):
        await runner.publish(outgoing())
    hub.cut()
    await broker.close()
    with pytest.raises(Unavailable):
        await runner.publish(outgoing())
    assert runner.ready()
    hub.mend()
    await broker.open()
    await broker.consume(REQUESTS, handler, prefetch=2)
    await until(lambda: len(handler.seen) == 3)
    assert runner.ready() == []


async def test_a_consumer_outlives_a_cut() -> None:
    hub, handler = Hub(), Recorder()
    runner, broker = await open_bus(hub, RUNNER), await open_bus(hub, BROKER)
    handler.gate.clear()
    await broker.consume(REQUESTS, handler, prefetch=1)
    for _ in range(3):
        await runner.publish(outgoing())
    await until(lambda: handler.running)
    hub.cut()
    handler.gate.set()
    await until(lambda: not handler.running)
    hub.mend()
    await until(lambda: len(handler.seen) == 3)


async def test_lost_queues_are_empty_and_counted() -> None:
    hub, handler = Hub(), Recorder()
    runner, broker = await open_bus(hub, RUNNER), await open_bus(hub, BROKER)
    for _ in range(4):
        await runner.publish(outgoing())
    assert hub.lose() == 4
    after = outgoing()
    await runner.publish(after)
    await broker.consume(REQUESTS, handler, prefetch=4)
    await until(lambda: handler.seen)
    assert handler.event_ids == [after.event_id]


async def test_a_handler_does_not_inherit_what_the_publisher_had_bound() -> None:
    run: ContextVar[str] = ContextVar("run", default="none")
    hub, seen = Hub(), []

    async def handle(_: Delivery) -> Settle:
        seen.append(run.get())
        return Ack()

    runner, broker = await open_bus(hub, RUNNER), await open_bus(hub, BROKER)
    await broker.consume(REQUESTS, handle, prefetch=4)
    run.set("run_of_the_publisher")
    await runner.publish(outgoing())
    await until(lambda: seen)
    assert seen == ["none"]


async def test_a_cancelled_handler_returns_its_message() -> None:
    hub = Hub()
    runner, broker = await open_bus(hub, RUNNER), await open_bus(hub, BROKER)
    tasks: list[asyncio.Task[object] | None] = []

    async def handle(delivery: Delivery) -> Settle:
        tasks.append(asyncio.current_task())
        if not delivery.redelivered:
            await asyncio.Event().wait()
        return Ack()

    await broker.consume(REQUESTS, handle, prefetch=1)
    await runner.publish(outgoing())
    await until(lambda: tasks)
    assert tasks[0] is not None
    tasks[0].cancel()
    await until(lambda: len(tasks) == 2)


async def test_what_comes_back_too_often_is_dead() -> None:
    hub = Hub()
    runner, broker = await open_bus(hub, RUNNER), await open_bus(hub, BROKER)
    seen = 0

    async def handle(_: Delivery) -> Settle:
        nonlocal seen
        seen += 1
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return Ack()

    await broker.consume(REQUESTS, handle, prefetch=1)
    await runner.publish(outgoing())
    await until(lambda: hub.server.queues["placet.dead"].items)
    assert [letter.reason for letter in await broker.dead()] == ["delivered too often"]
    assert seen == 21


async def test_messages_published_one_by_one_are_all_handled() -> None:
    """A worker that ends as a message arrives must not leave it lying."""
    hub, handler = Hub(), Recorder()
    runner, broker = await open_bus(hub, RUNNER), await open_bus(hub, BROKER)
    await broker.consume(REQUESTS, handler, prefetch=1)
    for _ in range(500):
        await runner.publish(outgoing())
    await until(lambda: len(handler.seen) == 500)


async def test_a_url_gives_a_rabbit_bus_of_its_user() -> None:
    bus = bus_on("amqp://svc%2Dbilling:x%40y@rabbit.internal:5672/")
    assert isinstance(bus, RabbitBus)
    assert bus.user == "svc-billing"
    assert bus.ready()
