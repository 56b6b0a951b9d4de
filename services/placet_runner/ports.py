"""What the runner needs from its store: one function for each conditional write of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from placet.domain.freeze import Freeze
from placet.domain.heritage import ChildEnd
from placet.domain.resolution import Resolution
from placet.domain.run import Message, RunStatus
from placet.kernel import Entry
from placet.kernel.call import CallState
from placet.kernel.journal import TrustGiven
from placet.kernel.turns import CallOutcome

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Image:
    """A run's document as it was read or as a write left it."""

    document: Document

    @property
    def id(self) -> str:
        """The run's id."""
        return str(self.document["_id"])

    @property
    def status(self) -> RunStatus:
        """Where it stands."""
        return RunStatus(self.document["status"])

    @property
    def epoch(self) -> int:
        """Raised by every claim and by an abort: the fencing token."""
        return int(self.document["epoch"])

    @property
    def seq(self) -> int:
        """Entries journalled so far."""
        return int(self.document["seq"])

    @property
    def lease_op(self) -> str | None:
        """The operation id of the claim that holds it."""
        lease = self.document["lease"]
        return lease["op"] if lease else None

    @property
    def wake(self) -> bool:
        """Whether something was written that the holder has not looked at."""
        return bool(self.document["wake"])

    @property
    def waiting(self) -> list[Document]:
        """Questions that are open, or settled and not applied: id, request, resolution, closing."""
        return list(self.document["waiting"])

    @property
    def open(self) -> list[Document]:
        """Questions whose end the broker has not told yet, and child runs that have not ended."""
        return [entry for entry in self.document["waiting"] if entry["resolution"] is None]

    @property
    def settled(self) -> list[Document]:
        """Questions that ended and whose end is not applied yet."""
        return [entry for entry in self.document["waiting"] if entry["resolution"] is not None]

    @property
    def revoked(self) -> list[Document]:
        """Grants that were taken back: id, by, at."""
        return list(self.document.get("revoked", ()))

    @property
    def inbox(self) -> list[Document]:
        """Messages that nobody has read."""
        return list(self.document["inbox"])


@dataclass(frozen=True, slots=True)
class Step:
    """What one write of a holder brings, besides the row it is."""

    entries: Sequence[Entry] = ()
    asks: Sequence[Document] = ()
    """New entries of `waiting`."""
    used_inputs: Sequence[str] = ()
    """Ids of `waiting` entries that `entries` apply."""
    used_messages: Sequence[str] = ()
    """Ids of `inbox` entries that `entries` take in."""
    outbox: Sequence[Document] = ()
    published: Sequence[str] = ()
    """Ids of outbox entries that the bus has confirmed: they leave with this write (R20)."""
    fields: Mapping[str, Any] | None = None
    """Plain fields for people: `text`, `error`."""


NOTHING = Step()
"""A write that brings nothing besides the row it is."""


