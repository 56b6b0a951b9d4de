"""What people allowed beyond one call, granted or trusted: look at it, take it back."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from placet.clock import Clock
from placet.domain.grant import GivenGrant
from placet.errors import Conflict, NotFound
from placet.gate.names import same_tool
from placet_runner.ports import Agents, Image, Runs
from placet_runner.rules.views import grants_of


@dataclass(frozen=True, slots=True)
class Trusted:
    """What a person trusts of an agent, in all of its runs for them."""

    agents: Agents

    async def tools(self, namespace: str, agent_id: str, person: str) -> Sequence[str]:
        """By name."""
        return sorted(await self.agents.trusted(namespace, agent_id, person))

    async def end(self, namespace: str, agent_id: str, person: str, tool: str) -> Sequence[str]:
        """Trust a tool no more, from the agent's next run on; what is trusted still. Again is harmless."""
        known = await self.agents.trusted(namespace, agent_id, person)
        if (digest := known.get(same_tool(tool))) is not None:
            await self.agents.end_trust(namespace, agent_id, person, same_tool(tool), digest)
        return await self.tools(namespace, agent_id, person)


@dataclass(frozen=True, slots=True)
class Grants:
    """The grants of a run."""

    runs: Runs
    look: Callable[[str, str], Awaitable[Image]]
    """Reads a run of a namespace; raises NotFound."""
    clock: Clock

    async def list(self, namespace: str, run_id: str) -> list[GivenGrant]:
        """Every grant that was given in this run. Raises NotFound."""
        image = await self.look(namespace, run_id)
        return grants_of(await self.runs.history(image), image.revoked)

    async def revoke(self, namespace: str, run_id: str, grant_id: str, by: str) -> GivenGrant:
        """R21: what has not started by now asks again. Again is harmless.

        Raises:
            NotFound: no such run, or no such grant in it.
            Conflict: the run has ended, and its grants with it.
        """
        image = await self.look(namespace, run_id)
        grant = await self._grant(image, grant_id)
        if grant.revoked_at is not None:
            return grant
        written = await self.runs.revoke(run_id, grant_id, by, self.clock.now())
        grant = await self._grant(written or await self.look(namespace, run_id), grant_id)
        if grant.revoked_at is None:
            raise Conflict(f"{run_id} has ended; its grants ended with it", code="not_live")
        return grant

    async def _grant(self, image: Image, grant_id: str) -> GivenGrant:
        found = grants_of(await self.runs.history(image), image.revoked)
        grant = next((each for each in found if each.id == grant_id), None)
        if grant is None:
            raise NotFound(f"no grant {grant_id!r} in {image.id}")
        return grant
