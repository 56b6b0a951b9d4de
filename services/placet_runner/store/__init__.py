"""The runs in a database: every conditional write of the protocol, by its name."""

from placet_runner.store.agents import StoredAgents
from placet_runner.store.definitions import StoredDefinitions
from placet_runner.store.runs import StoredRuns
from placet_runner.store.schemas import StoredSchemas

__all__ = ["StoredAgents", "StoredDefinitions", "StoredRuns", "StoredSchemas"]
