"""What a call costs a store: steps of SQLite's machine, or keys and documents that MongoDB looks at."""

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import pymongo

from placet.store.mongo import MongoDatabase
from placet.store.port import Database
from placet.store.sqlite import SQLiteDatabase


async def cost(database: Database, call: Callable[[], Awaitable[Any]]) -> int:
    """Make a call, and count what all of its reads looked at. Nobody else may use the database."""
    if isinstance(database, SQLiteDatabase):
        return await _steps(database, call)
    assert isinstance(database, MongoDatabase)
    url, name = database._url, database._name
    with pymongo.MongoClient[dict[str, Any]](url, tz_aware=True) as client:
        kept = client[name]
        kept.command("profile", 2)
        await call()
        kept.command("profile", 0)
        seen = list(kept["system.profile"].find({"docsExamined": {"$exists": True}}))
        kept.drop_collection("system.profile")
    return sum(each["docsExamined"] + each["keysExamined"] for each in seen)


async def _steps(database: SQLiteDatabase, call: Callable[[], Awaitable[Any]]) -> int:
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def counting(db: sqlite3.Connection, on: bool) -> None:
        db.set_progress_handler(step if on else None, 1)

    await database.run(lambda db, _: counting(db, True))
    await call()
    await database.run(lambda db, _: counting(db, False))
    return steps
