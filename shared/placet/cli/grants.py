"""`placet grants`: what was allowed beyond one call, and taking it back."""

from typing import Annotated

from cyclopts import Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, print_json, safe
from placet.cli.runs import Json, client
from placet.cli.tables import Column, print_table
from placet.domain.grant import GivenGrant

COLUMNS = (
    Column("GRANT"), Column("FOR"), Column("COVERS", 12, wraps=True), Column("BY", 6),
    Column("USES"), Column("STATE"),
)  # fmt: skip


async def grants(
    run: str,
    *,
    revoke: Annotated[str | None, Parameter(help="Take this grant (grt_...) back.")] = None,
    json: Json = False,
) -> int:
    """List the grants of a run, or take one back: what it covers and has not started asks again."""
    async with client() as placet:
        if revoke is not None:
            taken = await placet.runs.revoke_grant(run, revoke)
            if json:
                print_json(taken.model_dump(mode="json"))
            else:
                notes.print(f"{taken.id} is revoked")
            return Exit.OK
        found = await placet.runs.grants(run)
    if json:
        print_json([grant.model_dump(mode="json") for grant in found])
    elif found:
        print_table(COLUMNS, [_row(grant) for grant in found])
    else:
        notes.print("nothing was granted in this run")
    return Exit.OK


def _row(grant: GivenGrant) -> list[str]:
    whole = f"exactly one call of {grant.tool}" if grant.exact else grant.tool
    covers = ", ".join(grant.keys) or whole
    by = grant.by.id if grant.by else "-"
    state = "revoked" if grant.revoked_at else "holds"
    return [grant.id, grant.scope, safe(covers), safe(by), str(grant.uses), state]
