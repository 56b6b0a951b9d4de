"""Collections in a SQLite file, or in memory: the store of `placet dev` and of tests."""

from placet.store.sqlite.database import SQLiteDatabase

__all__ = ["SQLiteDatabase"]
