"""Opaque cursors: where a page of a list ended. What is sent back as one is hostile input."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Query

from placet.errors import FieldError, Invalid

T = TypeVar("T")
LONGEST = 2000
"""Characters of a cursor."""
MOST = 200
"""Items of a page."""
Cursor = Annotated[
    str | None, Query(max_length=LONGEST, description="`next_cursor` of the page before.")
]
"""The query parameter of every list."""
Limit = Annotated[int, Query(ge=1, le=MOST, description="Items of a page.")]


def cursor_of(of: str, *place: str | datetime) -> str:
    """The cursor for what comes behind this place in the list `of`."""
    return base64.urlsafe_b64encode(orjson.dumps([of, *place])).decode().rstrip("=")


def place_of(of: str, cursor: str | None, *kinds: type) -> Any:
    """Where a cursor of the list `of` points, as a tuple of these kinds; None without one.

    Raises:
        Invalid: it was not made by `cursor_of` for this list.
    """
    if cursor is None:
        return None
    try:
        return _read(of, cursor, kinds)
    except (ValueError, TypeError, OverflowError) as error:
        detail = "the cursor is none of this list; send `next_cursor` as it was given, or none"
        raise Invalid(detail, [FieldError("/cursor", detail)]) from error


def page_after(
    of: str, items: Sequence[tuple[str, T]], cursor: str | None, limit: int
) -> tuple[list[T], str | None]:
    """A page of a short list that is held whole, by each item's key, in ascending order.

    Returns the items, and the cursor of the next page. Raises Invalid as `place_of` does.
    """
    place = place_of(of, cursor, str)
    left = [each for each in items if place is None or each[0] > place[0]]
    page = left[:limit]
    more = cursor_of(of, page[-1][0]) if page and len(left) > limit else None
    return [item for _, item in page], more


def _read(of: str, cursor: str, kinds: Sequence[type]) -> tuple[str | datetime, ...]:
    if len(cursor) > LONGEST or not cursor.isascii():
        raise ValueError(cursor)
    padded = cursor + "=" * (-len(cursor) % 4)
    whose, *parts = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    if whose != of or len(parts) != len(kinds):
        raise ValueError(cursor)
    return tuple(_part(part, kind) for part, kind in zip(parts, kinds, strict=True))


def _part(part: Any, kind: type) -> str | datetime:
    if type(part) is not str or "\x00" in part:
        raise TypeError(part)
    if kind is not datetime:
        return part
    at = datetime.fromisoformat(part)
    if at.tzinfo is None:
        raise ValueError(part)
    return at.astimezone(UTC)
