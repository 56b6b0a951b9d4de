"""Pages of lists: how long they are, and where the next begins."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from placet.process.cursors import cursor_of, place_of
from placet.process.http import json_response


def name_after(of: str, cursor: str | None) -> str | None:
    """The name behind which the list `of` goes on. Raises Invalid."""
    place = place_of(of, cursor, str)
    return None if place is None else str(place[0])


def named_page(of: str, found: Sequence[dict[str, Any]], limit: int, name: str) -> Response:
    """A page of the list `of`, which is sorted by a name."""
    return _page(found, cursor_of(of, found[-1][name]) if len(found) == limit else None)


def aged_page(of: str, found: Sequence[dict[str, Any]], limit: int) -> Response:
    """A page of the list `of`, which is sorted by its age."""
    last = found[-1] if len(found) == limit else None
    return _page(found, cursor_of(of, last["created_at"], last["id"]) if last else None)


def _page(found: Sequence[dict[str, Any]], cursor: str | None) -> Response:
    return json_response({"items": found, "next_cursor": cursor})