class Runs(Protocol):
    """The rows of the protocol. Each is one conditional write; None or False: nothing matched."""

    async def get(self, run_id: str) -> Image | None:
        """Read one run."""
        ...

    async def history(self, image: Image) -> list[Document]:
        """Every journal entry of a run, oldest first, chunks and tail."""
        ...

    async def create(self, document: Document) -> bool:
        """R1. False: that id exists."""
        ...

    async def claim(
        self, run_id: str, owner: str, op: str, agents: Sequence[str] | None = None
    ) -> Image | None:
        """R2."""
        ...

    async def renew(self, held: Image) -> Image | None:
        """R3."""
        ...

    async def append(self, held: Image, step: Step) -> Image | None:
        """R4. A step that starts calls, here and below, misses while something was not looked at."""
        ...

    async def ask_and_park(self, held: Image, step: Step) -> Image | None:
        """R5."""
        ...

    async def ask_and_go_on(self, held: Image, step: Step) -> Image | None:
        """R5b."""
        ...

    async def take(self, held: Image) -> Image | None:
        """R6."""
        ...

    async def park(self, held: Image, step: Step = NOTHING) -> Image | None:
        """R7."""
        ...

    async def record_answer(
        self, run_id: str, resolution: Resolution, *, looked_at: bool = False
    ) -> Image | None:
        """R8. `looked_at`: somebody must look at this answer now, whatever else is open."""
        ...

    async def record_child(self, run_id: str, end: ChildEnd) -> Image | None:
        """R8, for a child run that ended."""
        ...

    async def record_lift(self, run_id: str, freeze: Freeze) -> Image | None:
        """R8, for a freeze that was lifted."""
        ...

    async def frozen(self, active: Sequence[str], limit: int) -> list[Image]:
        """Live runs that wait for a freeze which is none of these."""
        ...

    async def any_frozen(self) -> bool:
        """Whether a run waits for any freeze at all."""
        ...

    async def resume(
        self, read: Image, resolution: Resolution, step: Step, owner: str, op: str
    ) -> Image | None:
        """R9."""
        ...

    async def apply_answers(self, held: Image, step: Step) -> Image | None:
        """R10."""
        ...

    async def finish_call(self, held: Image, step: Step) -> Image | None:
        """R11."""
        ...

    async def take_over(self, held: Image, step: Step) -> Image | None:
        """R12."""
        ...

    async def end(self, held: Image, status: RunStatus, step: Step) -> Image | None:
        """R13."""
        ...

    async def hand_back(self, held: Image) -> Image | None:
        """R14."""
        ...

    async def message(self, run_id: str, message: Message) -> Image | None:
        """R15."""
        ...

    async def queue_message(self, run_id: str, message: Message) -> Image | None:
        """R15c."""
        ...

    async def supersede(
        self, held: Image, closes: Mapping[str, Document], step: Step = NOTHING
    ) -> Image | None:
        """R16. `closes`: the outbox entry by input id."""
        ...

    async def withdraw(
        self, held: Image, closes: Mapping[str, Document], step: Step = NOTHING
    ) -> Image | None:
        """R17."""
        ...

    async def abort(self, run_id: str, entry: Entry, outbox: Sequence[Document]) -> Image | None:
        """R18."""
        ...

    async def revoke(self, run_id: str, grant_id: str, by: str, at: datetime) -> Image | None:
        """R21: take a grant back; the holder looks before it starts a call, parks or ends."""
        ...

    async def note_closed(self, run_id: str, ended: Resolution | ChildEnd) -> Image | None:
        """R19."""
        ...

    async def asked_again(
        self, run_id: str, input_ids: Sequence[str], *, stir: bool = False
    ) -> None:
        """Move the time at which a question is asked again, after doing so: the backoff of the sweep.

        `stir`: somebody must look at the run besides.
        """
        ...

    async def postpone(self, run_id: str, span: timedelta) -> None:
        """Let a sweep look again after this span."""
        ...

    async def store_chunk(self, held: Image) -> Image | None:
        """Move the oldest entries of a long tail into a chunk of fixed bounds."""
        ...

    async def due(self, now: datetime, limit: int) -> list[Image]:
        """Runs that a sweep must look at."""
        ...

    async def list(
        self,
        namespace: str,
        *,
        status: RunStatus | None,
        agent_id: str | None,
        before: str | None,
        limit: int,
    ) -> list[Image]:
        """Runs of a namespace, newest first."""
        ...


class Agents(Protocol):
    """Which run of an agent is its current one, and what is trusted in its runs."""

    async def current(self, namespace: str, agent_id: str) -> Document | None:
        """The agent's record, if it has had more than one run."""
        ...

    async def set_current(
        self, namespace: str, agent_id: str, expected: str, run_id: str, previous: str
    ) -> bool:
        """Make `run_id` the current run, after `previous`, if `expected` still is. False: it is not."""
        ...

    async def trusted(self, namespace: str, agent_id: str, person: str) -> Mapping[str, str]:
        """The tools that a person trusts of an agent, each with the digest of its schema then."""
        ...

    async def keep_trust(self, namespace: str, agent_id: str, given: TrustGiven) -> None:
        """Keep trust for the person's later runs. The same input gives it once."""
        ...

    async def end_trust(
        self, namespace: str, agent_id: str, person: str, tool: str, digest: str
    ) -> None:
        """End the trust in a tool as it was, unless it was given anew for another digest."""
        ...


class Freezes(Protocol):
    """What operators keep from starting; a read sees what was frozen before it."""

    async def active(self, namespace: str) -> Sequence[Freeze]:
        """Those that cover calls of a namespace now. Raises Unavailable."""
        ...

    async def active_ids(self) -> Sequence[str]:
        """Those that are active in any namespace."""
        ...

    async def get_many(self, ids: Sequence[str]) -> Mapping[str, Freeze]:
        """Those of these that exist, by id."""
        ...


class Schemas(Protocol):
    """How tools were described, by the digest that calls carry."""

    async def get(self, digest: str) -> Document | None:
        """The tool as it was."""
        ...


class Observer(Protocol):
    """What the use cases tell the metrics."""

    def created(self) -> None:
        """One run more."""
        ...

    def ended(self, status: RunStatus) -> None:
        """One run came to its end."""
        ...

    def replied(self, outcome: str) -> None:
        """One model call: `ok` or `failed`."""
        ...

    def started(self, call: CallState) -> None:
        """One effect begins."""
        ...

    def called(self, outcome: CallOutcome) -> None:
        """One call has its result."""
        ...

    def resumed(self, waited: timedelta) -> None:
        """One answer reached its run."""
        ...

    def held(self, count: int) -> None:
        """How many runs are held now."""
        ...
