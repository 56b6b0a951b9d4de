"""What people do with a question besides answering it: look at it, give it time, name who may answer."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta

from placet.clock import Clock
from placet.domain.audience import MOST_NAMES
from placet.domain.naming import RULE, names
from placet.domain.person import Person
from placet.errors import FieldError, Invalid
from placet.process.caller import Caller, Scope
from placet_broker.ports import Interactions
from placet_broker.rules import answering, deadlines, escalating
from placet_broker.rules.record import Claim, Record
from placet_broker.usecases.endings import Endings
from placet_broker.usecases.submission import Checks, settled_otherwise
from placet_broker.usecases.tries import TRIES, busy

CLAIMED_FOR = timedelta(minutes=10)

Change = Callable[[Record], Awaitable[Record | None]]


class AttendInput:
    """Claims, releases, more time, and audiences; each leaves an entry in the history."""

    def __init__(
        self, interactions: Interactions, clock: Clock, checks: Checks, endings: Endings
    ) -> None:
        self._interactions = interactions
        self._clock = clock
        self._checks = checks
        self._endings = endings

    async def claim(self, input_id: str, caller: Caller, named: Person | None) -> Record:
        """Show for ten minutes that somebody looks at it; others may answer all the same.

        Claiming it again begins anew, and somebody else's claim takes the place of the first.

        Raises:
            NotFound, NotAllowed, Invalid: as for an answer: who may not answer claims nothing.
            Conflict: it has settled; `body["input"]` is the input.
            Unavailable: nothing is certain; the same may be sent again.
        """
        until = self._clock.now() + CLAIMED_FOR

        async def change(current: Record) -> Record | None:
            who = await self._who(current, caller, named)
            return await self._interactions.claim(current, Claim(who, until), who)

        return await self._change(await self._checks.find(input_id), change)

    async def release(self, input_id: str, caller: Caller, named: Person | None) -> Record:
        """Take a claim back; nobody's, or somebody else's, stays as it is. Raises as `claim`."""

        async def change(current: Record) -> Record | None:
            who = await self._who(current, caller, named)
            if current.claim is None or current.claim.by != who:
                return current
            return await self._interactions.claim(current, None, who)

        return await self._change(await self._checks.find(input_id), change)

    async def extend(
        self, input_id: str, caller: Caller, named: Person | None, to: datetime
    ) -> Record:
        """Move the deadline later, at most to 30 days from now. To the one that it has already is fine.

        Raises as `claim`, and Invalid: it has no deadline, or this one is earlier, or too far away.
        """
        to = deadlines.kept(to, "/expires_at")

        async def change(current: Record) -> Record | None:
            who = await self._who(current, caller, named)
            deadlines.check_extension(current, to, self._clock.now())
            if to == current.expires_at:
                return current
            return await self._interactions.extend(current, to, who)

        return await self._change(await self._checks.find(input_id), change)

    async def edit_audience(
        self, input_id: str, caller: Caller, add: Collection[str], remove: Collection[str]
    ) -> Record:
        """Name other approvers; votes of those who are not among them any more are gone.

        Raises:
            NotFound: there is none, or the caller may not see it.
            NotAllowed: without the scope `operate`.
            Invalid: a name that can't be one, too many, or nobody left: anybody could answer then.
            Conflict: it has settled; `body["input"]` is the input.
        """
        record = await self._checks.find(input_id)
        if not answering.may_read(record, caller):
            raise answering.unknown(input_id)
        caller.need(Scope.OPERATE)
        _check_names(add)

        async def change(current: Record) -> Record | None:
            _check_pending(current)
            current.check_room(caller.id)
            after = escalating.with_audience(current, add, remove, current.votes)
            _check_audience(current, after)
            votes = await self._checks.people.standing_votes(after)
            answerable = await self._checks.people.can_be_met(after)
            after = replace(after, votes=votes, unanswerable=not answerable)
            return await self._interactions.edit_audience(current, after, caller.id)

        return await self._change(record, change)

    async def _who(self, record: Record, caller: Caller, named: Person | None) -> str:
        """Who does it: somebody who may answer, of a question that is open. Raises as `claim`."""
        who = (await self._checks.who(record, caller, named)).person.id
        _check_pending(record)
        record.check_room(who)
        return who

    async def _change(self, record: Record, change: Change) -> Record:
        """Change it as it is now; whatever came between, all is checked again."""
        for _ in range(TRIES):
            changed = await change(record)
            if changed is not None:
                return changed
            record = await self._endings.after_miss(record)
        raise busy(record.id)


def _check_pending(record: Record) -> None:
    if not record.pending:
        raise settled_otherwise(record)


def _check_names(add: Collection[str]) -> None:
    errors = [FieldError(f"/add/{n}", RULE) for n, name in enumerate(add) if not names(name)]
    if errors:
        raise Invalid(f"add: a name {RULE}", errors)


def _check_audience(before: Record, after: Record) -> None:
    if len(after.audience.approvers) > MOST_NAMES:
        detail = f"an input has at most {MOST_NAMES} approvers"
        raise Invalid(detail, [FieldError("/add", detail)])
    if before.audience.names_somebody and not after.audience.names_somebody:
        detail = "nobody would be left, and then anybody could answer; name somebody else first"
        raise Invalid(detail, [FieldError("/remove", detail)])
