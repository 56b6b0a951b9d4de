"""What a freeze covers. It says nothing about consent: a covered call waits, whoever approved it."""

from collections.abc import Collection

from placet.domain.freeze import Freeze
from placet.gate.names import same_tool


def covers(freeze: Freeze, namespace: str, agents: Collection[str], tool: str | None) -> bool:
    """Whether a freeze, lifted or not, is about a call, or about a question.

    Args:
        freeze: the freeze.
        namespace: where the run is.
        agents: the run's agent id, the definitions from the root run to it, the root's agent id.
        tool: the call's tool; None for what no call of a known tool asks. Only a freeze of all tools
            covers that.
    """
    if freeze.namespace != namespace or (freeze.agent is not None and freeze.agent not in agents):
        return False
    if not freeze.tools:
        return True
    return tool is not None and same_tool(tool) in map(same_tool, freeze.tools)
