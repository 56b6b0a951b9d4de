"""The run as it asks people."""

from placet.agents.agent import Agent
from placet.agents.delegating import spoke_in
from placet.kernel import State
from placet.kernel.asking import Asker
from placet_runner.ports import Document


def asker_of(document: Document, state: State, agent: Agent) -> Asker:
    """The run as it asks: for whoever spoke last."""
    initiator = state.speaker or document["initiator"]
    return Asker(
        agent_id=document["agent_id"],
        agent=document["agent"],
        run_id=document["_id"],
        root_run_id=document["root_run_id"],
        root_agent_id=document.get("root_agent_id", ""),
        stage=state.stage.name,
        namespace=document["namespace"],
        path=tuple(document["path"]),
        initiator=initiator,
        spoke=spoke_in(state),
        consent=(*state.heritage.consent, agent.human_input.rules),
        user_message=state.wanted,
        expires_in=agent.patience,
        on_expiry=agent.human_input.on_expiry,
        accepts=agent.accepts,
        trusts=agent.policy.trusts,
        editable=agent.editable_schemas,
    )
