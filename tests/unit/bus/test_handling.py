"""From a delivery to its settlement: bounded tries and holds, on a clock turned by hand."""

import asyncio
from datetime import UTC, datetime

from placet.bus.handling import LONGEST_HOLD, LONGEST_PAUSE, TRIES, Handling
from placet.bus.port import Ack, Delivery, Later, Reject, Settle
from placet.errors import QueueFull, Unavailable


class JumpingClock:
    """Sleeping moves it; nobody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


def delivery(user_id: str | None = "placet-runner") -> Delivery:
    return Delivery(
        exchange="placet.runs",
        key="start",
        type="placet.test.v1",
        body=b"{}",
        event_id="evt_1",
        correlation_id=None,
        user_id=user_id,
        reply_to=None,
        headers={},
        redelivered=False,
        timestamp=None,
        message_id="msg_1",
    )


class Handler:
    """Gives its answers in turn, and the last one for ever."""

    def __init__(self, *answers: Settle | Exception) -> None:
        self.calls = 0
        self._answers = list(answers)

    async def __call__(self, _: Delivery) -> Settle:
        self.calls += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_handler_gets_a_bounded_number_of_tries() -> None:
    handler = Handler(ValueError("no such kind"))
    settled = await Handling("placet.runner.runs", handler, JumpingClock()).settle(delivery())
    assert settled == Reject("ValueError: no such kind")
    assert handler.calls == TRIES


async def test_a_message_without_a_user_never_reaches_the_handler() -> None:
    handler = Handler(Ack())
    handling = Handling("placet.runner.runs", handler, JumpingClock())
    for user_id in (None, ""):
        assert await handling.settle(delivery(user_id)) == Reject("no valid user_id")
    assert handler.calls == 0


async def test_later_is_held_in_place_with_growing_pauses() -> None:
    clock, handler = JumpingClock(), Handler(*[Later()] * 20, Ack())
    assert await Handling("placet.runner.runs", handler, clock).settle(delivery()) == Ack()
    assert handler.calls == 21
    assert clock.slept[0] < 0.06
    assert LONGEST_PAUSE / 2 <= clock.slept[-1] <= LONGEST_PAUSE


async def test_a_hold_ends_before_rabbitmq_would_close_the_channel() -> None:
    clock = JumpingClock()
    settled = await Handling("placet.runner.runs", Handler(Later()), clock).settle(delivery())
    assert settled == Later()
    assert LONGEST_HOLD < clock.seconds < 30 * 60


async def test_any_server_that_is_away_means_later() -> None:
    handler = Handler(Unavailable("MongoDB is away"), QueueFull("full"), Ack())
    handling = Handling("placet.runner.runs", handler, JumpingClock())
    assert await handling.settle(delivery()) == Ack()
    assert handler.calls == 3


async def test_a_stopping_consumer_gives_back_what_it_holds() -> None:
    clock = JumpingClock()
    handling = Handling("placet.runner.runs", Handler(Later()), clock)
    held = asyncio.create_task(handling.settle(delivery()))
    await asyncio.sleep(0)
    handling.pause.over.set()
    assert await held == Later()
    assert clock.seconds < LONGEST_HOLD


async def test_a_later_holds_the_neighbours_back_too() -> None:
    clock = JumpingClock()
    handler = Handler(Later(), Ack())
    handling = Handling("placet.runner.runs", handler, clock)
    assert [await handling.settle(delivery()) for _ in range(2)] == [Ack(), Ack()]
    assert len(clock.slept) == 1


async def test_the_reason_of_a_reject_is_bounded() -> None:
    handler = Handler(ValueError("x" * 100_000))
    settled = await Handling("placet.runner.runs", handler, JumpingClock()).settle(delivery())
    assert isinstance(settled, Reject)
    assert len(settled.reason) <= 1000
