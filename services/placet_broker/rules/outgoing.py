"""What the broker publishes about an interaction, made from its document when it is sent."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from placet.bus.port import MAX_BODY_BYTES
from placet.domain.interaction import Kind
from placet.domain.resolution import Resolution
from placet.errors import TooLarge
from placet.ids import derived_id
from placet.messages import Event, EventType, encode
from placet.messages.wire import name_of
from placet_broker.rules.record import Address, Record

LARGEST = MAX_BODY_BYTES - 16 * 1024
"""Bytes of a request or an outcome as JSON, which leave room for what a resolution adds."""


class What(StrEnum):
    """The messages an interaction's outbox can hold; each at most once, with an id of its own."""

    REQUESTED = "requested"
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


def entry_id(id: str, what: What) -> str:
    """The id of one outbox entry, which is its message's event id."""
    return derived_id("evt", id, what)


def requested(id: str) -> dict[str, Any]:
    """The outbox entry of `input.requested`."""
    return _entry(id, What.REQUESTED)


def settled(record: Record) -> list[dict[str, Any]]:
    """The outbox entries of an interaction that settles: the resolution and the event."""
    whats = [What.RESOLUTION if record.from_runner else What.RESOLVED]
    if record.from_runner:
        whats.append(What.RESOLVED)
    elif record.address is not None:
        whats.insert(0, What.REPLY)
    return [_entry(record.id, what) for what in whats]


def rendered(record: Record, entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of outbox entries, as the relay takes them."""
    return [{**_message(record, What(entry["what"])), "id": entry["id"]} for entry in entries]


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


def _entry(id: str, what: What) -> dict[str, Any]:
    return {"id": entry_id(id, what), "what": str(what)}


def _message(record: Record, what: What) -> dict[str, Any]:
    match what:
        case What.RESOLUTION:
            return _resolution(record, exchange="placet.resolutions", key="resolution")
        case What.REPLY:
            return _reply(record)
        case What.REQUESTED:
            return _event(record, what, EventType.INPUT_REQUESTED)
        case What.RESOLVED:
            return _event(record, what, EventType.INPUT_RESOLVED)


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


def _event(record: Record, what: What, kind: EventType) -> dict[str, Any]:
    event = Event(
        id=entry_id(record.id, what),
        type=kind,
        namespace=record.namespace,
        at=record.opened_at if record.resolution is None else record.resolution.at,
        agent_id=record.agents[0] if record.agents else "",
        run_id=record.run_id,
        root_run_id=record.root_run_id,
        input_id=record.id,
        data=_facts(record, kind),
    )
    return {
        "exchange": "placet.events",
        "key": f"{record.namespace}.{kind}",
        "type": name_of(event),
        "body": encode(event),
        "correlation_id": record.run_id or record.id,
    }


def _facts(record: Record, kind: EventType) -> dict[str, Any]:
    """No content of answers: events go to more people than may read them."""
    expires_at = record.expires_at.isoformat() if record.expires_at else None
    facts = {"kind": record.kind, "asked_by": record.publisher, "expires_at": expires_at}
    if kind is EventType.INPUT_REQUESTED or record.resolution is None:
        return {**facts, "state": "pending"}
    by = record.resolution.by
    decision = record.resolution.outcome.decision
    return {
        **facts,
        "state": str(record.state),
        "by": by and by.id,
        "channel": record.resolution.channel,
        "decision": decision and str(decision),
    }
