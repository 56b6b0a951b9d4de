"""The broker's clockwork: expires, publishes what was left behind, forgets what is long over."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from placet.clock import Clock
from placet.process import logs
from placet_broker.ports import Interactions, Outbox
from placet_broker.rules.record import Record
from placet_broker.usecases.endings import Endings

BATCH = 100
AT_ONCE = 16
UNAPPLIED = timedelta(days=1)
"""After which an old resolution is looked at again that its run has not acted on."""

STANDS_STILL = timedelta(seconds=30)
"""After which a question is looked at again whose deadline a freeze keeps from passing."""

_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """What a round met."""

    found: int
    """How many were due, at most 100 unless the bus was away."""
    failed: int
    """How many of them are still due, or were put off because something failed."""


class SweepDue:
    """B5, what time does before it, B9 and the outbox sweep. Several brokers at once are harmless.

    One record never stops the others: one that fails is put off. While the bus is away its
    outboxes stay due, a few are tried each round, and deadlines are kept all the same.
    """

    def __init__(
        self,
        interactions: Interactions,
        outbox: Outbox,
        endings: Endings,
        clock: Clock,
        *,
        retention: timedelta | None,
    ) -> None:
        self._interactions = interactions
        self._outbox = outbox
        self._endings = endings
        self._clock = clock
        self._retention = retention
        self._held = False
        """The bus was found away: outboxes wait, so they may hide deadlines behind them."""

    async def __call__(self) -> Swept:
        """Handle what is due, the longest first. Raises Unavailable if the database is away."""
        overdue = await self._interactions.overdue(BATCH) if self._held else []
        due = await self._interactions.due(BATCH)
        self._held = False
        records = list({record.id: record for record in (*overdue, *due)}.values())
        waiting = iter(records)
        failed = await asyncio.gather(
            *(self._work(waiting) for _ in range(AT_ONCE)), return_exceptions=True
        )
        for each in failed:
            if isinstance(each, BaseException):
                raise each
        return Swept(len(records), sum(each for each in failed if isinstance(each, int)))

    async def _work(self, waiting: Iterator[Record]) -> int:
        """Handle one after another; how many failed."""
        failed = 0
        for record in waiting:
            try:
                failed += not await self._handle(record)
            except Exception as error:  # noqa: BLE001 - one record never stops the others
                _log.exception("due_crashed", input_id=record.id, error=type(error).__name__)
                await self._interactions.postpone(record)
                failed += 1
        return failed

    async def _handle(self, record: Record) -> bool:
        """Whether it went as it should."""
        current = await self._endings.turn(record)
        if current is record and not record.outbox and await self._endings.frozen(record):
            await self._interactions.postpone(record, STANDS_STILL)
            return True
        if current.outbox:
            return not self._held and await self._publish(current)
        if not self._is_old(current):
            return await self._outbox.send(current)
        if await self._interactions.forget(current) is None:
            await self._interactions.postpone(current, UNAPPLIED)
        return True

    async def _publish(self, record: Record) -> bool:
        if await self._outbox.send(record):
            return True
        if self._outbox.away():
            self._held = True
        else:
            await self._interactions.postpone(record)
        return False

    def _is_old(self, record: Record) -> bool:
        """Whether it has been settled for longer than the retention."""
        if self._retention is None or record.resolution is None or not record.request_json:
            return False
        return record.resolution.at + self._retention <= self._clock.now()
