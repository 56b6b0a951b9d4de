"""What every bus promises, as test cases: subclass `BusCases` and give it a `make_bus` fixture.

`make_bus(user)` returns an open bus for that user on `TEST_TOPOLOGY`; every bus of one test reaches
the same queues, which are empty at its start. The fixture closes them.
"""
# ruff: noqa: D102, S101, ASYNC110, PT012
# Cases are tests: their names are sentences, they assert, and they poll a bus that is a black box.

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from placet.bus.port import Ack, Bus, DeadLetter, Delivery, Later, Outgoing, Reject, Settle
from placet.bus.topology import TOPOLOGY, Exchange, Queue
from placet.errors import Conflict, NotFound, QueueFull, TooLarge, Unavailable, Unroutable
from placet.ids import new_id

RUNNER, BROKER, NOTIFIER = "placet-runner", "placet-broker", "placet-notifier"
TEST_TOPOLOGY = replace(
    TOPOLOGY,
    exchanges=(*TOPOLOGY.exchanges, Exchange("placet.test", "direct")),
    queues=(*TOPOLOGY.queues, Queue("placet.test.tiny", "placet.test", ("tiny",), max_length=3)),
)
PATIENCE = 15.0

MakeBus = Callable[[str], Awaitable[Bus]]


async def until(check: Callable[[], object]) -> None:
    """Return when `check` is true; fails after `PATIENCE` seconds."""
    async with asyncio.timeout(PATIENCE):
        while not check():
            await asyncio.sleep(0.01)


async def dead_letters(bus: Bus, count: int) -> list[DeadLetter]:
    """The dead letters, once there are `count`."""
    async with asyncio.timeout(PATIENCE):
        while len(found := await bus.dead()) < count:
            await asyncio.sleep(0.02)
    return found


def outgoing(
    exchange: str = "placet.requests", key: str = "confirm", *, body: bytes = b"{}"
) -> Outgoing:
    """A message to publish, with an event id of its own."""
    return Outgoing(
        exchange,
        key,
        type="placet.test.v1",
        body=body,
        event_id=new_id("evt"),
        correlation_id="run_1",
    )


class Recorder:
    """A handler that keeps what arrived and settles with what `answers` says, then with Ack."""

    def __init__(self, *answers: Settle | Exception) -> None:
        self.seen: list[Delivery] = []
        self.running = 0
        self.most_at_once = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._answers = list(answers)

    @property
    def event_ids(self) -> list[str]:
        """The event ids in the order of arrival."""
        return [delivery.event_id for delivery in self.seen]

    async def __call__(self, delivery: Delivery) -> Settle:
        self.seen.append(delivery)
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await self.gate.wait()
        finally:
            self.running -= 1
        answer = self._answers.pop(0) if self._answers else Ack()
        if isinstance(answer, Exception):
            raise answer
        return answer


