"""What only a real server can show: who may publish what, topologies that differ, forged origins."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import aio_pika
import aiormq
import pytest

from placet.bus.rabbit import RabbitBus
from placet.bus.topology import DEAD, TOPOLOGY, Exchange, Queue
from placet.errors import Conflict, Unavailable
from placet.testing.bus_cases import (
    BROKER,
    RUNNER,
    TEST_TOPOLOGY,
    Recorder,
    dead_letters,
    outgoing,
    until,
)
from tests.support.eventually import eventually
from tests.support.rabbitmq import free_port

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("empty_queues")]

MakeRabbit = Callable[..., RabbitBus]


@pytest.fixture
async def rabbit(amqp_urls: dict[str, str]) -> AsyncIterator[MakeRabbit]:
    made: list[RabbitBus] = []

    def make(user: str, **settings: object) -> RabbitBus:
        given = {"topology": TEST_TOPOLOGY, **settings}
        bus = RabbitBus(amqp_urls[user], **given)  # type: ignore[arg-type]
        made.append(bus)
        return bus

    yield make
    await asyncio.gather(*(bus.close() for bus in made))


@pytest.fixture
async def raw(amqp_urls: dict[str, str]) -> AsyncIterator[Callable[[str], "Raw"]]:
    made: list[Raw] = []

    def make(user: str) -> Raw:
        made.append(Raw(amqp_urls[user]))
        return made[-1]

    yield make
    for one in made:
        await one.close()


class Raw:
    """A publisher that follows no rule."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: aio_pika.abc.AbstractConnection | None = None

    async def channel(self) -> aio_pika.abc.AbstractChannel:
        if self._connection is None:
            self._connection = await aio_pika.connect(self._url)
        return await self._connection.channel(on_return_raises=True)

    async def publish(self, exchange: str, key: str, message: aio_pika.Message) -> None:
        channel = await self.channel()
        target = await channel.get_exchange(exchange, ensure=False)
        await target.publish(message, routing_key=key)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


