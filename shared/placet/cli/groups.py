"""`placet groups`: the groups that operators keep in the directory."""

from typing import Any

from cyclopts import App

from placet.cli.exits import Exit
from placet.cli.listed import sent, whole
from placet.cli.output import notes, print_json, safe
from placet.cli.runs import Json, client
from placet.cli.tables import Column, print_table

groups = App(name="groups", help="Groups of people that an audience names as group:NAME.")
COLUMNS = (Column("GROUP"), Column("MEMBERS", 12, wraps=True))


@groups.command(name="list")
async def list_(*, json: Json = False) -> int:
    """List the groups of your namespace. Groups that only tokens tell are not among them."""
    async with client() as placet:
        found = await whole(placet.transport, "/v1/groups")
    if json:
        print_json(found)
    else:
        print_table(COLUMNS, [_row(each) for each in found], nothing="no group is kept here")
    return Exit.OK


@groups.command(name="set")
async def set_(name: str, *members: str, json: Json = False) -> int:
    """Make a group of these people, or replace its members."""
    return await _sent("put", name, json=json, body={"members": members})


@groups.command
async def delete(name: str, *, json: Json = False) -> int:
    """Delete a group; nobody answers by it any more."""
    return await _sent("delete", name, json=json)


@groups.command
async def add(name: str, person: str, *, json: Json = False) -> int:
    """Put a person in a group."""
    return await _sent("put", name, "members", person, json=json)


@groups.command
async def remove(name: str, person: str, *, json: Json = False) -> int:
    """Take a person out of a group."""
    return await _sent("delete", name, "members", person, json=json)


async def _sent(method: str, *parts: str, json: bool, body: Any = None) -> int:
    found = await sent(method, "groups", *parts, body=body)
    if json:
        print_json(found)
    elif method == "delete" and len(parts) == 1:
        notes.print(f"{safe(found['name'])} is deleted")
    else:
        print_table(COLUMNS, [_row(found)])
    return Exit.OK


def _row(group: dict[str, Any]) -> list[str]:
    return [safe(group["name"]), safe(", ".join(group["members"]) or "-")]
