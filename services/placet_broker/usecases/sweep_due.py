"""The broker's clockwork: expires what nobody answered, publishes what was left behind."""

from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer, Outbox
from placet_broker.rules.record import Record

BATCH = 100


class SweepDue:
    """B5 and the outbox sweep, for whatever is due. Several brokers at once are harmless."""

    def __init__(self, interactions: Interactions, outbox: Outbox, metrics: Observer) -> None:
        self._interactions = interactions
        self._outbox = outbox
        self._metrics = metrics

    async def __call__(self) -> int:
        """Handle what is due, the longest first; how many there were (at most 100). Raises Unavailable."""
        found = await self._interactions.due(BATCH)
        for record in found:
            await self._handle(record)
        return len(found)

    async def _handle(self, record: Record) -> None:
        expired = await self._interactions.expire(record) if record.pending else None
        if expired is not None:
            crash_point("expire.done")
            self._metrics.ended(expired)
        current = expired or record
        if not await self._outbox.send(current):
            await self._interactions.postpone(current)
