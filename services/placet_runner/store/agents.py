"""What is known of an agent beyond its runs: which one is current, and what a person trusts in them."""

from collections.abc import Mapping

from placet.ids import derived_id
from placet.kernel.journal import TrustGiven
from placet.store.port import Collection, Document
from placet_runner.store.expressions import Expression, literal, push

REMEMBERED_INPUTS = 1000
"""Questions whose answer gave trust: the same answer does not give it again once it has ended."""


class StoredAgents:
    """One document for an agent that was sent a second input, one for each person who trusts its tools."""

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

    async def trusted(self, namespace: str, agent_id: str, person: str) -> Mapping[str, str]:
        """The tools that a person trusts of an agent, each with the digest of its schema then."""
        found = await self._agents.get(_trust_id(namespace, agent_id, person))
        tools = found["tools"] if found else []
        return {entry["tool"]: entry["schema_digest"] for entry in tools}

    async def keep_trust(self, namespace: str, agent_id: str, given: TrustGiven) -> None:
        """Keep trust for the person's later runs. The same input gives it once, also after it ended."""
        assert given.person is not None  # noqa: S101 - nobody's trust is not kept
        who = {"namespace": namespace, "agent_id": agent_id, "person": given.person}
        record_id = _trust_id(*who.values())
        await self._agents.insert({"_id": record_id, **who, "tools": [], "inputs": []})
        entry = {"tool": given.tool, "schema_digest": given.schema_digest, "at": given.at}
        change = {
            "tools": {"$concatArrays": [_but_for({"tool": given.tool}), literal([entry])]},
            "inputs": {"$slice": [push("inputs", [given.input_id]), -REMEMBERED_INPUTS]},
        }
        where = {"inputs": {"$ne": given.input_id}}
        await self._agents.update(record_id, where, [{"$set": change}])

    async def end_trust(
        self, namespace: str, agent_id: str, person: str, tool: str, digest: str
    ) -> None:
        """End the trust in a tool as it was, unless it was given anew for another digest."""
        ended = _but_for({"tool": tool, "schema_digest": digest})
        record_id = _trust_id(namespace, agent_id, person)
        await self._agents.update(record_id, {}, [{"$set": {"tools": ended}}])


def _trust_id(namespace: str, agent_id: str, person: str) -> str:
    return derived_id("trust", namespace, agent_id, person)


def _but_for(fields: Mapping[str, str]) -> Expression:
    """The trusted tools without the one of these fields."""
    same = [{"$eq": [f"$$this.{name}", literal(value)]} for name, value in fields.items()]
    return {"$filter": {"input": "$tools", "cond": {"$not": [{"$and": same}]}}}
