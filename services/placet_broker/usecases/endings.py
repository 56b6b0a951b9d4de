"""What follows a write that ended an interaction, and one that did not match."""

from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer, Outbox
from placet_broker.rules.record import Record
from placet_broker.usecases.stand_still import StandStill


class Endings:
    """Counts, tells, and finds out why a write missed."""

    def __init__(
        self,
        interactions: Interactions,
        outbox: Outbox,
        metrics: Observer,
        stand_still: StandStill,
    ) -> None:
        self._stand_still = stand_still
        self._interactions = interactions
        self._outbox = outbox
        self._metrics = metrics

    def settled(self, record: Record) -> None:
        """An answer settled it."""
        crash_point("settle.done")
        self._told(record)

    async def after_miss(self, record: Record) -> Record:
        """The record as it is now; if its deadline is why nothing matched, moved or expired here."""
        current = await self._interactions.get(record.id) or record
        if current.pending and current.rev == record.rev:
            spared = await self._stand_still.spare(current)
            if spared is not None:
                return spared
            expired = await self._interactions.expire(current)
            if expired is not None:
                self._told(expired)
                return expired
        return current

    def _told(self, record: Record) -> None:
        self._metrics.ended(record)
        self._outbox.post(record)
