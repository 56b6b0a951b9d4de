"""Opaque cursors: where a page ended."""

import base64
import binascii
from datetime import datetime

import orjson

from placet.errors import FieldError, Invalid
from placet_broker.rules.record import Record

Place = tuple[datetime, str]


def cursor_after(record: Record) -> str:
    """The cursor for what comes behind this record."""
    return cursor_of((record.opened_at, record.id))


def cursor_of(place: Place) -> str:
    """The cursor for what comes behind this place."""
    return base64.urlsafe_b64encode(orjson.dumps(list(place))).decode().rstrip("=")


def place_of(cursor: str | None) -> Place | None:
    """Where a cursor points. Raises Invalid."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        at, id = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        place = datetime.fromisoformat(at), str(id)
    except (ValueError, TypeError, binascii.Error) as error:
        raise Invalid(
            "the cursor is none of ours", [FieldError("/cursor", "unreadable")]
        ) from error
    if place[0].tzinfo is None:
        raise Invalid("the cursor is none of ours", [FieldError("/cursor", "unreadable")])
    return place