class BusCases:
    """The cases; each is a promise of the port."""

    async def test_a_message_arrives_as_it_was_published(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler = Recorder()
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        sent = replace(
            outgoing(body=b'{"a":1}'), reply_to="placet.reply.x", headers={"tracestate": "t"}
        )
        await runner.publish(sent)
        await until(lambda: handler.seen)
        got = handler.seen[0]
        assert (got.exchange, got.key, got.type, got.body) == (
            sent.exchange,
            sent.key,
            sent.type,
            sent.body,
        )
        assert (got.event_id, got.correlation_id) == (sent.event_id, "run_1")
        assert (got.reply_to, dict(got.headers)) == ("placet.reply.x", {"tracestate": "t"})
        assert (got.user_id, got.redelivered) == (RUNNER, False)
        assert got.message_id
        assert got.timestamp is not None
        assert got.timestamp.tzinfo is not None

    async def test_each_try_has_the_same_event_id_and_a_message_id_of_its_own(
        self, make_bus: MakeBus
    ) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler, sent = Recorder(), outgoing()
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        await runner.publish(sent)
        await runner.publish(sent)
        await until(lambda: len(handler.seen) == 2)
        assert handler.event_ids == [sent.event_id] * 2
        assert handler.seen[0].message_id != handler.seen[1].message_id

    async def test_an_acked_message_does_not_come_again(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        first, second, after = Recorder(), Recorder(), outgoing()
        consumption = await broker.consume("placet.broker.requests", first, prefetch=4)
        await runner.publish(outgoing())
        await until(lambda: first.seen)
        await consumption.stop()
        await broker.consume("placet.broker.requests", second, prefetch=4)
        await runner.publish(after)
        await until(lambda: second.seen)
        assert second.event_ids == [after.event_id]

    async def test_a_rejected_message_is_dead_with_its_reason_and_origin(
        self, make_bus: MakeBus
    ) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler = Recorder(Reject("unknown version"))
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        sent = replace(outgoing(body=b"[]"), headers={"traceparent": "00-x"})
        await runner.publish(sent)
        letter = (await dead_letters(broker, 1))[0]
        assert (letter.queue, letter.reason) == ("placet.broker.requests", "unknown version")
        was = letter.delivery
        assert (was.exchange, was.key, was.type, was.body) == (
            sent.exchange,
            sent.key,
            sent.type,
            b"[]",
        )
        assert (was.user_id, was.event_id, was.correlation_id) == (RUNNER, sent.event_id, "run_1")
        assert dict(was.headers) == {"traceparent": "00-x"}
        assert len(handler.seen) == 1

    async def test_a_dead_letter_stays_when_it_is_looked_at(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        rejects: list[Settle | Exception] = [Reject(str(n)) for n in range(5)]
        await broker.consume("placet.broker.requests", Recorder(*rejects), prefetch=1)
        for _ in rejects:
            await runner.publish(outgoing())
        ids = [letter.id for letter in await dead_letters(broker, 5)]
        for _ in range(3):
            again = await dead_letters(broker, 5)
            assert sorted(letter.id for letter in again) == sorted(ids)
        async with asyncio.timeout(PATIENCE):
            while len(found := await broker.dead(limit=2)) < 2:
                await asyncio.sleep(0.02)
            while (count := await broker.dead_count()) < 5:
                await asyncio.sleep(0.02)
        assert (len(found), count) == (2, 5)

    async def test_later_comes_back_and_is_not_counted(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler = Recorder(*[Later()] * 6)
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        await runner.publish(outgoing())
        await until(lambda: len(handler.seen) == 7)
        assert len(set(handler.event_ids)) == 1
        assert await broker.dead() == []

    async def test_a_handler_that_finds_a_server_away_is_asked_again(
        self, make_bus: MakeBus
    ) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler = Recorder(*[Unavailable("MongoDB is away")] * 4)
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        await runner.publish(outgoing())
        await until(lambda: len(handler.seen) == 5)
        assert await broker.dead() == []

    async def test_a_handler_that_keeps_raising_leaves_a_dead_letter_that_says_what(
        self, make_bus: MakeBus
    ) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        await broker.consume(
            "placet.broker.requests", Recorder(*[KeyError("kind")] * 9), prefetch=4
        )
        await runner.publish(outgoing())
        assert (await dead_letters(broker, 1))[0].reason == "KeyError: 'kind'"

    async def test_a_handler_that_raises_once_is_asked_again(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler = Recorder(ValueError("once"))
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        await runner.publish(outgoing())
        await until(lambda: len(handler.seen) == 2)
        assert await broker.dead() == []

    async def test_the_neighbours_of_a_poison_message_are_handled(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handled: list[bytes] = []

        async def handle(delivery: Delivery) -> Settle:
            if delivery.body == b"poison":
                raise ValueError("cannot read it")
            handled.append(delivery.body)
            return Ack()

        await broker.consume("placet.broker.requests", handle, prefetch=8)
        bodies = [b"poison" if n == 10 else str(n).encode() for n in range(20)]
        await asyncio.gather(*(runner.publish(outgoing(body=body)) for body in bodies))
        letters = await dead_letters(broker, 1)
        await until(lambda: len(handled) == 19)
        assert [letter.delivery.body for letter in letters] == [b"poison"]

    async def test_a_slow_message_does_not_hold_up_the_others(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        held, handled = asyncio.Event(), []

        async def handle(delivery: Delivery) -> Settle:
            if delivery.body == b"0":
                await held.wait()
            handled.append(delivery.body)
            return Ack()

        await broker.consume("placet.broker.requests", handle, prefetch=8)
        for n in range(30):
            await runner.publish(outgoing(body=str(n).encode()))
        await until(lambda: len(handled) == 29)
        held.set()
        await until(lambda: len(handled) == 30)
        assert handled[-1] == b"0"

    async def test_competing_consumers_share_the_messages(self, make_bus: MakeBus) -> None:
        runner = await make_bus(RUNNER)
        handlers = [Recorder(), Recorder()]
        for handler in handlers:
            handler.gate.clear()
            broker = await make_bus(BROKER)
            await broker.consume("placet.broker.requests", handler, prefetch=2)
        sent = [outgoing() for _ in range(20)]
        for message in sent:
            await runner.publish(message)
        await until(lambda: all(len(handler.seen) == 2 for handler in handlers))
        for handler in handlers:
            handler.gate.set()
        await until(lambda: sum(len(handler.seen) for handler in handlers) == 20)
        arrived = handlers[0].event_ids + handlers[1].event_ids
        assert sorted(arrived) == sorted(message.event_id for message in sent)

    async def test_no_more_than_the_prefetch_is_handled_at_once(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler = Recorder()
        handler.gate.clear()
        await broker.consume("placet.broker.requests", handler, prefetch=3)
        for _ in range(12):
            await runner.publish(outgoing())
        await until(lambda: handler.running == 3)
        handler.gate.set()
        await until(lambda: len(handler.seen) == 12)
        assert handler.most_at_once == 3

    async def test_stopping_lets_the_running_handler_settle(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        first, second, after = Recorder(), Recorder(), outgoing()
        first.gate.clear()
        consumption = await broker.consume("placet.broker.requests", first, prefetch=1)
        await runner.publish(outgoing())
        await until(lambda: first.running)
        stopping = asyncio.create_task(consumption.stop())
        await runner.publish(after)
        assert not stopping.done()
        first.gate.set()
        await stopping
        assert not consumption.alive
        await broker.consume("placet.broker.requests", second, prefetch=1)
        await until(lambda: second.seen)
        assert second.event_ids == [after.event_id]

    async def test_what_a_stopped_consumer_held_back_goes_to_another(
        self, make_bus: MakeBus
    ) -> None:
        runner, broker, other = (
            await make_bus(RUNNER),
            await make_bus(BROKER),
            await make_bus(BROKER),
        )
        first, second = Recorder(*[Later()] * 1000), Recorder()
        consumption = await broker.consume("placet.broker.requests", first, prefetch=1)
        await runner.publish(outgoing())
        await until(lambda: first.seen)
        await consumption.stop()
        await other.consume("placet.broker.requests", second, prefetch=1)
        await until(lambda: second.seen)
        assert second.event_ids == first.event_ids[:1]
        assert second.seen[0].redelivered

    async def test_events_reach_every_queue_whose_pattern_fits(self, make_bus: MakeBus) -> None:
        runner, broker, notifier = (
            await make_bus(RUNNER),
            await make_bus(BROKER),
            await make_bus(NOTIFIER),
        )
        ended, all_of_them = Recorder(), Recorder()
        await broker.consume("placet.broker.runs", ended, prefetch=4)
        await notifier.consume("placet.notifier.events", all_of_them, prefetch=4)
        keys = ["default.input.requested", "default.run.completed", "default.run.waiting"]
        for key in keys:
            await runner.publish(outgoing("placet.events", key))
        await until(lambda: len(all_of_them.seen) == 3 and ended.seen)
        assert [delivery.key for delivery in ended.seen] == ["default.run.completed"]
        assert sorted(delivery.key for delivery in all_of_them.seen) == sorted(keys)

    async def test_control_reaches_every_private_queue_and_needs_none(
        self, make_bus: MakeBus
    ) -> None:
        runner, other = await make_bus(RUNNER), await make_bus(RUNNER)
        await runner.publish(outgoing("placet.control", "cancel"))
        handlers = [Recorder(), Recorder()]
        for bus, handler in zip((runner, other), handlers, strict=True):
            await bus.consume(new_id("placet.runner.control.x"), handler, prefetch=4)
        await runner.publish(outgoing("placet.control", "cancel"))
        await until(lambda: all(handler.seen for handler in handlers))
        assert [len(handler.seen) for handler in handlers] == [1, 1]

    async def test_a_reply_goes_to_the_queue_it_names(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler, address = Recorder(), f"placet.reply.placet-runner.{new_id('q')}"
        consumption = await runner.consume(address, handler, prefetch=4)
        await broker.publish(outgoing("", address))
        await until(lambda: handler.seen)
        await consumption.stop()
        with pytest.raises(Unroutable):
            await broker.publish(outgoing("", address))

    async def test_a_message_that_nobody_is_bound_to_is_refused(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        with pytest.raises(Unroutable, match="nonsense"):
            await runner.publish(outgoing("placet.requests", "nonsense"))
        with pytest.raises(Unroutable, match=r"placet\.nowhere"):
            await runner.publish(outgoing("placet.nowhere", "confirm"))
        handler = Recorder()
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        await runner.publish(outgoing())
        await until(lambda: handler.seen)

    async def test_a_full_queue_refuses_and_loses_nothing(self, make_bus: MakeBus) -> None:
        runner = await make_bus(RUNNER)
        accepted: list[str] = []
        with pytest.raises(QueueFull):
            for _ in range(200):
                message = outgoing("placet.test", "tiny")
                await runner.publish(message)
                accepted.append(message.event_id)
        handler = Recorder()
        await runner.consume("placet.test.tiny", handler, prefetch=4)
        await until(lambda: set(accepted) <= set(handler.event_ids))

    async def test_a_message_over_the_limit_is_refused_and_its_neighbours_are_not(
        self, make_bus: MakeBus
    ) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        handler = Recorder()
        await broker.consume("placet.broker.requests", handler, prefetch=4)
        large = [outgoing(body=b"x" * size) for size in (1024 * 1024, 20_000_000)]
        small = [outgoing() for _ in range(5)]
        results = await asyncio.gather(
            *(runner.publish(message) for message in [*large, *small]), return_exceptions=True
        )
        assert [type(result) for result in results] == [type(None), TooLarge] + [type(None)] * 5
        await until(lambda: len(handler.seen) == 6)

    async def test_a_word_that_amqp_has_no_room_for_is_refused(self, make_bus: MakeBus) -> None:
        """Both buses refuse it at the publisher, before anything is sent."""
        runner = await make_bus(RUNNER)
        message = replace(outgoing(), correlation_id="é" * 200)
        with pytest.raises(TooLarge):
            await runner.publish(message)

    async def test_a_dead_command_can_be_tried_again(self, make_bus: MakeBus) -> None:
        runner = await make_bus(RUNNER)
        handler, sent = Recorder(Reject("a bug")), outgoing("placet.runs", "start")
        await runner.consume("placet.runner.runs", handler, prefetch=4)
        await runner.publish(sent)
        letter = (await dead_letters(runner, 1))[0]
        await runner.retry_dead(letter.id)
        await until(lambda: len(handler.seen) == 2)
        assert handler.event_ids == [sent.event_id] * 2
        assert (handler.seen[1].exchange, handler.seen[1].key) == ("placet.runs", "start")
        assert await runner.dead() == []

    async def test_a_dead_request_is_not_tried_again_but_dropped(self, make_bus: MakeBus) -> None:
        runner, broker = await make_bus(RUNNER), await make_bus(BROKER)
        await broker.consume(
            "placet.broker.requests", Recorder(Reject("one"), Reject("two")), prefetch=1
        )
        for _ in range(2):
            await runner.publish(outgoing())
        letters = await dead_letters(broker, 2)
        with pytest.raises(Conflict, match="sender"):
            await broker.retry_dead(letters[0].id)
        assert len(await broker.dead()) == 2
        await broker.drop_dead(letters[0].id)
        assert [letter.id for letter in await dead_letters(broker, 1)] == [letters[1].id]

    async def test_a_dead_letter_that_is_not_there_is_not_found(self, make_bus: MakeBus) -> None:
        broker = await make_bus(BROKER)
        with pytest.raises(NotFound):
            await broker.retry_dead("msg_none")
        with pytest.raises(NotFound):
            await broker.drop_dead("msg_none")

    async def test_an_open_bus_is_ready_and_a_closed_one_is_unavailable(
        self, make_bus: MakeBus
    ) -> None:
        broker = await make_bus(BROKER)
        consumption = await broker.consume("placet.broker.requests", Recorder(), prefetch=1)
        assert (broker.user, broker.ready(), consumption.alive) == (BROKER, [], True)
        await broker.probe()
        await broker.probe()
        await broker.close()
        assert broker.ready()
        with pytest.raises(Unavailable):
            await broker.publish(outgoing())
        with pytest.raises(Unavailable):
            await broker.probe()
