"""`placet definitions`: what runs can be of, and putting such over the API."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from placet.agents.definitions import SUFFIXES, read_table
from placet.cli.exits import Exit
from placet.cli.output import notes, out, print_json, safe
from placet.cli.runs import Json, client
from placet.cli.tables import Column, print_table
from placet.client.definitions import (
    delete_definition,
    list_definitions,
    put_definition,
    show_definition,
)
from placet.errors import DefinitionError, NotFound

definitions = App(name="definitions", help="What runs can be of; those of files are read only.")
COLUMNS = (
    Column("NAME"), Column("FROM"), Column("MODEL", 8), Column("TOOLS", 12, wraps=True),
    Column("VERSION"), Column("BY", 6),
)  # fmt: skip


@definitions.command(name="list")
async def list_(*, json: Json = False) -> int:
    """List every definition that a run can be of, and what could not be loaded."""
    async with client() as placet:
        found = await list_definitions(placet.transport)
    if json:
        print_json(found)
        return Exit.OK
    print_table(COLUMNS, [_row(each) for each in found["items"]])
    broken = [f"{e['name']}: {e['problem']}" for e in found["items"] if e["problem"]]
    for problem in [*found["problems"], *broken]:
        notes.print(f"[red]not loaded:[/] {safe(problem)}")
    return Exit.OK


@definitions.command
async def show(name: str, *, json: Json = False) -> int:
    """Show one definition, as it was put."""
    async with client() as placet:
        found, tag = await show_definition(placet.transport, name)
    if json:
        print_json(found | {"etag": tag})
    elif found["definition"] is None:
        out.print(f"{safe(name)} is in a file of the operator's; its tools: {_listed(found)}")
    else:
        print_json(found["definition"])
        notes.print(f"version {found['version']}, put by {safe(found['updated_by'])}")
    return Exit.OK


@definitions.command
async def put(
    file: Path,
    *,
    name: Annotated[
        str | None, Parameter(help="How it is called; the file's `name`, or its own, otherwise.")
    ] = None,
    replace: Annotated[
        bool, Parameter(negative="", help="Replace the version that is there now.")
    ] = False,
    json: Json = False,
) -> int:
    """Put a definition (.toml or .json) into the API; it holds for the runs from then on."""
    if file.suffix not in SUFFIXES:
        raise DefinitionError(f"{file}: a definition is a {' or '.join(SUFFIXES)} file")
    body = read_table(file)
    called = str(name or body.get("name") or file.stem)
    async with client() as placet:
        tag = await _tag(placet.transport, called) if replace else None
        made = await put_definition(placet.transport, called, body, tag)
    if json:
        print_json(made)
    else:
        notes.print(f"{safe(called)} is version {made['version']}")
    return Exit.OK


@definitions.command
async def delete(name: str) -> int:
    """Delete a definition as it is now; its runs that wait go on once there is another of its name."""
    async with client() as placet:
        _, tag = await show_definition(placet.transport, name)
        await delete_definition(placet.transport, name, tag)
    notes.print(f"{safe(name)} is deleted")
    return Exit.OK


async def _tag(transport: Any, name: str) -> str | None:
    try:
        return (await show_definition(transport, name))[1]
    except NotFound:
        return None


def _row(found: dict[str, Any]) -> list[str]:
    version, by = str(found["version"] or "-"), safe(found["updated_by"] or "-")
    return [found["name"], found["source"], safe(found["model"]), _listed(found), version, by]


def _listed(found: dict[str, Any]) -> str:
    return safe(", ".join(found["tools"])) or "-"
