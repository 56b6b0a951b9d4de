"""One interaction as the broker keeps it, read from and written to its document."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from placet.domain.audience import Audience
from placet.domain.interaction import InputState, InteractionRequest, RequestAdapter
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Input, Resolution

RUNNER = "service:placet-runner"
"""The publisher of every question that a run of Placet asks."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a requester wants its reply."""

    reply_to: str
    correlation_id: str | None = None


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

    @property
    def pending(self) -> bool:
        """Whether it can still be answered."""
        return self.state is InputState.PENDING

    @property
    def head(self) -> str:
        """The hash of the last history entry."""
        return str(self.history[-1]["hash"]) if self.history else ""

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
        }


def from_document(document: dict[str, Any]) -> Record:
    """Read a document of the collection `interactions`."""
    reply_to = document["reply_to"]
    return Record(
        id=document["_id"],
        namespace=document["namespace"],
        kind=document["kind"],
        state=InputState(document["state"]),
        rev=document["rev"],
        digest=document["digest"],
        publisher=document["publisher"],
        run_id=document["run_id"],
        root_run_id=document["root_run_id"],
        audience=Audience(initiator=document["initiator"], approvers=tuple(document["approvers"])),
        opened_at=document["opened_at"],
        expires_at=document["expires_at"],
        request_json=document["request"],
        resolution=_resolution(document),
        address=Address(reply_to, document["correlation_id"]) if reply_to else None,
        agents=tuple(document["agents"]),
        applied=document["applied"],
        outbox=tuple(document["outbox"]),
        history=tuple(document["history"]),
        refused=tuple(document["refused"]),
        refused_count=document["refused_count"],
    )


def to_document(record: Record, due: datetime | None) -> dict[str, Any]:
    """The document of a new record; `resolution` of a tombstone included."""
    return {
        "_id": record.id,
        "namespace": record.namespace,
        "kind": record.kind,
        "state": str(record.state),
        "rev": record.rev,
        "digest": record.digest,
        "publisher": record.publisher,
        "run_id": record.run_id,
        "root_run_id": record.root_run_id,
        "initiator": record.audience.initiator,
        "approvers": list(record.audience.approvers),
        "opened_at": record.opened_at,
        "expires_at": record.expires_at,
        "request": record.request_json,
        "resolution": record.resolution and kept_resolution(record.resolution),
        "reply_to": record.address and record.address.reply_to,
        "correlation_id": record.address and record.address.correlation_id,
        "agents": list(record.agents),
        "applied": record.applied,
        "outbox": list(record.outbox),
        "history": list(record.history),
        "refused": [],
        "refused_count": 0,
        "due": due,
    }


def kept_resolution(resolution: Resolution) -> dict[str, Any]:
    """A resolution as it is kept: what a person wrote stays text, whatever is in it."""
    return {
        "outcome": resolution.outcome.model_dump_json(),
        "by": resolution.by.model_dump() if resolution.by else None,
        "at": resolution.at,
        "channel": resolution.channel,
        "answer_id": resolution.answer_id,
    }


def _resolution(document: dict[str, Any]) -> Resolution | None:
    kept = document["resolution"]
    if kept is None:
        return None
    return Resolution(
        input_id=document["_id"],
        namespace=document["namespace"],
        run_id=document["run_id"],
        digest=document["digest"],
        outcome=Outcome.model_validate_json(kept["outcome"]),
        by=Person(**kept["by"]) if kept["by"] else None,
        at=kept["at"],
        asked_at=document.get("opened_at"),
        channel=kept["channel"],
        answer_id=kept["answer_id"],
    )
