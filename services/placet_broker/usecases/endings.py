"""What follows a write that ended an interaction, and what time does to one that is open."""

from dataclasses import replace
from datetime import datetime

from placet.clock import Clock
from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer, Outbox
from placet_broker.rules import escalating
from placet_broker.rules.record import Record
from placet_broker.rules.standing_still import BREATH, Standing
from placet_broker.rules.timing import Climb, Expiry, Reminder, next_turn, reminders_by
from placet_broker.usecases.people import People
from placet_broker.usecases.stand_still import StandStill


class Endings:
    """Counts, tells, turns the clock, and finds out why a write missed."""

    def __init__(
        self,
        interactions: Interactions,
        outbox: Outbox,
        clock: Clock,
        metrics: Observer,
        people: People,
        stand_still: StandStill,
    ) -> None:
        self._stand_still = stand_still
        self._interactions = interactions
        self._clock = clock
        self._outbox = outbox
        self._metrics = metrics
        self._people = people

    def settled(self, record: Record) -> None:
        """An answer settled it."""
        crash_point("settle.done")
        self._metrics.ended(record)
        self._outbox.post(record)

    async def after_miss(self, record: Record) -> Record:
        """The record as it is now; if it is its time that a write missed, that is done first."""
        current = await self._interactions.get(record.id) or record
        if not current.pending or current.rev != record.rev:
            return current
        turned = await self.turn(current, answering=True)
        if turned is not current:
            self._outbox.post(turned)
        return turned

    async def turn(self, record: Record, *, answering: bool = False) -> Record:
        """The record after what time does to it: reminders, steps, the end; the caller publishes.

        The same record if nothing is due, if it was changed meanwhile, or if a freeze keeps its time
        from passing. `answering`: an answer is to be written, and its deadline is moved for that.
        """
        while (
            record.pending
            and (turned := await self._turned(record, answering=answering)) is not None
        ):
            record = turned
        return record

    async def frozen(self, record: Record) -> bool:
        """Whether what time would do to it now is kept back by a freeze."""
        turn = next_turn(record)
        return turn is not None and await self._stand_still.of(record, turn.at) is not None

    async def _turned(self, record: Record, *, answering: bool) -> Record | None:
        """One turn, if the database's clock says that its time has come."""
        turn = next_turn(record)
        if turn is not None and not isinstance(turn, Reminder):
            held = await self._stand_still.of(record, turn.at)
            if held is not None:
                return await self._held(record, turn, held, answering=answering)
        match turn:
            case Expiry(at):
                return await self._expired(record, at)
            case Reminder(at):
                number = reminders_by(record, self._clock.now())
                return await self._interactions.remind(record, at, number)
            case Climb(at) as step:
                after = escalating.climbed(record, step)
                answerable = await self._people.can_be_met(after)
                after = replace(after, unanswerable=not answerable)
                written = await self._interactions.climb(record, at, after)
                if written is not None:
                    crash_point("climb.done")
                return written
            case None:
                return None

    async def _expired(self, record: Record, at: datetime) -> Record | None:
        """Counted here, where it is certain who ended it: an image may tell of others' later writes."""
        ended = await self._interactions.expire(record, at)
        if ended is not None:
            crash_point("expire.done")
            self._metrics.ended(ended)
        return ended

    async def _held(
        self, record: Record, turn: Expiry | Climb, held: Standing, *, answering: bool
    ) -> Record | None:
        """The question with the deadline that it has now, if that is what is kept back.

        One whose deadline stands still keeps it, but for an answer that is to be written.
        """
        if turn.at != record.expires_at or (held.still and not answering):
            return None
        to = max(held.at, held.now + BREATH) if held.still else held.at
        return await self._interactions.thaw(record, to, held.now)
