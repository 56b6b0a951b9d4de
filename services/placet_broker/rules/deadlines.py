"""Bounds of a deadline, and moving it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from placet import audit
from placet.audit import Entry
from placet.clock import in_ms
from placet.errors import FieldError, Invalid
from placet_broker.rules.record import Record

SHORTEST = timedelta(seconds=60)
LONGEST = timedelta(seconds=2_592_000)


def aware(at: datetime, pointer: str) -> datetime:
    """A time in UTC; one that names no zone is read as such. Raises Invalid beyond the calendar."""
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise unfit(pointer, "is outside the calendar") from None


def kept(at: datetime, pointer: str) -> datetime:
    """A time as the store gives it back, in UTC with milliseconds. Raises as `aware` does."""
    return in_ms(aware(at, pointer))


def check_extension(record: Record, to: datetime, now: datetime) -> None:
    """Whether the deadline may be moved to then. Raises Invalid."""
    if record.expires_at is None:
        raise unfit("/expires_at", "can't be moved: this input has no deadline, it waits")
    if to < record.expires_at:
        raise unfit("/expires_at", f"may only move later than {record.expires_at.isoformat()}")
    if to > now + LONGEST:
        raise unfit("/expires_at", "must be at most 30 days from now")


def moved(record: Record, to: datetime) -> Record:
    """The record with another deadline, also in the request that people see; no digest covers it."""
    request = record.request().model_copy(update={"expires_at": to})
    return replace(record, expires_at=to, request_json=request.model_dump_json())


def noted(record: Record, after: Record, what: str, at: datetime, by: str | None = None) -> Entry:
    """The history entry of a deadline that was moved."""
    was = record.expires_at.isoformat() if record.expires_at else None
    to = after.expires_at.isoformat() if after.expires_at else None
    shown = audit.digest(after.request_json)
    return audit.entry(record.head, what, at, by=by, to=to, was=was, request=shown)


def unfit(pointer: str, why: str) -> Invalid:
    """The error for a field of a request."""
    return Invalid(f"{pointer[1:]} {why}", [FieldError(pointer, why)])
