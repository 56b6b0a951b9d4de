"""The interactions in the database: each row of the protocol is one function, and nothing else writes."""

from placet_broker.store.interactions import StoredInteractions
from placet_broker.store.listing import INDEXES

__all__ = ["INDEXES", "StoredInteractions"]
