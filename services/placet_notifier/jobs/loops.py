"""The delivery loop and the retention loop; neither spins."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from placet.clock import Clock
from placet.errors import PlacetError
from placet.process import logs
from placet.process.backoff import waits
from placet_notifier.ports import Deliveries
from placet_notifier.rules.delivery import Delivery, chosen

SHORTEST = 0.02
GRACE = 12.0
"""Seconds that tries under way may still take at a stop."""
FORGET_EVERY = 60.0
FORGET_AT_ONCE = 500

_log = logs.get(__name__)


class Loop:
    """Calls a round again and again, each time after the pause that the last one asked for."""

    def __init__(self, name: str, one_round: Callable[[], Awaitable[float]], clock: Clock) -> None:
        self._name = name
        self._round = one_round
        self._clock = clock
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, once."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End; a write that is under way is not taken back."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    def wake(self) -> None:
        """Do not wait any longer."""
        self._woken.set()

    def ready(self) -> list[str]:
        """Why it does not run."""
        running = self._task is not None and not self._task.done()
        return [] if running else [f"the {self._name} loop does not run"]

    async def _run(self) -> None:
        failing = waits(timedelta(milliseconds=200), timedelta(seconds=10))
        while True:
            self._woken.clear()
            try:
                pause = await self._round()
                failing = waits(timedelta(milliseconds=200), timedelta(seconds=10))
            except PlacetError as error:
                _log.warning("round_failed", loop=self._name, reason=str(error))
                pause = next(failing)
            except Exception as error:  # noqa: BLE001 - the loop outlives whatever one round met
                _log.error("round_crashed", loop=self._name, exc_info=error)
                pause = next(failing)
            await self._wait(pause)

    async def _wait(self, pause: float) -> None:
        woken = asyncio.ensure_future(self._woken.wait())
        slept = asyncio.ensure_future(self._clock.sleep(pause))
        try:
            await asyncio.wait({woken, slept}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            slept.cancel()


class Sending:
    """Takes due deliveries and sends them: so many at once, and only some of them to one endpoint."""

    def __init__(
        self,
        deliver: Callable[[Delivery], Awaitable[None]],
        deliveries: Deliveries,
        clock: Clock,
        *,
        slots: int,
        slots_each: int,
        poll: float,
    ) -> None:
        self._deliver = deliver
        self._deliveries = deliveries
        self._slots = slots
        self._slots_each = slots_each
        self._poll = poll
        self._under_way: set[asyncio.Task[None]] = set()
        self._to: Counter[str] = Counter()
        self.loop = Loop("delivery", self._round, clock)

    async def stop(self) -> None:
        """Take nothing more; give what is under way some time, the rest is sent again later."""
        await self.loop.stop()
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _round(self) -> float:
        free = self._slots - len(self._under_way)
        if free <= 0:
            return self._poll
        busy = [endpoint for endpoint, n in self._to.items() if n >= self._slots_each]
        found = await self._deliveries.due(without=busy, limit=free)
        if not found:
            return await self._until_next(busy)
        claimed = await self._claim(chosen(found, self._to, self._slots_each))
        for delivery in claimed:
            self._begin(delivery)
        return 0 if claimed else SHORTEST

    async def _claim(self, ids: Sequence[str]) -> list[Delivery]:
        results = await asyncio.gather(
            *(self._deliveries.claim(id) for id in ids), return_exceptions=True
        )
        for result in results:
            if isinstance(result, PlacetError):
                _log.warning("claim_failed", reason=str(result))
        return [result for result in results if isinstance(result, Delivery)]

    async def _until_next(self, busy: Sequence[str]) -> float:
        wait = await self._deliveries.next_due(without=busy)
        return self._poll if wait is None else min(self._poll, max(SHORTEST, wait.total_seconds()))

    def _begin(self, delivery: Delivery) -> None:
        self._to[delivery.endpoint_id] += 1
        task = asyncio.get_running_loop().create_task(self._try(delivery))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _try(self, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery)
        except PlacetError as error:
            # The claim runs out, and it is sent again under the same id.
            _log.warning("delivery_not_recorded", delivery=delivery.id, reason=str(error))
        except Exception as error:  # noqa: BLE001 - one delivery must not end the others
            _log.error("delivery_crashed", delivery=delivery.id, exc_info=error)
        finally:
            self._to[delivery.endpoint_id] -= 1
            if self._to[delivery.endpoint_id] <= 0:
                with contextlib.suppress(KeyError):
                    del self._to[delivery.endpoint_id]
            self.loop.wake()


class Retention:
    """Forgets what is past its time, in portions."""

    def __init__(self, forgetters: Sequence[Callable[..., Awaitable[int]]], clock: Clock) -> None:
        self._forgetters = forgetters
        self.loop = Loop("retention", self._round, clock)

    async def _round(self) -> float:
        found = [await forget(limit=FORGET_AT_ONCE) for forget in self._forgetters]
        return SHORTEST if max(found) >= FORGET_AT_ONCE else FORGET_EVERY
