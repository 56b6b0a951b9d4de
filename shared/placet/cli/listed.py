"""Lists that come in pages, all of one asked for page by page; and single things of them."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

from placet.cli.runs import client
from placet.client.transport import Transport

PAGE = 200


async def whole(transport: Transport, path: str, **query: Any) -> list[dict[str, Any]]:
    """Every item of a list."""
    return [item async for item in _items(transport, path, query)]


async def _items(
    transport: Transport, path: str, query: dict[str, Any]
) -> AsyncIterator[dict[str, Any]]:
    cursor = None
    while True:
        page = await transport.get(path, limit=PAGE, cursor=cursor, **query)
        for item in page["items"]:
            yield item
        cursor = page["next_cursor"]
        if cursor is None:
            return


async def sent(method: str, *parts: str, body: Any = None) -> dict[str, Any]:
    """What one thing is like after a `get`, `put` or `delete` of it."""
    async with client() as placet:
        send, path = getattr(placet.transport, method), place(*parts)
        found: dict[str, Any] = await (send(path) if body is None else send(path, body))
    return found


def place(*parts: str) -> str:
    """A path whose parts may hold anything."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def moment(at: str | None) -> str:
    """A time as a table shows it."""
    return "-" if at is None else f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M}"
