"""Restarts, kills, empty disks, cut and dead connections: publisher and consumer come back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import pytest

from placet.bus.port import Outgoing
from placet.bus.rabbit import RabbitBus
from placet.bus.topology import DEAD
from placet.errors import Unavailable
from placet.testing.bus_cases import (
    BROKER,
    RUNNER,
    TEST_TOPOLOGY,
    Recorder,
    outgoing,
    until,
)
from tests.support.eventually import eventually
from tests.support.proxy import Proxy
from tests.support.rabbitmq import SETTLED_SECONDS, RabbitServer, amqp_url

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("empty_queues")]

Open = Callable[..., Awaitable[RabbitBus]]


@pytest.fixture
async def opened(rabbitmq: RabbitServer) -> AsyncIterator[Open]:
    made: list[RabbitBus] = []

    async def make(user: str, *, port: int | None = None, confirm: float = 10.0) -> RabbitBus:
        url = amqp_url(port or rabbitmq.port, user)
        bus = RabbitBus(url, topology=TEST_TOPOLOGY, confirm_seconds=confirm)
        made.append(bus)
        await bus.open()
        return bus

    yield make
    await asyncio.gather(*(bus.close() for bus in made))


async def deliver(bus: RabbitBus, message: Outgoing) -> bool:
    """Publish as an outbox does: whether it was confirmed."""
    try:
        await bus.publish(message)
    except Unavailable:
        return False
    return True


async def until_delivered(bus: RabbitBus, message: Outgoing) -> None:
    async def try_it() -> bool:
        return await deliver(bus, message)

    await eventually(try_it, within=30)


async def until_ready(*buses: RabbitBus) -> None:
    await eventually(lambda: not any(bus.ready() for bus in buses), within=30)


async def keep_publishing(bus: RabbitBus, confirmed: list[str], stop: asyncio.Event) -> None:
    while not stop.is_set():
        message = outgoing()
        if await deliver(bus, message):
            confirmed.append(message.event_id)
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_restart_loses_nothing_that_was_confirmed(
    rabbitmq: RabbitServer, opened: Open, how: str
) -> None:
    runner, broker = await opened(RUNNER), await opened(BROKER)
    handler = Recorder()
    consumption = await broker.consume("placet.broker.requests", handler, prefetch=8)
    confirmed: list[str] = []
    stop = asyncio.Event()
    load = [asyncio.create_task(keep_publishing(runner, confirmed, stop)) for _ in range(8)]
    await asyncio.sleep(SETTLED_SECONDS)  # see there: younger queues do not survive a kill
    await asyncio.to_thread(getattr(rabbitmq, how))
    await eventually(lambda: runner.ready() and broker.ready() and not consumption.alive)
    before = len(confirmed)
    await asyncio.to_thread(rabbitmq.start)
    await until_ready(runner, broker)
    await eventually(lambda: len(confirmed) > before + 50, within=30)
    stop.set()
    await asyncio.gather(*load)
    await eventually(lambda: set(confirmed) <= set(handler.event_ids), within=30)
    await runner.probe()


async def test_an_empty_disk_gets_the_topology_again(rabbitmq: RabbitServer, opened: Open) -> None:
    runner, broker = await opened(RUNNER), await opened(BROKER)
    handler = Recorder()
    await broker.consume("placet.broker.requests", handler, prefetch=8)
    await asyncio.to_thread(rabbitmq.stop)
    await asyncio.to_thread(rabbitmq.wipe)
    await asyncio.to_thread(rabbitmq.start)
    await until_ready(runner, broker)
    message = outgoing()
    await until_delivered(runner, message)
    await eventually(lambda: message.event_id in handler.event_ids)
    # Nobody consumes these two: the bus itself has declared them again.
    await until_delivered(runner, outgoing(DEAD, "by-hand"))
    await until_delivered(runner, outgoing("placet.runs", "start"))


async def test_a_connection_cut_during_a_handler_brings_the_message_again(
    rabbitmq: RabbitServer, opened: Open
) -> None:
    async with Proxy(rabbitmq.port) as proxy:
        broker = await opened(BROKER, port=proxy.port)
        runner = await opened(RUNNER)
        handler = Recorder()
        handler.gate.clear()
        await broker.consume("placet.broker.requests", handler, prefetch=1)
        message = outgoing()
        await runner.publish(message)
        await until(lambda: handler.running)
        proxy.reset()
        await eventually(lambda: bool(broker.ready()))
        # The handler that ran on was not cancelled; its ack finds a dead channel and is let go.
        assert handler.running == 1
        handler.gate.set()
        await until_ready(broker)
        await until(lambda: len(handler.seen) >= 2)
        assert set(handler.event_ids) == {message.event_id}
        assert handler.seen[-1].redelivered


async def test_connections_cut_in_a_loop_lose_nothing(rabbitmq: RabbitServer, opened: Open) -> None:
    async with Proxy(rabbitmq.port) as proxy:
        broker, runner = (
            await opened(BROKER, port=proxy.port),
            await opened(RUNNER, port=proxy.port),
        )
        handler = Recorder()
        await broker.consume("placet.broker.requests", handler, prefetch=8)
        confirmed: list[str] = []
        stop = asyncio.Event()
        load = [asyncio.create_task(keep_publishing(runner, confirmed, stop)) for _ in range(4)]
        for _ in range(4):
            wanted = len(confirmed) + 20
            await eventually(lambda wanted=wanted: len(confirmed) > wanted, within=30)  # type: ignore[misc]
            proxy.reset()
        await until_ready(broker, runner)
        stop.set()
        await asyncio.gather(*load)
        await eventually(lambda: set(confirmed) <= set(handler.event_ids), within=30)


async def test_a_dead_network_makes_a_publish_time_out(
    rabbitmq: RabbitServer, opened: Open
) -> None:
    async with Proxy(rabbitmq.port) as proxy:
        runner = await opened(RUNNER, port=proxy.port, confirm=0.3)
        await runner.publish(outgoing())
        proxy.blackhole = True
        with pytest.raises(Unavailable, match=r"no confirm .* in 0\.3 s"):
            await runner.publish(outgoing())
        proxy.blackhole = False
        await until_delivered(runner, outgoing())


async def test_a_slow_network_is_only_slow(rabbitmq: RabbitServer, opened: Open) -> None:
    async with Proxy(rabbitmq.port) as proxy:
        proxy.latency = 0.02
        runner = await opened(RUNNER, port=proxy.port)
        await asyncio.gather(*(runner.publish(outgoing()) for _ in range(50)))
        assert runner.ready() == []


async def test_a_server_that_refuses_for_a_while_is_tried_again(
    rabbitmq: RabbitServer, opened: Open
) -> None:
    async with Proxy(rabbitmq.port) as proxy:
        broker, handler = await opened(BROKER, port=proxy.port), Recorder()
        await broker.consume("placet.broker.requests", handler, prefetch=1)
        proxy.refuse = True
        proxy.reset()
        await eventually(lambda: len(broker.ready()) >= 2)
        assert not await deliver(broker, outgoing())
        proxy.refuse = False
        await until_ready(broker)
        await until_delivered(broker, outgoing())
        await until(lambda: handler.seen)


async def test_closing_while_the_server_is_away_ends(rabbitmq: RabbitServer, opened: Open) -> None:
    async with Proxy(rabbitmq.port) as proxy:
        broker = await opened(BROKER, port=proxy.port)
        await broker.consume("placet.broker.requests", Recorder(), prefetch=1)
        proxy.refuse = True
        proxy.reset()
        await eventually(lambda: bool(broker.ready()))
        async with asyncio.timeout(10):
            await broker.close()


async def test_nothing_of_a_bus_goes_on_after_it_was_closed(
    rabbitmq: RabbitServer, opened: Open
) -> None:
    """Also if the connection was lost, or came back, at the very moment."""
    async with Proxy(rabbitmq.port) as proxy:
        for turn in range(12):
            broker = await opened(BROKER, port=proxy.port)
            await broker.consume("placet.broker.requests", Recorder(), prefetch=1)
            proxy.reset()
            if turn % 3:
                await eventually(partial(_lost, broker))
            if turn % 3 == 2:
                await eventually(partial(_declares_again, broker), within=30)
            await broker.close()
            broker._declare_again()  # a reconnect that was under way says so now
        left = [repr(task) for task in asyncio.all_tasks() if "Rabbit" in repr(task.get_coro())]
    assert not left


def _lost(bus: RabbitBus) -> bool:
    return bool(bus.ready())


def _declares_again(bus: RabbitBus) -> bool:
    return bus._declaring is not None
