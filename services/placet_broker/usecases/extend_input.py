"""Somebody who may answer gives a question more time."""

from datetime import datetime

from placet.clock import Clock
from placet.domain.person import Person
from placet.errors import Unavailable
from placet.process.caller import Caller
from placet_broker.ports import Interactions
from placet_broker.rules import deadlines
from placet_broker.rules.record import Record
from placet_broker.usecases.answer_input import TRIES
from placet_broker.usecases.endings import Endings
from placet_broker.usecases.submission import Checks, settled_otherwise


class ExtendInput:
    """Moves a deadline later, at most to 30 days from now; who did it stands in the history."""

    def __init__(
        self, interactions: Interactions, clock: Clock, checks: Checks, endings: Endings
    ) -> None:
        self._interactions = interactions
        self._clock = clock
        self._checks = checks
        self._endings = endings

    async def __call__(
        self, input_id: str, to: datetime, caller: Caller, named: Person | None
    ) -> Record:
        """The interaction with its new deadline. To the deadline that it has already is fine.

        Raises:
            NotFound, NotAllowed: as for an answer: who may not answer may not extend either.
            Invalid: it has no deadline, or this one is earlier, or more than 30 days away.
            Conflict: it has settled, or expired; `body["input"]` is the input.
            Unavailable: nothing is certain; the same may be sent again.
        """
        record = await self._checks.find(input_id)
        to = deadlines.kept(to, "/expires_at")
        for _ in range(TRIES):
            who = await self._checks.who(record, caller, named)
            if not record.pending:
                raise settled_otherwise(record)
            deadlines.check_extension(record, to, self._clock.now())
            if to == record.expires_at:
                return record
            extended = await self._interactions.extend(record, to, who.person.id)
            if extended is not None:
                return extended
            # Whatever came between, all is checked again.
            record = await self._endings.after_miss(record)
        raise Unavailable(f"{input_id} changes all the time; try again")
