"""`placet claim`, `release`, `audience`: looking at an input, and who may answer it."""

from typing import Annotated

from cyclopts import Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, print_json, safe
from placet.cli.respond import find
from placet.cli.runs import Json, acting_user, client
from placet.client import Input
from placet.errors import Invalid

From = Annotated[str | None, Parameter(name="--from", help="Who; PLACET_USER otherwise.")]
Names = Annotated[tuple[str, ...], Parameter(negative="", help="May be given several times.")]


async def claim(id: str, *, from_: From = None, json: Json = False) -> int:
    """Say that you are looking at an input: shown for ten minutes to whoever may answer it.

    It stops nobody. Exits with 5 if it has settled, 4 if you may not answer it, 3 if there is none.
    """
    async with client() as placet:
        claimed = await (await find(placet, id)).claim(from_=acting_user(from_))
    return _told(claimed, f"{claimed.id} is yours to look at, for ten minutes", json)


async def release(id: str, *, from_: From = None, json: Json = False) -> int:
    """Take your claim of an input back; somebody else's stays."""
    async with client() as placet:
        released = await (await find(placet, id)).release(from_=acting_user(from_))
    by = released.value.claimed
    return _told(released, f"{released.id} is {f'claimed by {by.by}' if by else 'free'}", json)


async def audience(id: str, *, add: Names = (), remove: Names = (), json: Json = False) -> int:
    """Name other approvers of an input (for the operator): people, group:NAME, service:NAME.

    Votes of those who are removed are gone. It stands in the input's history.
    """
    if not add and not remove:
        raise Invalid("say whom to --add or to --remove")
    async with client() as placet:
        edited = await (await find(placet, id)).edit_audience(add=add, remove=remove)
    named = ", ".join(edited.value.request.audience.named) or "whoever may answer inputs"
    return _told(edited, f"{edited.id} may be answered by {named}", json)


def _told(found: Input, text: str, json: bool) -> int:
    if json:
        print_json(found.value.model_dump(mode="json"))
    else:
        notes.print(safe(text))
        if found.value.unanswerable:
            notes.print("[yellow]fewer people may answer it than it takes[/]")
    return Exit.OK
