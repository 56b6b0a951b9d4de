"""The runs in a database: every conditional write of the protocol, by its name."""

from placet_runner.store.agents import StoredAgents
from placet_runner.store.runs import StoredRuns

__all__ = ["StoredAgents", "StoredRuns"]
