"""One interaction as the broker keeps it, read from and written to its document."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from placet.domain.answer import Action
from placet.domain.audience import ONE_YES, AnswerPolicy, Audience, Priority
from placet.domain.digest import digest_of
from placet.domain.interaction import InputState, InteractionRequest, RequestAdapter
from placet.domain.outcome import Outcome
from placet.domain.resolution import Input, Resolution
from placet.errors import Conflict

MOST_ACTS = 200
"""Entries that one person or service may leave in a history: a document has an end."""
RUNNER = "service:placet-runner"
"""The publisher of every question that a run of Placet asks."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a requester wants its reply."""

    reply_to: str
    correlation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's yes, while more are needed."""

    by: str
    """The person, whatever the channel."""
    seat: str
    """In whose place; the same person where they are named themselves."""
    outcome: Outcome
    at: datetime
    channel: str
    answer_id: str = ""

    @property
    def on_behalf_of(self) -> str | None:
        """Whose delegate they voted as; None: their own."""
        return None if self.seat == self.by else self.seat


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody is looking at it; it stops nobody."""

    by: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Link:
    """A one-time link: who may do what with the question as it is now, once they have shown who they are."""

    id: str
    hash: str
    """Of the token; the token itself is kept nowhere."""
    person: str
    action: Action
    content: Any
    digest: str
    until: datetime
    code_hash: str = ""
    """Of the one-time code that was sent to the person; empty while there is none."""
    code_until: datetime | None = None
    tries: int = 0
    """Wrong codes so far."""
    used_at: datetime | None = None
    once: str | None = None
    """The digest of the request that made it, if that had an `Idempotency-Key`."""


@dataclass(frozen=True, slots=True)
class Record:
    """An interaction's document, typed; `rev` is what the next write is conditional on."""

    id: str
    namespace: str
    kind: str
    state: InputState
    rev: int
    digest: str
    publisher: str
    run_id: str
    root_run_id: str
    audience: Audience
    opened_at: datetime
    expires_at: datetime | None
    request_json: str
    """The whole request; empty for a tombstone and after the retention."""
    resolution: Resolution | None
    address: Address | None
    agents: tuple[str, ...]
    applied: bool
    outbox: tuple[dict[str, Any], ...]
    history: tuple[dict[str, Any], ...] = field(repr=False)
    refused: tuple[dict[str, Any], ...] = ()
    refused_count: int = 0
    policy: AnswerPolicy = ONE_YES
    priority: Priority = Priority.NORMAL
    labels: tuple[str, ...] = ()
    votes: tuple[Vote, ...] = ()
    """Each a yes to the same arguments, by another person."""
    claim: Claim | None = None
    links: tuple[Link, ...] = ()
    reminded: int = 0
    """Reminders that were given."""
    climbed: int = 0
    """Escalation steps that were taken."""
    life: timedelta | None = None
    """Where its deadline escalates: how long it waits after each step. None: its deadline ends it."""
    unanswerable: bool = False
    """Fewer people may answer than its policy needs."""

    @property
    def pending(self) -> bool:
        """Whether it can still be answered."""
        return self.state is InputState.PENDING

    @property
    def proposed_args(self) -> dict[str, Any] | None:
        """The arguments that the votes so far are for, where an approver changed them."""
        return self.votes[0].outcome.args if self.votes else None

    @property
    def shown_digest(self) -> str:
        """Of what a yes consents to now: what was asked, or what an approver made of it."""
        if self.proposed_args is None:
            return self.digest
        return digest_of({"asked": self.digest, "args": self.proposed_args})

    @property
    def head(self) -> str:
        """The hash of the last history entry."""
        return str(self.history[-1]["hash"]) if self.history else ""

    @property
    def changed_at(self) -> datetime:
        """When the last history entry was written, by the broker's clock."""
        return datetime.fromisoformat(self.history[-1]["at"]) if self.history else self.opened_at

    def check_room(self, by: str) -> None:
        """Raise Conflict for somebody who has done too much with it; to settle it is always possible."""
        if sum(entry["by"] == by for entry in self.history) >= MOST_ACTS:
            raise Conflict(
                f"{by} has done {MOST_ACTS} things with this input; settle it, or leave it to others",
                code="too_many_acts",
            )

    @property
    def from_runner(self) -> bool:
        """Whether a run of Placet asked."""
        return self.publisher == RUNNER

    def is_of(self, publisher: str, namespace: str | None) -> bool:
        """Whether this publisher of this namespace asked."""
        return (self.publisher, self.namespace) == (publisher, namespace)

    def request(self) -> InteractionRequest:
        """The request. Raises ValueError for a tombstone."""
        return RequestAdapter.validate_json(self.request_json)

    def as_input(self) -> Input:
        """As REST shows it, as a model."""
        return Input.model_validate_json(self.as_json())

    def as_json(self) -> bytes:
        """As REST shows it, as JSON."""
        return orjson.dumps(self.as_fragment())

    def as_fragment(self) -> dict[str, Any]:
        """As REST shows it, for orjson; what is JSON already is not parsed again."""
        resolution = self.resolution and self.resolution.model_dump_json()
        return {
            "id": self.id,
            "state": str(self.state),
            "request": orjson.Fragment(self.request_json) if self.request_json else None,
            "resolution": orjson.Fragment(resolution) if resolution else None,
            "asked_by": self.publisher,
            "applied": self.applied,
            "digest": self.shown_digest,
            **self._among_people(),
        }

    def _among_people(self) -> dict[str, Any]:
        """What people have done with it so far; what is as usual is left out."""
        votes = [
            {"by": v.by, "on_behalf_of": v.seat, "at": v.at, "channel": v.channel}
            for v in self.votes
        ]
        shown = {
            "votes": votes,
            "proposed_args": self.proposed_args,
            "claimed": self.claim and {"by": self.claim.by, "until": self.claim.until},
            "unanswerable": self.unanswerable,
        }
        return {name: value for name, value in shown.items() if value}
