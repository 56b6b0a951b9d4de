"""`placet grants`, `placet trust`: what was allowed beyond one call, and taking it back."""

from typing import Annotated

from cyclopts import Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, out, print_json, safe
from placet.cli.runs import Json, User, acting_user, client
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
    else:
        print_table(
            COLUMNS, [_row(grant) for grant in found], nothing="nothing was granted in this run"
        )
    return Exit.OK


async def trust(
    agent: str,
    *,
    revoke: Annotated[str | None, Parameter(help="Trust this tool no more.")] = None,
    user: User = None,
    json: Json = False,
) -> int:
    """List the tools that a person trusts of an agent (agt_...), or end the trust in one."""
    async with client() as placet:
        whose = acting_user(user)
        if revoke is not None:
            left = await placet.agent(agent).end_trust(revoke, user=whose)
        else:
            left = await placet.agent(agent).trusted(user=whose)
    if json:
        print_json(left)
    else:
        for tool in left:
            out.print(safe(tool))
        if not left:
            notes.print("no tool of this agent is trusted")
    return Exit.OK


def _row(grant: GivenGrant) -> list[str]:
    whole = f"exactly one call of {grant.tool}" if grant.exact else grant.tool
    covers = ", ".join(grant.keys) or whole
    by = grant.by.id if grant.by else "-"
    state = "revoked" if grant.revoked_at else "holds"
    return [grant.id, grant.scope, safe(covers), safe(by), str(grant.uses), state]
