"""What the runner does by itself: sweeping."""

import asyncio
from collections.abc import Awaitable, Callable

from placet.clock import Clock
from placet.errors import PlacetError
from placet.process import logs
from placet_runner.usecases.sweep import BATCH, Sweep

MINUTE = 60.0

_log = logs.get(__name__)


class SweepJob:
    """Sweeps again and again until stopped; a failing sweep waits for the next turn."""

    def __init__(
        self,
        sweep: Sweep,
        clock: Clock,
        every: float,
        each_minute: Callable[[], Awaitable[None]],
    ) -> None:
        self._sweep = sweep
        self._clock = clock
        self._every = every
        self._each_minute = each_minute
        self._minute_at = clock.monotonic() + MINUTE
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, once."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Stop at once; a sweep may be cut off anywhere."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def ready(self) -> list[str]:
        """Why it is not ready."""
        return ["the sweep has stopped"] if self._task is None or self._task.done() else []

    async def _run(self) -> None:
        while True:
            found = 0
            try:
                found = await self._sweep.once()
                if self._clock.monotonic() > self._minute_at:
                    self._minute_at = self._clock.monotonic() + MINUTE
                    await self._each_minute()
            except PlacetError as error:
                _log.warning("sweep_waits", reason=str(error))
            except Exception:  # noqa: BLE001 - the net must not be torn by one run
                _log.exception("sweep_crashed")
            await self._clock.sleep(self._every if found < BATCH else self._every / 10)
