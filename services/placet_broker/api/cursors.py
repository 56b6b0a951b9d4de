"""Opaque cursors: where a page ended."""

import base64
import binascii
from datetime import datetime
from typing import Any

import orjson

from placet.errors import FieldError, Invalid
from placet_broker.rules.record import Record

Place = tuple[datetime, str]


def cursor_after(record: Record) -> str:
    """The cursor for what comes behind this record."""
    return cursor_of(record.opened_at, record.id)


def cursor_of(*place: datetime | str) -> str:
    """The cursor for a place: a time and an id, or a name."""
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def name_of(cursor: str | None) -> str | None:
    """The name that a cursor points behind. Raises Invalid."""
    if cursor is None:
        return None
    try:
        (name,) = _opened(cursor)
    except (ValueError, TypeError, binascii.Error) as error:
        raise _foreign() from error
    if not isinstance(name, str):
        raise _foreign()
    return name


def place_of(cursor: str | None) -> Place | None:
    """Where a cursor points. Raises Invalid."""
    if cursor is None:
        return None
    try:
        at, id = _opened(cursor)
        place = datetime.fromisoformat(at), str(id)
    except (ValueError, TypeError, binascii.Error) as error:
        raise _foreign() from error
    if place[0].tzinfo is None:
        raise _foreign()
    return place


def _opened(cursor: str) -> Any:
    padded = cursor + "=" * (-len(cursor) % 4)
    return orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))


def _foreign() -> Invalid:
    return Invalid("the cursor is none of ours", [FieldError("/cursor", "unreadable")])
