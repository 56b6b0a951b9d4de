"""A held run: what has happened since the last write, and the writes themselves."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from placet.clock import Clock
from placet.errors import LostLease, Unavailable
from placet.ids import new_id
from placet.kernel import Entry, State
from placet.kernel.journal import ToolFinished, TrustGiven
from placet.messages import EventType
from placet.process import logs
from placet.process.backoff import waits
from placet.process.crash import crash_point
from placet.sealing import Sealer
from placet_runner.ports import Agents, Document, Freezes, Image, Observer, Runs, Schemas, Step
from placet_runner.rules.runs import (
    LONG_TAIL,
    event_entry,
    lasting_trust,
)

Row = Callable[[Image, Step], Awaitable[Image | None]]


class Outgoing(Protocol):
    """Publishes outbox entries that a write has stored, and knows which of them are out."""

    def post(self, document_id: str, entries: Sequence[Document]) -> None:
        """Publish these in the background."""
        ...

    def published(self, document_id: str) -> tuple[str, ...]:
        """Those that were confirmed and are still in the document."""
        ...

    def cleared(self, document_id: str, ids: Sequence[str]) -> None:
        """A write took these out."""
        ...


FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=0.2), timedelta(seconds=5)

_log = logs.get(__name__)


@dataclass(slots=True)
class Keyring:
    """What opens sealed answers: the same keys on every replica, known once the runner has started."""

    keys: tuple[str, ...] = ()
    _sealer: Sealer | None = None

    @property
    def sealer(self) -> Sealer | None:
        """None before the keys are known."""
        if self._sealer is None and self.keys:
            self._sealer = Sealer(self.keys)
        return self._sealer


@dataclass(frozen=True, slots=True)
class Hand:
    """What every holder of one replica shares."""

    runs: Runs
    agents: Agents
    schemas: Schemas
    freezes: Freezes
    relay: Outgoing
    clock: Clock
    """Put right by the database's, as it was last measured."""
    metrics: Observer
    owner: str
    lease: timedelta
    keys: Keyring


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a write adds to the facts so far; it counts only once the write has matched."""

    entries: Sequence[Entry] = ()
    asks: Sequence[Document] = ()
    sent: Sequence[Document] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    read: Sequence[str] = ()
    """Ids of messages that it takes in."""

    def __add__(self, more: "Proposal") -> "Proposal":
        """Both in one write."""
        return Proposal(
            [*self.entries, *more.entries],
            [*self.asks, *more.asks],
            [*self.sent, *more.sent],
            {**self.fields, **more.fields},
            [*self.read, *more.read],
        )


@dataclass(slots=True)
class Grip:
    """One run in the hands of this replica: its image, its state, and the facts not yet written.

    `state` and `pending` hold only what has happened. Nothing is written under a lease that is not
    ours: each write is pinned to the epoch, the lease and the place in the journal.
    """

    hand: Hand
    image: Image
    state: State
    op: str
    pending: list[Entry] = field(default_factory=list)
    outbox: list[Document] = field(default_factory=list)
    used_inputs: list[str] = field(default_factory=list)
    used_messages: list[str] = field(default_factory=list)
    hushed: set[str] = field(default_factory=set)
    """Messages that the runs below were told of."""
    given: list[TrustGiven] = field(default_factory=list)
    """Trust that is written in the run, and may not be kept for the runs after it yet."""
    renewed: float = 0.0
    """When the lease was last known to be whole, by our own clock."""
    done: bool = False

    def note(self, entry: Entry) -> None:
        """A fact that enters the journal with the next write."""
        self.state.apply(entry)
        self.pending.append(entry)

    def event(self, kind: EventType) -> None:
        """Something to tell everybody with the next write."""
        self.outbox.append(self._event(kind))

    async def commit(
        self, row: Row, proposal: Proposal | None = None, *, letting_go: bool = False
    ) -> bool:
        """One write: the facts so far and what is proposed. False: something arrived first; look again.

        Raises LostLease when the run is not ours any more.
        """
        added = proposal or Proposal()
        now, write = self.hand.clock.now(), new_id("op")
        sent = [*self.outbox, *added.sent]
        step = Step(
            entries=[
                e.model_copy(update={"at": now, "op": write})
                for e in (*self.pending, *added.entries)
            ],
            asks=added.asks,
            used_inputs=self.used_inputs,
            used_messages=[*self.used_messages, *added.read],
            outbox=sent,
            published=(out := self.hand.relay.published(self.image.id)),
            fields={**self._shown(), **added.fields},
        )
        if added.asks:
            crash_point("ask.writing")
        image = await self._written(row, step, write)
        if image is None:
            return await self._missed()
        if image.lease_op != self.op and not letting_go:
            raise LostLease(f"{self.image.id} was taken over or aborted right after a write")
        for entry in added.entries:
            self.state.apply(entry)
        self.given += lasting_trust(step.entries)
        self.pending, self.outbox, self.used_inputs, self.used_messages = [], [], [], []
        crash_point("journal.inserted")
        self.hand.relay.cleared(image.id, out)
        self.hand.relay.post(image.id, sent)
        self.image = image
        await self._trim()
        return True

    async def flush(self) -> bool:
        """Write the facts so far, if there are any. False: something arrived first; look again."""
        if not self.pending and not self.used_inputs and not self.used_messages:
            return True
        runs = self.hand.runs
        row = runs.append
        if any(isinstance(entry, ToolFinished) for entry in self.pending):
            row = runs.finish_call
        elif self.used_inputs:
            row = runs.apply_answers
        return await self.commit(row)

    async def let_go(self, row: Row, proposal: Proposal | None = None) -> bool:
        """A write that gives the lease back, with the event that says so. False: look again."""
        suspended = Proposal(sent=[self._event(EventType.RUN_SUSPENDED)])
        whole = (proposal or Proposal()) + suspended
        self.done = await self.commit(row, whole, letting_go=True)
        return self.done

    async def hand_back(self) -> None:
        """R14: another replica may go on at once."""
        if await self.flush():
            image = await self.hand.runs.hand_back(self.image)
            if image:
                self.hand.relay.post(image.id, image.document["outbox"])
            self.done = True

    async def keep_renewing(self) -> None:
        """R3, three times a lease. Raises LostLease."""
        while True:
            await self.hand.clock.sleep(self.hand.lease.total_seconds() / 3)
            await self.renew()

    async def renew(self) -> None:
        """R3. While the database is away nothing is known; the lease then runs out by itself."""
        before = self.hand.clock.monotonic()
        try:
            renewed = await self.hand.runs.renew(self.image)
        except Unavailable as error:
            _log.warning("renewal_waits", run_id=self.image.id, reason=str(error))
            return
        if renewed is None and not self.done:
            raise LostLease(self.image.id)
        self.renewed = before

    async def rejuvenate(self) -> None:
        """Return once less than half of the lease is gone: an effect must not start on an old one."""
        half = self.hand.lease.total_seconds() / 2
        while self.hand.clock.monotonic() - self.renewed > half:
            before = self.renewed
            await self.renew()
            if self.renewed == before:
                await self.hand.clock.sleep(FIRST_WAIT.total_seconds())

    def _shown(self) -> Document:
        """What people see of the state in the run's document."""
        shown: Document = {"steps": self.state.steps}
        if self.state.stage.name != "main":
            shown["stage"] = self.state.stage.name
        if self.state.passed or self.image.document.get("passed"):
            shown["passed"] = [each.model_dump(mode="json") for each in self.state.passed]
        return shown

    def _event(self, kind: EventType) -> Document:
        now = self.hand.clock.now()
        return event_entry(self.image.document, kind, number=self.state.journaled, at=now)

    async def _written(self, row: Row, step: Step, write: str) -> Image | None:
        """Write until it is known whether the write matched; while the database is away, wait."""
        in_doubt = False
        for wait in waits(FIRST_WAIT, LONGEST_WAIT):
            try:
                image = await row(self.image, step)
                if image is not None or not in_doubt:
                    return image
                read = await self.hand.runs.get(self.image.id)
                tail = read.document["journal"] if read else []
                return read if tail and tail[-1].get("op") == write else None
            except Unavailable as error:
                in_doubt = True
                _log.warning("write_waits", run_id=self.image.id, reason=str(error))
                await self.hand.clock.sleep(wait)
        raise AssertionError

    async def _missed(self) -> bool:
        """R6: something was written that we have not looked at; or the run is lost."""
        if self.image.lease_op != self.op:
            return False  # R9 on a run that has moved: nothing is held
        image = await self._taken()
        if image is None or image.lease_op != self.op or image.seq != self.image.seq:
            raise LostLease(f"{self.image.id} is held by another, or was aborted")
        self.image = image
        return False

    async def _taken(self) -> Image | None:
        """R6, for as long as the database is away; doing it again is harmless."""
        for wait in waits(FIRST_WAIT, LONGEST_WAIT):
            try:
                image = await self.hand.runs.take(self.image)
                if image is not None:
                    return image
                read = await self.hand.runs.get(self.image.id)
                return read if read and read.lease_op == self.op and not read.wake else None
            except Unavailable as error:
                _log.warning("write_waits", run_id=self.image.id, reason=str(error))
                await self.hand.clock.sleep(wait)
        raise AssertionError

    async def _trim(self) -> None:
        """A long tail gives its oldest entries away; where that can't be now, after the next write."""
        if len(self.image.document["journal"]) <= LONG_TAIL or self.image.lease_op != self.op:
            return
        try:
            self.image = await self.hand.runs.store_chunk(self.image) or self.image
        except Unavailable as error:
            _log.warning("chunk_waits", run_id=self.image.id, reason=str(error))
