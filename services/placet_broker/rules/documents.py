"""An interaction's document: how a record is written, and read."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import orjson

from placet.domain.answer import Action
from placet.domain.audience import ONE_YES, AnswerPolicy, Audience, Priority
from placet.domain.interaction import InputState
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet_broker.rules.record import Address, Claim, Link, Record, Vote


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
        audience=Audience(
            initiator=document["initiator"],
            approvers=tuple(document["approvers"]),
            spoke=tuple(document.get("spoke", ())),
        ),
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
        **_among_people(document),
    )


def _among_people(document: dict[str, Any]) -> dict[str, Any]:
    """What documents of before this was known do not have."""
    claim, policy = document.get("claim"), document.get("policy")
    return {
        "policy": AnswerPolicy.model_validate_json(policy) if policy else ONE_YES,
        "priority": Priority(document.get("priority", Priority.NORMAL)),
        "labels": tuple(document.get("labels", ())),
        "votes": tuple(map(_vote, document.get("votes", ()))),
        "claim": Claim(**claim) if claim else None,
        "links": tuple(map(_link, document.get("links", ()))),
        "reminded": document.get("reminded", 0),
        "climbed": document.get("climbed", 0),
        "life": timedelta(milliseconds=document["life_ms"]) if document.get("life_ms") else None,
        "unanswerable": document.get("unanswerable", False),
    }


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
        "spoke": list(record.audience.spoke),
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
        "policy": "" if record.policy == ONE_YES else record.policy.model_dump_json(),
        "priority": str(record.priority),
        "labels": list(record.labels),
        "votes": [],
        "claim": None,
        "links": [],
        "reminded": record.reminded,
        "climbed": record.climbed,
        "life_ms": record.life and record.life // timedelta(milliseconds=1),
        "unanswerable": record.unanswerable,
    }


def kept_vote(vote: Vote) -> dict[str, Any]:
    """A vote as it is kept."""
    return {**asdict(vote), "outcome": vote.outcome.model_dump_json()}


def _vote(kept: dict[str, Any]) -> Vote:
    return Vote(**{**kept, "outcome": Outcome.model_validate_json(kept["outcome"])})


def kept_link(link: Link) -> dict[str, Any]:
    """A link as it is kept: what it answers stays text, whatever is in it."""
    return {
        **asdict(link),
        "action": str(link.action),
        "content": orjson.dumps(link.content).decode(),
    }


def _link(kept: dict[str, Any]) -> Link:
    action, content = Action(kept["action"]), orjson.loads(kept["content"])
    return Link(**{**kept, "action": action, "content": content})


def kept_resolution(resolution: Resolution) -> dict[str, Any]:
    """A resolution as it is kept: what a person wrote stays text, whatever is in it."""
    return {
        "outcome": resolution.outcome.model_dump_json(),
        "by": resolution.by.model_dump() if resolution.by else None,
        "on_behalf_of": resolution.on_behalf_of,
        "voters": list(resolution.voters),
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
        on_behalf_of=kept.get("on_behalf_of"),
        voters=tuple(kept.get("voters", ())),
        at=kept["at"],
        asked_at=document.get("opened_at"),
        channel=kept["channel"],
        answer_id=kept["answer_id"],
    )
