"""The broker's timer: looks for what is due, sleeps until the next, never spins."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta

from placet.clock import Clock
from placet.errors import PlacetError
from placet.process import logs
from placet.process.backoff import waits
from placet_broker.ports import Interactions
from placet_broker.usecases.sweep_due import BATCH, SweepDue

SHORTEST = 0.05
MINUTE = 60.0

_log = logs.get(__name__)


class DueTimer:
    """Runs the sweep for as long as the service does, and what is to be done each minute."""

    def __init__(
        self,
        sweep: SweepDue,
        interactions: Interactions,
        clock: Clock,
        each_minute: Callable[[], Awaitable[None]],
        *,
        poll_seconds: float,
    ) -> None:
        self._sweep = sweep
        self._interactions = interactions
        self._clock = clock
        self._poll = poll_seconds
        self._each_minute = each_minute
        self._minute_at = clock.monotonic() + MINUTE
        self._failing = _pauses()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End; a write that is under way is not taken back."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    def ready(self) -> list[str]:
        """Why the timer does not run."""
        running = self._task is not None and not self._task.done()
        return [] if running else ["the timer does not run"]

    async def _run(self) -> None:
        while True:
            try:
                pause = await self._round()
            except PlacetError as error:
                _log.warning("sweep_failed", reason=str(error))
                pause = next(self._failing)
            except Exception as error:  # noqa: BLE001 - the timer outlives whatever one round met
                _log.error("sweep_crashed", exc_info=error)
                pause = next(self._failing)
            await self._clock.sleep(pause)

    async def _round(self) -> float:
        """Handle what is due; how long nothing needs to be done, or should be after failures."""
        if self._clock.monotonic() > self._minute_at:
            self._minute_at = self._clock.monotonic() + MINUTE
            await self._each_minute()
        swept = await self._sweep()
        if swept.failed:
            return next(self._failing)
        self._failing = _pauses()
        if swept.found >= BATCH:
            return SHORTEST
        return max(SHORTEST, min(self._poll, await self._interactions.next_due()))


def _pauses() -> Iterator[float]:
    return waits(timedelta(milliseconds=200), timedelta(seconds=5))
