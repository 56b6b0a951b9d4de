"""`placet extend`: more time for an input."""

from datetime import timedelta
from typing import Annotated

from cyclopts import Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, print_json
from placet.cli.runs import Json, acting_user, client
from placet.errors import Invalid


async def extend(
    id: str,
    *,
    hours: Annotated[float, Parameter(help="How much later than its deadline is now.")],
    from_: Annotated[
        str | None, Parameter(name="--from", help="Who gives it; PLACET_USER otherwise.")
    ] = None,
    json: Json = False,
) -> int:
    """Give an input more time, at most to 30 days from now.

    Exits with 5 if it has settled or expired, 4 if you may not, 3 if there is no such input.
    """
    if not 0 < hours <= 720:
        raise Invalid("--hours: more than 0, at most 720")
    async with client() as placet:
        waiting = await placet.input(id)
        until = waiting.value.request.expires_at
        if until is None:
            raise Invalid(f"{id} has no deadline: it waits")
        extended = await waiting.extend(until + timedelta(hours=hours), from_=acting_user(from_))
    if json:
        print_json(extended.value.model_dump(mode="json"))
    else:
        notes.print(f"{id} waits until {extended.value.request.expires_at:%Y-%m-%d %H:%M} UTC")
    return Exit.OK
