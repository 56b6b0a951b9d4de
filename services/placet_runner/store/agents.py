"""Which run of an agent is its current one; kept only for agents with more than one run."""

from placet.store.port import Collection, Document


class StoredAgents:
    """One document for an agent that was sent a second input."""

    def __init__(self, agents: Collection) -> None:
        self._agents = agents

    async def current(self, namespace: str, agent_id: str) -> Document | None:
        """The agent's record, if it has had more than one run."""
        found = await self._agents.get(agent_id)
        return found if found and found["namespace"] == namespace else None

    async def set_current(
        self, namespace: str, agent_id: str, expected: str, run_id: str, previous: str
    ) -> bool:
        """Make `run_id` the current run, after `previous`, if `expected` still is. False: it is not."""
        fresh = {"_id": agent_id, "namespace": namespace, "current_run": expected}
        await self._agents.insert(fresh)
        where = {"namespace": namespace, "current_run": expected}
        change = {"$set": {"current_run": run_id, "previous_run": previous}}
        return await self._agents.update(agent_id, where, change) is not None
