"""Pages of lists: how long they are, and where the next begins."""

from collections.abc import Sequence
from typing import Annotated, Any

import orjson
from fastapi import Query
from starlette.responses import Response

from placet.process.http import json_response
from placet_broker.api.cursors import cursor_of

Limit = Annotated[int, Query(ge=1, le=200)]


def named_page(found: Sequence[dict[str, Any]], limit: int, name: str) -> Response:
    """A page of what is sorted by a name."""
    return _page(found, cursor_of(found[-1][name]) if len(found) == limit else None)


def aged_page(found: Sequence[dict[str, Any]], limit: int) -> Response:
    """A page of what is sorted by its age."""
    last = found[-1] if len(found) == limit else None
    return _page(found, cursor_of(last["created_at"], last["id"]) if last else None)


def _page(found: Sequence[dict[str, Any]], cursor: str | None) -> Response:
    return json_response(orjson.dumps({"items": found, "next_cursor": cursor}))
