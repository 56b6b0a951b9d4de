"""Where a page of inputs ended, for REST and for the inbox page."""

from datetime import datetime

from placet.process import cursors
from placet_broker.rules.record import Record

Place = tuple[datetime, str]
_LIST = "inputs"


def cursor_after(record: Record) -> str:
    """The cursor for what comes behind this record."""
    return cursors.cursor_of(_LIST, record.opened_at, record.id)


def place_of(cursor: str | None) -> Place | None:
    """Where a cursor points. Raises Invalid."""
    found: Place | None = cursors.place_of(_LIST, cursor, datetime, str)
    return found
