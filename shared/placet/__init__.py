"""Placet: durable human approval for AI agents. This is the public API for people who write agents."""

from placet.agents.agent import Agent, HumanInput
from placet.agents.context import Context
from placet.agents.handlers import ApprovalHandler, CliApprovalHandler, InteractionHandler
from placet.agents.models import Model
from placet.agents.scripted import ScriptedModel
from placet.agents.tool import Tool, tool
from placet.domain.interaction import ApprovalDecision, ApprovalRequest
from placet.domain.risk import ToolRisk
from placet.errors import PlacetError, ToolError

__all__ = [
    "Agent",
    "ApprovalDecision",
    "ApprovalHandler",
    "ApprovalRequest",
    "CliApprovalHandler",
    "Context",
    "HumanInput",
    "InteractionHandler",
    "Model",
    "PlacetError",
    "ScriptedModel",
    "Tool",
    "ToolError",
    "ToolRisk",
    "tool",
]
