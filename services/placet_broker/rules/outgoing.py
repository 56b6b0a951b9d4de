"""What the broker publishes about an interaction, made from its document when it is sent."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from placet.bus.port import MAX_BODY_BYTES, Outgoing
from placet.domain.interaction import Kind
from placet.domain.resolution import Resolution
from placet.errors import TooLarge
from placet.ids import derived_id, new_id
from placet.messages import Event, EventType, encode
from placet.messages.wire import name_of
from placet_broker.rules.record import Address, Link, Record

LARGEST = MAX_BODY_BYTES - 16 * 1024
"""Bytes of a request or an outcome as JSON, which leave room for what a resolution adds."""


class What(StrEnum):
    """The messages an interaction's outbox can hold; each at most once, with an id of its own.

    Reminders and escalations are numbered: each of them is one more message.
    """

    REQUESTED = "requested"
    REMINDER = "reminder"
    ESCALATED = "escalated"
    RESOLVED = "resolved"
    RESOLUTION = "resolution"
    REPLY = "reply"


LONGEST_ANSWER = 128 * 1024
"""Bytes of an answer to a run as JSON: its document holds one for each call of a turn, and their results."""
LONGEST_CHANGE = 528 * 1024
"""The same where a text or arguments were changed, which the model wrote: its replies are that long."""


def longest_answer(record: Record) -> int:
    """Bytes that the outcome of an answer to this may have."""
    if not record.from_runner:
        return LARGEST
    changed = record.kind in (Kind.EDIT_TEXT, Kind.TOOL_APPROVAL, Kind.REVIEW)
    return LONGEST_CHANGE if changed else LONGEST_ANSWER


def check_size(text: str, what: str, most: int = LARGEST) -> None:
    """Refuse what no message could hold: it would wait in an outbox for ever. Raises TooLarge."""
    size = len(text) if text.isascii() else len(text.encode())
    if size > most:
        raise TooLarge(f"{what} has {size} bytes as JSON; {most} are taken")


def entry_id(id: str, what: What, number: int = 0) -> str:
    """The id of one outbox entry, which is its message's event id."""
    return derived_id("evt", id, what, *([str(number)] if number else []))


def requested(id: str) -> dict[str, Any]:
    """The outbox entry of `input.requested`."""
    return _entry(id, What.REQUESTED)


def reminder(id: str, number: int) -> dict[str, Any]:
    """The outbox entry of a reminder, the first being 1."""
    return _entry(id, What.REMINDER, number)


def escalated(record: Record) -> dict[str, Any]:
    """The outbox entry of the next escalation step; it tells whom that step notifies."""
    step = record.policy.escalation[record.climbed]
    told = {"added": list(step.add), "notify": list(step.notify)}
    return {**_entry(record.id, What.ESCALATED, record.climbed + 1), "told": told}


def code_wanted(record: Record, link: Link, at: datetime) -> Outgoing:
    """The event that somebody opened a link and wants the code that shows who they are."""
    id, data = new_id("evt"), {"link": link.id, "person": link.person}
    announced = _announced(record, id, EventType.INPUT_CODE_REQUESTED, at, data)
    return Outgoing(event_id=id, **announced)


def settled(record: Record) -> list[dict[str, Any]]:
    """The outbox entries of an interaction that settles: the resolution and the event."""
    whats = [What.RESOLUTION if record.from_runner else What.RESOLVED]
    if record.from_runner:
        whats.append(What.RESOLVED)
    elif record.address is not None:
        whats.insert(0, What.REPLY)
    return [_entry(record.id, what) for what in whats]


def rendered(record: Record, entries: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages of outbox entries, as the relay takes them; each is made when it is asked for."""
    return ({**_message(record, entry), "id": entry["id"]} for entry in entries)


def confirmation(record: Record, address: Address | None) -> list[dict[str, Any]]:
    """What tells the asker again how a settled interaction ended (B2)."""
    if record.from_runner:
        return [_entry(record.id, What.RESOLUTION)]
    return [_entry(record.id, What.REPLY)] if address or record.address else []


def closed_unseen(id: str) -> dict[str, Any]:
    """The outbox entry of a tombstone: the run's confirmation alone."""
    return _entry(id, What.RESOLUTION)


def resolution_of(record: Record) -> Resolution:
    """The resolution of a settled record."""
    if record.resolution is None:
        msg = f"{record.id} is {record.state}"
        raise ValueError(msg)
    return record.resolution


def _entry(id: str, what: What, number: int = 0) -> dict[str, Any]:
    numbered = {"number": number} if number else {}
    return {"id": entry_id(id, what, number), "what": str(what), **numbered}


def _message(record: Record, entry: dict[str, Any]) -> dict[str, Any]:
    match What(entry["what"]):
        case What.RESOLUTION:
            return _resolution(record, exchange="placet.resolutions", key="resolution")
        case What.REPLY:
            return _reply(record)
        case What.REQUESTED:
            return _event(record, entry, EventType.INPUT_REQUESTED)
        case What.REMINDER:
            return _event(record, entry, EventType.INPUT_REMINDER)
        case What.ESCALATED:
            return _event(record, entry, EventType.INPUT_ESCALATED)
        case What.RESOLVED:
            return _event(record, entry, EventType.INPUT_RESOLVED)


def _resolution(record: Record, *, exchange: str, key: str) -> dict[str, Any]:
    resolution = resolution_of(record)
    return {
        "exchange": exchange,
        "key": key,
        "type": name_of(resolution),
        "body": encode(resolution),
        "correlation_id": record.run_id or record.id,
    }


def _reply(record: Record) -> dict[str, Any]:
    address = record.address
    message = _resolution(record, exchange="", key=address.reply_to if address else "")
    correlation = address and address.correlation_id
    return {**message, "correlation_id": correlation, "optional": True}


def _event(record: Record, entry: dict[str, Any], kind: EventType) -> dict[str, Any]:
    told = {"number": entry["number"]} if "number" in entry else {}
    at = record.opened_at if record.resolution is None else record.resolution.at
    data = _facts(record) | told | entry.get("told", {})
    return _announced(record, entry["id"], kind, at, data)


def _announced(
    record: Record, id: str, kind: EventType, at: datetime, data: dict[str, Any]
) -> dict[str, Any]:
    """An event of this interaction, as a message."""
    event = Event(
        id=id,
        type=kind,
        namespace=record.namespace,
        at=at,
        agent_id=record.agents[0] if record.agents else "",
        run_id=record.run_id,
        root_run_id=record.root_run_id,
        input_id=record.id,
        data=data,
    )
    return {
        "exchange": "placet.events",
        "key": f"{record.namespace}.{kind}",
        "type": name_of(event),
        "body": encode(event),
        "correlation_id": record.run_id or record.id,
    }


def _facts(record: Record) -> dict[str, Any]:
    """No content of answers: events go to more people than may read them."""
    expires_at = record.expires_at.isoformat() if record.expires_at else None
    facts: dict[str, Any] = {
        "kind": record.kind,
        "asked_by": record.publisher,
        "expires_at": expires_at,
        "priority": str(record.priority),
        "labels": list(record.labels),
    }
    if record.resolution is None:
        unanswerable = {"unanswerable": True} if record.unanswerable else {}
        return {**facts, "state": "pending", "for": list(record.audience.named), **unanswerable}
    by = record.resolution.by
    decision = record.resolution.outcome.decision
    return {
        **facts,
        "state": str(record.state),
        "by": by and by.id,
        "channel": record.resolution.channel,
        "decision": decision and str(decision),
    }
