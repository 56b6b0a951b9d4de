"""`placet people`: the people that operators keep in the directory."""

from typing import Annotated, Any

from cyclopts import App, Parameter

from placet.cli.exits import Exit
from placet.cli.listed import moment, sent, whole
from placet.cli.output import out, print_json, safe
from placet.cli.runs import Json, client
from placet.cli.tables import Column, print_table

people = App(name="people", help="Who is known, under which identities, and who is let in no more.")
COLUMNS = (
    Column("PERSON"), Column("NAME", 8), Column("IDENTITIES", 12, wraps=True), Column("STATE", 8),
)  # fmt: skip


@people.command(name="list")
async def list_(*, json: Json = False) -> int:
    """List the people of your namespace."""
    async with client() as placet:
        found = await whole(placet.transport, "/v1/people")
    if json:
        print_json(found)
    else:
        print_table(
            COLUMNS,
            [_row(each) for each in found],
            nothing="nobody is in the directory; people with a key or a token need not be",
        )
    return Exit.OK


@people.command
async def show(id: str, *, json: Json = False) -> int:
    """Show one person."""
    return await _sent("get", id, json=json)


@people.command(name="set")
async def set_(
    id: str,
    *,
    name: Annotated[str | None, Parameter(help="What people call them.")] = None,
    email: Annotated[str | None, Parameter(help="Their address.")] = None,
    enable: Annotated[bool, Parameter(negative="", help="Let them in again.")] = False,
    json: Json = False,
) -> int:
    """Make a person, or change one; what is not said stays as it is."""
    said = {"name": name, "email": email}
    body: dict[str, Any] = {what: value for what, value in said.items() if value is not None}
    if enable:
        body["disabled"] = False
    return await _sent("put", id, json=json, body=body)


@people.command
async def disable(id: str, *, json: Json = False) -> int:
    """Let a person in no more: keys and sessions end at once, and tokens are refused."""
    return await _sent("delete", id, json=json)


@people.command
async def link(id: str, identity: str, *, json: Json = False) -> int:
    """Say that an identity on a channel (slack:ID, telegram:ID, discord:ID) is this person.

    Exits with 5 if it is somebody else.
    """
    return await _sent("put", id, "identities", identity, json=json)


@people.command
async def unlink(id: str, identity: str, *, json: Json = False) -> int:
    """Say no more that an identity on a channel is this person."""
    return await _sent("delete", id, "identities", identity, json=json)


async def _sent(method: str, *parts: str, json: bool, body: Any = None) -> int:
    found = await sent(method, "people", *parts, body=body)
    if json:
        print_json(found)
    else:
        _print(found)
    return Exit.OK


def _print(person: dict[str, Any]) -> None:
    out.print(f"[bold]{safe(person['id'])}[/]  {safe(person['name'] or '')}  {_state(person)}")
    lines = {
        "email": person["email"],
        "identities": ", ".join(person["identities"]),
        "groups that a token told": ", ".join(person["claimed_groups"]),
    }
    for label, value in lines.items():
        if value:
            out.print(f"  [dim]{label}:[/] {safe(value)}")


def _row(person: dict[str, Any]) -> list[str]:
    identities = ", ".join(person["identities"]) or "-"
    return [safe(person["id"]), safe(person["name"] or "-"), safe(identities), _state(person)]


def _state(person: dict[str, Any]) -> str:
    at = person["disabled_at"]
    return f"[red]disabled {moment(at)}[/]" if at else "enabled"
