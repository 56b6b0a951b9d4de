"""The run as it asks people."""

from datetime import timedelta

from placet.agents.agent import Agent
from placet.kernel import State
from placet.kernel.asking import Asker
from placet_runner.ports import Document


def asker_of(document: Document, state: State, agent: Agent) -> Asker:
    """The run as it asks: for whoever spoke last."""
    heard = [turn for turn in (*state.turns, *state.unread) if turn.role == "user"]
    last = heard[-1] if heard else None
    human = agent.human_input
    return Asker(
        agent_id=document["agent_id"],
        agent=document["agent"],
        run_id=document["_id"],
        root_run_id=document["root_run_id"],
        namespace=document["namespace"],
        path=tuple(document["path"]),
        initiator=state.speaker or document["initiator"],
        approvers=human.approvers,
        user_message=last.text if last else "",
        expires_in=timedelta(seconds=human.expires_in_seconds),
        accepts=agent.accepts,
        trusts=agent.policy.trusts,
        editable=agent.editable_schemas,
    )
