"""The broker on SQLite and on MongoDB, the same tests on both."""

from collections.abc import AsyncIterator, Iterator

import pymongo
import pytest

from placet.clock import SystemClock
from placet.ids import new_id
from placet.process.platform import Databases
from placet.store.mongo import MongoDatabase
from placet.store.sqlite import SQLiteDatabase
from tests.integration.broker.desk import Desk, opened


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


@pytest.fixture
async def desk(databases: Databases) -> AsyncIterator[Desk]:
    """Give a broker that consumes and sweeps."""
    async with opened(databases) as desk:
        yield desk


@pytest.fixture
async def still(databases: Databases) -> AsyncIterator[Desk]:
    """Give a broker whose consumers and timer do not run."""
    async with opened(databases, start=False) as desk:
        yield desk
