"""Databases of a test's own, on SQLite and on MongoDB: the same tests run on both."""

from collections.abc import Iterator

import pymongo
import pytest

from placet.clock import SystemClock
from placet.ids import new_id
from placet.process.platform import Databases
from placet.store.mongo import MongoDatabase
from placet.store.sqlite import SQLiteDatabase


@pytest.fixture(params=["sqlite", "mongodb"])
def databases(request: pytest.FixtureRequest) -> Iterator[Databases]:
    """Make databases of a test's own."""
    if request.param == "sqlite":
        yield lambda _: SQLiteDatabase(":memory:", clock=SystemClock())
        return
    url: str = request.getfixturevalue("mongo_url")
    prefix = new_id("t")
    made: list[str] = []

    def make(name: str) -> MongoDatabase:
        made.append(f"{prefix}_{name}")
        return MongoDatabase(url, made[-1])

    yield make
    with pymongo.MongoClient[dict[str, object]](url) as client:
        for name in made:
            client.drop_database(name)
