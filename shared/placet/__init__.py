"""Placet: durable human approval for AI agents. This is the public API for people who write agents.

Each name is imported when it is first used: a command or a client that needs none starts faster.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placet.agents.agent import Agent
    from placet.agents.context import Context
    from placet.agents.handlers import ApprovalHandler, CliApprovalHandler, InteractionHandler
    from placet.agents.human_input import HumanInput
    from placet.agents.interventions import (
        HumanInTheLoop,
        HumanInTheLoopClassifier,
        LLMClassifierConfig,
        RiskVerdict,
    )
    from placet.agents.models import Model
    from placet.agents.scripted import ScriptedModel
    from placet.agents.terminal import CliInteractionHandler
    from placet.agents.tool import Tool, tool
    from placet.domain.answer import Action
    from placet.domain.consent import ConsentRule
    from placet.domain.interaction import ApprovalDecision, ApprovalRequest, Option, Question
    from placet.domain.risk import ToolRisk
    from placet.domain.stage import InteractionPoint, Stage
    from placet.errors import PlacetError, ToolError

__all__ = [
    "Action",
    "Agent",
    "ApprovalDecision",
    "ApprovalHandler",
    "ApprovalRequest",
    "CliApprovalHandler",
    "CliInteractionHandler",
    "ConsentRule",
    "Context",
    "HumanInTheLoop",
    "HumanInTheLoopClassifier",
    "HumanInput",
    "InteractionHandler",
    "InteractionPoint",
    "LLMClassifierConfig",
    "Model",
    "Option",
    "PlacetError",
    "Question",
    "RiskVerdict",
    "ScriptedModel",
    "Stage",
    "Tool",
    "ToolError",
    "ToolRisk",
    "tool",
]
_MODULES = {
    "Action": "domain.answer",
    "Agent": "agents.agent",
    "ApprovalDecision": "domain.interaction",
    "ApprovalHandler": "agents.handlers",
    "ApprovalRequest": "domain.interaction",
    "CliApprovalHandler": "agents.handlers",
    "CliInteractionHandler": "agents.terminal",
    "ConsentRule": "domain.consent",
    "Context": "agents.context",
    "HumanInTheLoop": "agents.interventions",
    "HumanInTheLoopClassifier": "agents.interventions",
    "HumanInput": "agents.human_input",
    "InteractionHandler": "agents.handlers",
    "InteractionPoint": "domain.stage",
    "LLMClassifierConfig": "agents.interventions",
    "Model": "agents.models",
    "Option": "domain.interaction",
    "PlacetError": "errors",
    "Question": "domain.interaction",
    "RiskVerdict": "agents.interventions",
    "ScriptedModel": "agents.scripted",
    "Stage": "domain.stage",
    "Tool": "agents.tool",
    "ToolError": "errors",
    "ToolRisk": "domain.risk",
    "tool": "agents.tool",
}


def __getattr__(name: str) -> Any:
    """The public name, from the module that defines it; kept from then on."""
    module = _MODULES.get(name)
    if module is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public API."""
    return __all__
