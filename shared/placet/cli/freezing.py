"""`placet freeze`, `freezes`, `unfreeze`: keep calls from starting, and let them start again."""

from typing import Annotated

from cyclopts import Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, print_json, safe
from placet.cli.runs import Json, client
from placet.cli.tables import Column, age, print_table
from placet.client import AsyncClient
from placet.domain.freeze import Freeze
from placet.errors import PlacetError

COLUMNS = (
    Column("FREEZE"), Column("AGENT", 8), Column("TOOLS", 8, wraps=True), Column("BY", 6),
    Column("AGE", 3), Column("STATE", 6), Column("REASON", 12, wraps=True),
)  # fmt: skip


async def freeze(
    *,
    reason: Annotated[str, Parameter(help="Why, for whoever waits.")],
    agent: Annotated[
        str | None, Parameter(help="Only this definition or agent (agt_...), and runs below it.")
    ] = None,
    tool: Annotated[
        tuple[str, ...], Parameter(negative="", help="Only this tool; may be given several times.")
    ] = (),
    json: Json = False,
) -> int:
    """Keep calls from starting until `placet unfreeze`; what runs already runs on.

    Without --agent and --tool, every call of the namespace. Exits with 4 if you may not.
    """
    async with client() as placet:
        made = await placet.freezes.make(reason, agent=agent, tools=tool)
        unknown = await _unknown(placet, made)
    if json:
        print_json(made.model_dump(mode="json"))
    else:
        notes.print(f"{made.id} is in force: {safe(_what(made))}")
        notes.print(f"[dim]placet unfreeze {made.id}[/]")
    for name in unknown:
        notes.print(f"[yellow]no definition that is loaded is or has {safe(name)}[/]")
    return Exit.OK


async def freezes(
    *,
    all_: Annotated[
        bool, Parameter(name="--all", negative="", help="Those that were lifted, too.")
    ] = False,
    limit: Annotated[int, Parameter(help="At most so many.")] = 100,
    json: Json = False,
) -> int:
    """List what is kept from starting."""
    async with client() as placet:
        found = await placet.freezes.list(active=None if all_ else True, limit=limit)
    if json:
        print_json([each.model_dump(mode="json") for each in found])
    else:
        print_table(COLUMNS, [_row(each) for each in found], nothing="nothing is frozen")
    return Exit.OK


async def unfreeze(id: str, *, json: Json = False) -> int:
    """Lift a freeze (frz_...): what waits is checked again, and starts.

    Exits with 3 if there is no such freeze, 4 if you may not.
    """
    async with client() as placet:
        lifted = await placet.freezes.lift(id)
    if json:
        print_json(lifted.model_dump(mode="json"))
    else:
        notes.print(f"{lifted.id} is lifted")
    return Exit.OK


async def _unknown(placet: AsyncClient, made: Freeze) -> list[str]:
    """Names of the freeze that no loaded definition has; [] where that can't be seen."""
    try:
        loaded = (await placet.transport.get("/v1/definitions"))["items"]
    except PlacetError:
        return []
    tools = {name for each in loaded for name in each["tools"]} | {"bash", "shell"}
    names = {each["name"] for each in loaded}
    lost = [tool for tool in made.tools if tool not in tools]
    named = made.agent is not None and not made.agent.startswith("agt_")
    return [*lost, *([made.agent] if named and made.agent and made.agent not in names else [])]


def _what(each: Freeze) -> str:
    tools = ", ".join(each.tools) if each.tools else "every call"
    return f"{tools} of {each.agent or 'every agent'}"


def _row(each: Freeze) -> list[str]:
    state = "active" if each.active else f"lifted by {each.lifted_by}"
    tools = ", ".join(each.tools) or "all"
    cells = [each.agent or "all", tools, each.by, age(each.at), state, each.reason]
    return [each.id, *map(safe, cells)]
