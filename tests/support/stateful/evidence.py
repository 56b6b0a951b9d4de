"""What happened in one example, from the databases, the tools' ledger and what callers were told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placet.domain.digest import call_digest
from placet.domain.resolution import Input
from placet.kernel import Entry, read_entry
from placet.kernel.journal import InputOpened, InputResolved
from placet_broker.rules.documents import from_document
from placet_broker.rules.record import Record
from tests.support.stateful.plans import Effect


@dataclass(slots=True)
class Attempt:
    """One try of somebody to answer."""

    input_id: str
    who: str
    """By the credential, and the name that it may act for."""
    channel: str
    settled: Input | None = None
    """What the broker said that it is settled as: by this answer, or by an earlier one."""
    refused: str = ""
    """The code of the refusal."""


@dataclass(slots=True)
class Story:
    """One run: its document and its whole journal."""

    document: dict[str, Any]
    journal: Sequence[Entry]

    @property
    def id(self) -> str:
        return str(self.document["_id"])

    @property
    def status(self) -> str:
        return str(self.document["status"])

    @property
    def live(self) -> bool:
        return self.status in ("queued", "running", "input_required")

    def of(self, kind: type[Any]) -> Iterator[Any]:
        """Its entries of one kind, in order."""
        return (entry for entry in self.journal if isinstance(entry, kind))

    def resolved(self) -> dict[str, InputResolved]:
        """How its questions ended, as far as it took that in."""
        return {entry.input_id: entry for entry in self.of(InputResolved)}

    def opened(self) -> dict[str, InputOpened]:
        """Its questions."""
        return {entry.input_id: entry for entry in self.of(InputOpened)}


@dataclass(slots=True)
class Evidence:
    """Everything that the checks go by."""

    runs: dict[str, Story] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    effects: Sequence[Effect] = ()
    attempts: Sequence[Attempt] = ()
    unheard: Sequence[str] = ()
    """What was said although it was not stored yet."""
    finished: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """How many effects there had been when this call of this run got its result."""
    landed: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    """In which order starts of calls (key and attempt) and ends of grants (id) were stored."""
    zombies: Sequence[str] = ()
    """Writes under a lease that another holds."""
    holding: Sequence[str] = ()
    """What was held of suspended runs."""
    said: Sequence[str] = ()
    """Texts of messages that were accepted."""
    dead: Sequence[str] = ()
    """Dead letters, each with its reason."""
    frozen: Sequence[Any] = ()
    """What an operator kept from starting, each a `Span`."""
    crashes: Sequence[str] = ()
    """Exceptions that nobody expected."""
    unanswered: Sequence[str] = ()
    """Answers over the bus of which nobody was told anything."""


def story(document: dict[str, Any], chunks: Sequence[dict[str, Any]]) -> Story:
    """A run from its document and its chunks."""
    mine = [c for c in chunks if c["run_id"] == document["_id"] and c["first"] < document["base"]]
    old = [e for c in sorted(mine, key=lambda chunk: chunk["first"]) for e in c["entries"]]
    return Story(document, [read_entry(entry) for entry in [*old, *document["journal"]]])


def record(document: dict[str, Any]) -> Record:
    """An interaction from its document."""
    return from_document(document)


def digest_now(tool: str, schema: str, args: dict[str, Any]) -> str:
    """Of what a yes is for."""
    return call_digest(tool, schema, args)
