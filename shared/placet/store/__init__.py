"""Where documents are kept: one port, on MongoDB or on SQLite, chosen by a URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from placet.clock import Clock
from placet.errors import SettingsError
from placet.store.port import (
    BadStatement,
    Collection,
    Database,
    Document,
    Filter,
    Index,
    Sort,
    Update,
)

__all__ = [
    "BadStatement",
    "Collection",
    "Database",
    "Document",
    "Filter",
    "Index",
    "Sort",
    "Update",
    "open_database",
]


def open_database(url: str, name: str, *, clock: Clock) -> Database:
    """Return the database `name` of the server at `url`; call its `open` before use.

    `mongodb://...` and `mongodb+srv://...` are MongoDB. `sqlite:///directory` keeps each database
    in a file of its own, `directory/name.db`; `sqlite://:memory:` keeps it in memory, and a second
    call gives another, empty one. Times come from MongoDB's clock, or for SQLite from `clock`.

    Raises:
        placet.errors.SettingsError: the URL has another scheme.
    """
    parts = urlsplit(url)
    match parts.scheme:
        case "mongodb" | "mongodb+srv":
            from placet.store.mongo import MongoDatabase  # noqa: PLC0415 - slow, and optional

            return MongoDatabase(url, name)
        case "sqlite":
            from placet.store.sqlite import SQLiteDatabase  # noqa: PLC0415 - the other one

            if ":memory:" in url:
                return SQLiteDatabase(":memory:", clock=clock)
            return SQLiteDatabase(Path(unquote(parts.path)) / f"{name}.db", clock=clock)
        case _:
            raise SettingsError(f"store URL {url!r}: the scheme must be mongodb or sqlite")
