"""What both buses do from a delivery to its settlement: bounded tries, pauses, no loose ends."""

import asyncio
import random
import traceback

import structlog

from placet.bus.port import Delivery, Handler, Later, Reject, Settle
from placet.clock import Clock
from placet.errors import Unavailable

TRIES = 3
"""How often a handler may raise on one delivery before the message is dead."""
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0
LONGEST_HOLD = 1200.0
"""Seconds a delivery is held for `Later`; then it is requeued, which counts against the limit.

RabbitMQ closes a channel that leaves a delivery unsettled for 30 minutes.
"""

LONGEST_REASON = 1000
LONGEST_TRACE = 4000
"""Characters."""

_log = structlog.get_logger(__name__)


class Pause:
    """Holds a consumer's handlers back after a `Later`; grows, and ends at a success."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._length = 0.0
        self._until = 0.0
        self.over = asyncio.Event()
        """Set when the consumer stops: nobody waits any longer."""

    async def wait(self) -> None:
        """Return when handling may go on, or the consumer stops."""
        left = self._until - self._clock.monotonic()
        if left <= 0 or self.over.is_set():
            return
        sleeping = asyncio.ensure_future(self._clock.sleep(left))
        stopping = asyncio.ensure_future(self.over.wait())
        try:
            await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            stopping.cancel()

    def extend(self) -> None:
        """One more `Later`: handlers that share the pause lengthen it once, not once each."""
        if self._clock.monotonic() >= self._until:
            self._length = min(LONGEST_PAUSE, max(FIRST_PAUSE, self._length * 2))
            jitter = random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
            self._until = self._clock.monotonic() + self._length * jitter

    def reset(self) -> None:
        """Something went through."""
        self._length = self._until = 0.0


class Handling:
    """Calls one consumer's handler and always comes back with a settlement."""

    def __init__(self, queue: str, handler: Handler, clock: Clock) -> None:
        self._queue = queue
        self._handler = handler
        self._clock = clock
        self.pause = Pause(clock)

    async def settle(self, delivery: Delivery) -> Settle:
        """Ack or Reject; Later only when the hold ran out or the consumer stops: back to the queue.

        Raises nothing but CancelledError.
        """
        if not delivery.user_id:
            return Reject("no valid user_id")
        held_since: float | None = None
        while True:
            await self.pause.wait()
            if self.pause.over.is_set():
                return Later()
            settled = await self._bounded(delivery)
            if not isinstance(settled, Later):
                self.pause.reset()
                return settled
            self.pause.extend()
            held_since = self._clock.monotonic() if held_since is None else held_since
            if self._clock.monotonic() - held_since > LONGEST_HOLD:
                return settled

    async def _bounded(self, delivery: Delivery) -> Settle:
        for attempt in range(1, TRIES + 1):
            try:
                return await self._handler(delivery)
            except Unavailable as error:
                _log.warning("handler_waits", queue=self._queue, reason=str(error))
                return Later()
            except Exception as error:  # noqa: BLE001 - whatever it is, the delivery gets settled
                reason = f"{type(error).__name__}: {error}"[:LONGEST_REASON]
                self._complain(delivery, attempt, error)
                if attempt < TRIES and not self.pause.over.is_set():
                    await self._clock.sleep(FIRST_PAUSE * attempt)
        return Reject(reason)

    def _complain(self, delivery: Delivery, attempt: int, error: Exception) -> None:
        _log.error(
            "handler_raised",
            queue=self._queue,
            type=delivery.type,
            event_id=delivery.event_id,
            attempt=attempt,
            # As text and cut short: a renderer that adds the locals would show message bodies.
            trace="".join(traceback.format_exception(error))[-LONGEST_TRACE:],
        )
