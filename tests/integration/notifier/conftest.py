"""The notifier on SQLite and on MongoDB, the same tests on both."""

from collections.abc import AsyncIterator, Iterator

import pymongo
import pytest

from placet.clock import SystemClock
from placet.ids import new_id
from placet.process.platform import Databases
from placet.store.mongo import MongoDatabase
from placet.store.sqlite import SQLiteDatabase
from tests.integration.notifier.desk import Desk
from tests.integration.notifier.receiver import Receiver, receiving


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
    """Give a notifier that consumes and sends."""
    async with Desk(databases).opened() as desk:
        yield desk


@pytest.fixture
async def two(databases: Databases) -> AsyncIterator[Desk]:
    """Give two replicas on one database."""
    async with Desk(databases, replicas=2).opened() as desk:
        yield desk


@pytest.fixture
async def still(databases: Databases) -> AsyncIterator[Desk]:
    """Give a notifier whose consumer and loops do not run."""
    async with Desk(databases).opened(start=False) as desk:
        yield desk


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Give a server that answers as badly as a test wants."""
    async with receiving() as receiver:
        yield receiver
