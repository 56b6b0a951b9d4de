"""The runner's REST API: definitions, agents, runs, messages, grants."""

from placet_runner.api.definitions import definitions_router
from placet_runner.api.grants import grants_router
from placet_runner.api.runs import MessageBody, StartBody, router

__all__ = ["MessageBody", "StartBody", "definitions_router", "grants_router", "router"]
