"""/v1/runs/{id}/grants and /v1/agents/{id}/trust: what was allowed beyond one call."""

from fastapi import APIRouter
from pydantic import BaseModel

from placet.domain.grant import GivenGrant
from placet.domain.naming import Name
from placet.process.cursors import Cursor, Limit, page_after
from placet_runner.api.callers import Reader, Writer, on_behalf, somebody
from placet_runner.usecases.grants import Grants, Trusted


class GrantList(BaseModel):
    """The grants of one run, in the order in which they were given."""

    items: list[GivenGrant]
    next_cursor: str | None = None


class TrustList(BaseModel):
    """The tools of an agent that a person trusts."""

    items: list[str]
    next_cursor: str | None = None


def grants_router(grants: Grants, trusted: Trusted) -> APIRouter:
    """What was allowed beyond one call."""
    api = APIRouter(prefix="/v1", tags=["grants"])

    @api.get("/runs/{run_id}/grants", summary="The grants of a run")
    async def list_grants(
        run_id: str, who: Reader, limit: Limit = 100, cursor: Cursor = None
    ) -> GrantList:
        """The grants of a run, with who gave them and how often they were used."""
        given = await grants.list(who.namespace, run_id)
        numbered = [(f"{number:09}", grant) for number, grant in enumerate(given)]
        items, more = page_after(f"grants:{run_id}", numbered, cursor, limit)
        return GrantList(items=items, next_cursor=more)

    @api.delete("/runs/{run_id}/grants/{grant_id}", summary="Take a grant back")
    async def revoke(run_id: str, grant_id: str, who: Writer) -> GivenGrant:
        """Take a grant back: what it covers and has not started asks again."""
        return await grants.revoke(who.namespace, run_id, grant_id, who.id)

    @api.get("/agents/{agent}/trust", summary="The tools that a person trusts")
    async def list_trust(
        agent: str,
        who: Reader,
        user: Name | None = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> TrustList:
        """The tools of an agent (agt_...) that a person trusts; another than one's own needs `runs:as`."""
        person = somebody(on_behalf(who, user))
        tools = await trusted.tools(who.namespace, agent, person)
        items, more = page_after("trust", [(tool, tool) for tool in tools], cursor, limit)
        return TrustList(items=items, next_cursor=more)

    @api.delete("/agents/{agent}/trust/{tool}", summary="Trust a tool no more")
    async def end_trust(agent: str, tool: str, who: Writer, user: Name | None = None) -> TrustList:
        """Trust a tool no more; what is trusted still."""
        person = somebody(on_behalf(who, user))
        return TrustList(items=list(await trusted.end(who.namespace, agent, person, tool)))

    return api
