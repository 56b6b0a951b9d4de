"""Which agents' shells can't run here, said at start rather than at the first line."""

from collections.abc import Iterable

from placet.agents.agent import Agent
from placet.agents.workspace import sandbox_for
from placet.errors import SettingsError
from placet.gate import Role


def refused_shells(agents: Iterable[Agent]) -> list[str]:
    """Why a line of these agents would be refused. Starts processes, and waits for them."""
    refused = []
    for agent in agents:
        if any(tool.role is Role.SHELL for tool in agent.toolbox.values()):
            try:
                sandbox_for(agent.workspace)
            except SettingsError as error:
                refused.append(f"agent {agent.name}: {error}")
    return refused
