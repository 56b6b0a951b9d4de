"""Definitions over the API: list, show, put, delete."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from placet.client.transport import Transport

PATH = "/v1/definitions"


async def list_definitions(transport: Transport) -> dict[str, Any]:
    """Every definition that a run can be of, and what could not be loaded: `items`, `problems`."""
    items: list[Any] = []
    cursor: str | None = None
    while True:
        page = await transport.get(PATH, limit=200, cursor=cursor)
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return {"items": items, "problems": page["problems"]}


async def show_definition(transport: Transport, name: str) -> tuple[dict[str, Any], str]:
    """One definition, and the ETag of its version. Raises NotFound."""
    return await transport.get_tagged(_path(name))


async def put_definition(
    transport: Transport, name: str, body: Mapping[str, Any], tag: str | None
) -> dict[str, Any]:
    """Make a definition, or with `tag` replace that version of it.

    Raises:
        Invalid: the body does not fit.
        Changed: there is one already, or it is of another version by now.
        Conflict: a file of the operator's has that name.
    """
    headers = {"If-Match": tag} if tag is not None else {"If-None-Match": "*"}
    made: dict[str, Any] = await transport.put(_path(name), body, headers=headers)
    return made


async def delete_definition(transport: Transport, name: str, tag: str) -> None:
    """Delete this version. Raises NotFound, Changed, Conflict."""
    await transport.delete(_path(name), headers={"If-Match": tag})


def _path(name: str) -> str:
    return f"{PATH}/{quote(name, safe='')}"
