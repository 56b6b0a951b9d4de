"""Waiting for a run to stand still: woken by this replica, polled for where another holds it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from placet.clock import Clock
from placet.domain.run import RunStatus
from placet_runner.ports import Image, Runs
from placet_runner.rules.families import children_of
from placet_runner.rules.runs import is_child

_FIRST_LOOK = 0.05
_LONGEST_LOOK = 0.5


class Watch:
    """Who in this process waits for which run."""

    def __init__(self, runs: Runs, clock: Clock) -> None:
        self._runs = runs
        self._clock = clock
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def moved(self, run_id: str) -> None:
        """This replica let go of the run: whoever waits for it looks again."""
        for event in self._waiting.get(run_id, ()):
            event.set()

    async def stands(self, image: Image, seconds: float, settled: str | None) -> Image:
        """The run once it and the runs below it stand still, or as it is after that time.

        With `settled`, they do not stand still while that input is open. Once it is not, a run that
        waits for nothing else is about to be taken up.
        """
        until = self._clock.monotonic() + seconds
        pause = _FIRST_LOOK
        with self._event(image.id) as event:
            while (left := until - self._clock.monotonic()) > 0:
                if _stands(image, settled) and await self._quiet(image, settled):
                    break
                await _either(event, min(pause, left))
                event.clear()
                pause = min(pause * 1.5, _LONGEST_LOOK)
                image = await self._runs.get(image.id) or image
        return image

    async def _quiet(self, image: Image, settled: str | None) -> bool:
        """Whether the runs below stand still too, and none of them is to begin or to tell its end."""
        if not image.status.live or not any(map(is_child, image.open)):
            return True
        below = await family(self._runs, image)
        awaited = {e["id"] for each in (image, *below) for e in children_of(each.open)}
        return awaited <= {each.id for each in below} and all(_stands(e, settled) for e in below)

    @contextmanager
    def _event(self, run_id: str) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        waiting = self._waiting.setdefault(run_id, set())
        waiting.add(event)
        try:
            yield event
        finally:
            waiting.discard(event)
            if not waiting:
                self._waiting.pop(run_id, None)


async def family(runs: Runs, image: Image) -> list[Image]:
    """The live runs below a run, nearest first."""
    found: list[Image] = []
    level = [image]
    while level:
        ids = [e["id"] for each in level for e in children_of(each.open)]
        read = [await runs.get(run_id) for run_id in ids]
        level = [child for child in read if child is not None and child.status.live]
        found += level
    return found


def _stands(image: Image, settled: str | None) -> bool:
    if settled is not None and image.status.live and any(e["id"] == settled for e in image.open):
        return False
    if image.status is RunStatus.INPUT_REQUIRED:
        closing = any(entry["closing"] for entry in image.open)  # the broker is about to say so
        return bool(image.open) and not image.wake and not closing  # else somebody takes it up
    return not image.status.live


async def _either(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
