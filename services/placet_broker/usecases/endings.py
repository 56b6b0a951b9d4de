"""What follows a write that ended an interaction, and what time does to one that is open."""

from dataclasses import replace

from placet.clock import Clock
from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer, Outbox
from placet_broker.rules import escalating
from placet_broker.rules.record import Record
from placet_broker.rules.timing import Climb, Expiry, Reminder, next_turn, reminders_by
from placet_broker.usecases.people import People


class Endings:
    """Counts, tells, turns the clock, and finds out why a write missed."""

    def __init__(
        self,
        interactions: Interactions,
        outbox: Outbox,
        clock: Clock,
        metrics: Observer,
        people: People,
    ) -> None:
        self._interactions = interactions
        self._clock = clock
        self._outbox = outbox
        self._metrics = metrics
        self._people = people

    def settled(self, record: Record) -> None:
        """An answer settled it."""
        crash_point("settle.done")
        self._told(record)

    async def after_miss(self, record: Record) -> Record:
        """The record as it is now; if it is its time that a write missed, that is done first."""
        current = await self._interactions.get(record.id) or record
        if not current.pending or current.rev != record.rev:
            return current
        turned = await self.turn(current)
        if turned is not current:
            self._outbox.post(turned)
        return turned

    async def turn(self, record: Record) -> Record:
        """The record after what time does to it: reminders, steps, the end; the caller publishes.

        The same record if nothing is due, or if it was changed meanwhile.
        """
        while record.pending and (turned := await self._turned(record)) is not None:
            record = turned
            if not record.pending:
                crash_point("expire.done")
                self._metrics.ended(record)
        return record

    async def _turned(self, record: Record) -> Record | None:
        """One turn, if the database's clock says that its time has come."""
        match next_turn(record):
            case Expiry(at):
                return await self._interactions.expire(record, at)
            case Reminder(at):
                number = reminders_by(record, self._clock.now())
                return await self._interactions.remind(record, at, number)
            case Climb(at) as step:
                after = escalating.climbed(record, step)
                answerable = await self._people.can_be_met(after)
                after = replace(after, unanswerable=not answerable)
                return await self._interactions.climb(record, at, after)
            case None:
                return None

    def _told(self, record: Record) -> None:
        self._metrics.ended(record)
        self._outbox.post(record)
