"""What the use cases need from outside: the interactions, and the way out for messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from placet import audit
from placet.bus.port import Outgoing
from placet.domain.freeze import Freeze
from placet_broker.rules.record import Address, Claim, Link, Record
from placet_broker.rules.settling import Settlement
from placet_broker.rules.voting import Ballot


@dataclass(frozen=True, slots=True)
class Query:
    """Which interactions to list: one namespace, and what narrows it."""

    namespace: str
    state: str | None = None
    all_of: tuple[str, ...] = ()
    """Words of `rules.finding`, each of which it must have."""
    any_of: tuple[str, ...] = ()
    """Words of which one is enough."""
    after: tuple[datetime, str] | None = None
    """Go on behind this (opened_at, id)."""
    limit: int = 50
    oldest_first: bool = False
    """Whatever the state; pending ones are oldest first in any case."""
    since: datetime | None = None
    """Opened at or after this."""
    until: datetime | None = None
    """Opened before this."""


@dataclass(frozen=True, slots=True)
class Trail:
    """One interaction as it is kept, with its chain: texts as they were written."""

    id: str
    opened_at: datetime
    facts: Mapping[str, Any]
    """Namespace, kind, state, rev, digest, publisher, run_id, refused, refused_count and so on."""
    history: Sequence[Mapping[str, Any]]
    request: str
    outcome: str

    def disagreements(self) -> list[str]:
        """Where it is not what its chain says."""
        kept = self.history, self.request, self.outcome, self.facts["rev"]
        return audit.disagreements(*kept, self.facts["resolution"])

    def line(self) -> dict[str, Any]:
        """As a line of an export."""
        own = {"id": self.id, "opened_at": self.opened_at, "history": list(self.history)}
        return {**self.facts, **own, "request": self.request, "outcome": self.outcome}


class Interactions(Protocol):
    """The interactions, one conditional write a method; None means that nothing matched.

    Every method raises Unavailable while the database is away; a write may have happened then, and
    doing it again is harmless.
    """

    async def get(self, id: str) -> Record | None:
        """The record, from the primary."""

    async def open(self, record: Record) -> bool:
        """B1: insert; False if the id is taken."""

    async def settle(self, record: Record, settlement: Settlement) -> Record | None:
        """B3: end it if it is as `record` has it, and its deadline has not passed by the database's clock."""

    async def vote(self, record: Record, ballot: Ballot) -> Record | None:
        """B4: keep the votes as they stand with one more, under the same condition; it stays pending."""

    async def settle_all(
        self, parts: Sequence[tuple[Record, Settlement | Ballot]]
    ) -> list[Record | None]:
        """B10: B3 or B4 for each in one transaction, or for none of them.

        The records as they are then, in the order given; if any did not match, nothing was written
        and None stands in the place of each that did not.
        """

    async def extend(self, record: Record, expires_at: datetime, by: str) -> Record | None:
        """Move the deadline, if it is as `record` has it and the old one has not passed."""

    async def thaw(self, record: Record, expires_at: datetime, now: datetime) -> Record | None:
        """Move the deadline by the time under a freeze up to now, if it is as `record` has it."""

    async def expire(self, record: Record, at: datetime | None = None) -> Record | None:
        """B5: end it as expired if it is as `record` has it, and that time, else its deadline, has passed."""

    async def remind(self, record: Record, at: datetime, number: int) -> Record | None:
        """Tell those who may answer again, for the time of this `number` (from 1), under that condition."""

    async def climb(self, record: Record, at: datetime, after: Record) -> Record | None:
        """An escalation step, which leads to `after`, under the same condition."""

    async def edit_audience(self, record: Record, after: Record, by: str) -> Record | None:
        """Other approvers, as `after` has them, if it is pending and as `record` has it."""

    async def claim(self, record: Record, claim: Claim | None, by: str) -> Record | None:
        """B7: note who is looking at it, or that they let it go, if it is as `record` has it."""

    async def relink(
        self, record: Record, links: Sequence[Link], what: str, by: str | None, link: str
    ) -> Record | None:
        """B7: these links from now on, with `what` happened to the link of that id in the history.

        `by` is None where nobody knows who it was.
        """

    async def close(self, record: Record, settlement: Settlement) -> Record | None:
        """B6: end it because the asker no longer asks, if it is as `record` has it."""

    async def bury(self, tombstone: Record) -> bool:
        """B6 for an unknown id: a tombstone; False if the id is taken after all."""

    async def note(self, record: Record, what: str, by: str) -> Record | None:
        """B7: one history entry, if it is as `record` has it."""

    async def refuse(self, record: Record, who: str, why: str) -> None:
        """A refused try, kept beside the history: at most 100, with a count."""

    async def mark_applied(self, record: Record) -> Record | None:
        """B8: the run has acted on the resolution, if it is as `record` has it."""

    async def forget(self, record: Record) -> Record | None:
        """B9: the body goes, id, digest, state and resolution stay; only settled and done with."""

    async def readdress(self, record: Record, address: Address) -> Record | None:
        """Reply to another address than the first, while it is pending."""

    async def trail(self, id: str) -> Trail | None:
        """One interaction with its chain."""

    async def trails(self, query: Query) -> list[Trail]:
        """The same of a list, oldest first."""

    async def find(self, query: Query) -> list[Record]:
        """Pending ones oldest first, others newest first."""

    async def due(self, limit: int) -> list[Record]:
        """Those whose outbox, deadline or retention has waited too long, the longest first.

        One that can't be read is left out and put off.
        """

    async def overdue(self, limit: int) -> list[Record]:
        """Of those, the ones that are pending and past their deadline."""

    async def next_due(self) -> float:
        """Seconds until the next becomes due; infinite if none will."""

    async def postpone(self, record: Record, pause: timedelta | None = None) -> None:
        """Look at this one again later; without a `pause`, the later the older it is."""


class Freezes(Protocol):
    """What operators keep from starting."""

    async def since(self, namespace: str, at: datetime) -> Sequence[Freeze]:
        """Those that were active at that time or after it. Raises Unavailable."""


class Outbox(Protocol):
    """The way out for what a write left in a record's outbox."""

    def post(self, record: Record) -> None:
        """Publish its outbox in the background, right after the write."""

    async def send(self, record: Record) -> bool:
        """Publish its outbox; whether all of it was confirmed. With an empty one, find its next due time."""

    def away(self) -> bool:
        """Whether the bus as a whole has something to complain of."""

    async def again(self, record: Record, entries: Sequence[dict[str, Any]]) -> None:
        """Publish entries that are not in the outbox any more. Raises Unavailable: not confirmed."""

    async def publish(self, message: Outgoing) -> None:
        """Publish one message. Raises as the bus does."""


class Observer(Protocol):
    """Who counts what happens; never fails."""

    def opened(self, record: Record) -> None:
        """A question was opened."""

    def ended(self, record: Record) -> None:
        """A question has ended."""

    def answered(self, channel: str, outcome: str) -> None:
        """An answer arrived: `settled`, `same`, or the code of the error."""