async def test_the_server_refuses_another_users_name(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    await rabbit(BROKER).open()
    for user in (BROKER, RUNNER, "svc-other"):
        forged = aio_pika.Message(b"{}", user_id=user)
        for exchange, key in (("placet.requests", "confirm"), ("placet.answers", "answer")):
            with pytest.raises(aiormq.exceptions.ChannelPreconditionFailed, match="user_id"):
                await raw("svc-billing").publish(exchange, key, forged)


async def test_another_service_may_ask_but_not_command_or_resolve(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    await rabbit(BROKER).open()
    billing = raw("svc-billing")
    message = aio_pika.Message(b"{}", user_id="svc-billing")
    await billing.publish("placet.requests", "confirm", message)
    for exchange, key in (
        ("placet.runs", "start"),
        ("placet.resolutions", "resolution"),
        (DEAD, "placet.broker.requests"),
        ("", "placet.runner.resolutions"),
        ("", "placet.reply.svc-other.1"),
        ("amq.topic", "resolution"),
    ):
        with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
            await billing.publish(exchange, key, message)


async def test_another_service_hears_nothing_but_its_own_replies(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    await rabbit(BROKER).open()
    billing = raw("svc-billing")
    own = await (await billing.channel()).declare_queue(
        "placet.reply.svc-billing.2", exclusive=True
    )
    for exchange, key in (
        ("placet.resolutions", "resolution"),
        ("placet.answers", "answer"),
        ("placet.events", "#"),
    ):
        queue = await (await billing.channel()).get_queue(own.name, ensure=False)
        with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
            await queue.bind(exchange, key)
    for name in ("placet.runner.resolutions", "placet.broker.answers", "placet.reply.svc-other.1"):
        queue = await (await billing.channel()).get_queue(name, ensure=False)
        with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
            await queue.get(fail=False)
    with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
        await (await billing.channel()).declare_queue("placet.reply.svc-other.1")


async def test_another_service_finds_the_topology_there_and_is_ready(rabbit: MakeRabbit) -> None:
    await rabbit(BROKER).open()
    billing = rabbit("svc-billing")
    await billing.open()
    assert billing.ready() == []
    handler = Recorder()
    await billing.consume("placet.reply.svc-billing.1", handler, prefetch=1)
    broker = rabbit(BROKER)
    await broker.open()
    await broker.publish(outgoing("", "placet.reply.svc-billing.1"))
    await until(lambda: handler.seen)


@pytest.mark.parametrize("user_id", [None, ""])
async def test_a_message_without_a_user_is_dead_unseen(
    rabbit: MakeRabbit, raw: Callable[[str], Raw], user_id: str | None
) -> None:
    broker, handler = rabbit(BROKER), Recorder()
    await broker.open()
    await broker.consume("placet.broker.requests", handler, prefetch=1)
    message = aio_pika.Message(b"{}", type="placet.test.v1", user_id=user_id)
    await raw("svc-billing").publish("placet.requests", "confirm", message)
    letter = (await dead_letters(broker, 1))[0]
    assert letter.reason == "no valid user_id"
    assert letter.delivery.user_id is None
    assert handler.seen == []


async def test_an_origin_that_the_sender_wrote_himself_is_not_believed(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    """RabbitMQ moves the message itself, with whatever headers it came with."""
    broker = rabbit(BROKER)
    await broker.open()
    forged = aio_pika.Message(
        b"{}",
        type="placet.run_command.v1",
        user_id="svc-billing",
        headers={
            "placet-user": RUNNER,
            "placet-exchange": "placet.runs",
            "placet-key": "start",
            "placet-queue": "placet.runner.runs",
            "placet-reason": "harmless",
        },
    )
    await raw("svc-billing").publish("placet.requests", "confirm", forged)
    channel = await raw(BROKER).channel()
    queue = await channel.get_queue("placet.broker.requests")
    message = await queue.get(timeout=5)
    await message.reject(requeue=False)
    letter = (await dead_letters(broker, 1))[0]
    assert (letter.reason, letter.queue) == ("rejected", "placet.broker.requests")
    assert (letter.delivery.user_id, letter.delivery.exchange) == ("svc-billing", "placet.requests")
    with pytest.raises(Conflict):
        await broker.retry_dead(letter.id)


async def test_a_queue_with_other_arguments_is_named_and_the_others_work(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    channel = await raw(BROKER).channel()
    await channel.declare_queue("placet.test.other", durable=True)
    changed = replace(
        TOPOLOGY,
        exchanges=(*TOPOLOGY.exchanges, Exchange("placet.test", "direct")),
        queues=(*TOPOLOGY.queues, Queue("placet.test.other", "placet.test", ("other",))),
    )
    broker, handler = rabbit(BROKER, topology=changed), Recorder()
    await broker.open()
    assert [reason for reason in broker.ready() if "placet.test.other" in reason] == broker.ready()
    assert "other arguments" in broker.ready()[0]
    await broker.consume("placet.broker.requests", handler, prefetch=1)
    await broker.publish(outgoing())
    await until(lambda: handler.seen)
    await channel.queue_delete("placet.test.other")
    await broker.consume("placet.test.other", Recorder(), prefetch=1)
    assert broker.ready() == []


async def test_a_queue_deleted_under_its_consumer_comes_back(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    broker, handler = rabbit(BROKER), Recorder()
    await broker.open()
    consumption = await broker.consume("placet.broker.answers", handler, prefetch=1)
    channel = await raw(BROKER).channel()
    await channel.queue_delete("placet.broker.answers")
    await until(lambda: not consumption.alive and broker.ready())
    assert "placet.broker.answers" in broker.ready()[0]
    await until(lambda: consumption.alive)
    await broker.publish(outgoing("placet.answers", "answer"))
    await until(lambda: handler.seen)
    assert broker.ready() == []


async def test_a_queue_that_lost_its_binding_makes_the_publisher_fail(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    broker = rabbit(BROKER)
    await broker.open()
    channel = await raw(BROKER).channel()
    queue = await channel.get_queue("placet.runner.resolutions")
    await queue.unbind("placet.resolutions", "resolution")
    with pytest.raises(Unavailable, match=r"placet\.resolutions"):
        await broker.publish(outgoing("placet.resolutions", "resolution"))
    await queue.bind("placet.resolutions", "resolution")
    await broker.publish(outgoing("placet.resolutions", "resolution"))


async def test_a_full_dead_letter_queue_loses_nothing(
    rabbit: MakeRabbit, raw: Callable[[str], Raw]
) -> None:
    channel = await raw(BROKER).channel()
    await channel.queue_delete(DEAD)
    small = replace(
        TOPOLOGY,
        queues=tuple(
            replace(queue, max_length=1) if queue.name == DEAD else queue
            for queue in TOPOLOGY.queues
        ),
    )
    broker, handled = rabbit(BROKER, topology=small), Recorder()
    await broker.open()

    async def reject(_: object) -> object:
        raise ValueError("bad")

    consumption = await broker.consume("placet.broker.requests", reject, prefetch=8)  # type: ignore[arg-type]
    sent = {(message := outgoing()).event_id: message for _ in range(12)}
    await asyncio.gather(*(broker.publish(message) for message in sent.values()))
    found: set[str] = set()

    async def drained() -> bool:
        for letter in await broker.dead():
            found.add(letter.delivery.event_id)
            await broker.drop_dead(letter.id)
        return found == set(sent)

    await eventually(drained, within=40, every=0.1)
    await consumption.stop()
    await channel.queue_delete(DEAD)
    await rabbit(BROKER).open()
    assert handled.seen == []


async def test_a_server_that_is_away_is_named() -> None:
    port = free_port()
    bus = RabbitBus(f"amqp://placet-runner:word@127.0.0.1:{port}/")
    with pytest.raises(Unavailable, match=rf"RabbitMQ at 127\.0\.0\.1:{port}") as caught:
        await bus.open()
    assert "word" not in str(caught.value)
    assert bus.ready()


async def test_a_wrong_password_is_unavailable_and_not_shown(amqp_urls: dict[str, str]) -> None:
    url = amqp_urls[RUNNER].replace("for-tests-only", "not-the-word")
    with pytest.raises(Unavailable) as caught:
        await RabbitBus(url).open()
    assert "not-the-word" not in str(caught.value)
