"""Collections in MongoDB; with `documents.py`, all that knows a MongoDB driver."""

from placet.store.mongo.database import MongoDatabase

__all__ = ["MongoDatabase"]
