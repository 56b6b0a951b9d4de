"""`placet delegate`, `placet delegations`: who answers in whose place, for a time."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from cyclopts import App, Parameter

from placet.cli.exits import Exit
from placet.cli.listed import moment, sent, whole
from placet.cli.output import notes, print_json, safe
from placet.cli.runs import Json, client
from placet.cli.tables import Column, print_table
from placet.errors import Invalid

delegations = App(name="delegations", help="List who answers in whose place, or end that.")
COLUMNS = (
    Column("DELEGATION"), Column("OF"), Column("TO"), Column("UNTIL"), Column("STATE", 5),
    Column("BY", 4),
)  # fmt: skip
_SPAN = re.compile(r"([0-9]{1,4})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


async def delegate(
    to: str,
    *,
    until: Annotated[
        str, Parameter(help="12h, 3d, 2w, or a time such as 2030-01-31T18:00 (UTC unless said).")
    ],
    from_: Annotated[
        str | None,
        Parameter(name="--from", help="In whose place; yours otherwise. Needs `operate`."),
    ] = None,
    json: Json = False,
) -> int:
    """Let somebody answer in your place as well, for a time, at most 366 days.

    Exits with 5 if you stand in for them already.
    """
    body = {"to": to, "until": moment_of(until).isoformat()}
    if from_ is not None:
        body["from"] = from_
    async with client() as placet:
        made = await placet.transport.post("/v1/delegations", body)
    if json:
        print_json(made)
    else:
        notes.print(
            f"{safe(to)} answers in the place of {safe(made['from'])} until "
            f"{moment(made['until'])} UTC; to end it: placet delegations end {made['id']}"
        )
    return Exit.OK


@delegations.command(name="list")
async def list_(
    *,
    all: Annotated[bool, Parameter(negative="", help="Those that have ended too.")] = False,
    json: Json = False,
) -> int:
    """List the delegations of your namespace that are in force, newest first."""
    async with client() as placet:
        query = {} if all else {"in_force": "true"}
        found = await whole(placet.transport, "/v1/delegations", **query)
    if json:
        print_json(found)
    else:
        print_table(
            COLUMNS, [_row(each) for each in found], nothing="nobody answers in another's place"
        )
    return Exit.OK


@delegations.command
async def end(id: str, *, json: Json = False) -> int:
    """End a delegation now."""
    ended = await sent("delete", "delegations", id)
    if json:
        print_json(ended)
    else:
        notes.print(f"{id} has ended")
    return Exit.OK


def moment_of(text: str) -> datetime:
    """A time as a person gives it: from now, or by the calendar. Raises Invalid."""
    span = _SPAN.fullmatch(text)
    if span:
        return datetime.now(UTC) + timedelta(hours=int(span[1]) * _HOURS[span[2]])
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        detail = "--until: 12h, 3d, 2w, or a time such as 2030-01-31T18:00"
        raise Invalid(detail) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _row(found: dict[str, Any]) -> list[str]:
    past = datetime.fromisoformat(found["until"]) <= datetime.now(UTC)
    state = "ended" if found["ended_at"] or past else "in force"
    names = [safe(found[name]) for name in ("from", "to")]
    return [found["id"], *names, moment(found["until"]), state, safe(found["by"])]
