"""Databases of a test's own, on SQLite and on MongoDB: the same tests run on both."""

from collections.abc import AsyncIterator, Iterator

import pymongo
import pytest

from placet.bus import bus_on
from placet.clock import SystemClock
from placet.ids import new_id
from placet.process.platform import Buses, Databases
from placet.store.mongo import MongoDatabase
from placet.store.sqlite import SQLiteDatabase
from tests.support.rabbitmq import purge
from tests.support.system import in_memory


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


@pytest.fixture(scope="module")
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """Keep one loop for a module: aio-pika ends its close callbacks after `close` has returned."""
    yield  # noqa: PT022 - the loop lives as long as this does


@pytest.fixture(params=["embedded", "servers"])
async def parts(
    request: pytest.FixtureRequest, one_loop: None
) -> AsyncIterator[tuple[Databases, Buses]]:
    """Databases and buses of a test's own: SQLite and in process, or MongoDB and RabbitMQ."""
    if request.param == "embedded":
        yield in_memory()
        return
    mongo: str = request.getfixturevalue("mongo_url")
    urls: dict[str, str] = request.getfixturevalue("amqp_urls")
    await purge(urls["placet-runner"])
    prefix = new_id("t")
    made: list[str] = []

    def database(name: str) -> MongoDatabase:
        made.append(f"{prefix}_{name}"[:60])
        return MongoDatabase(mongo, made[-1])

    yield database, lambda user: bus_on(urls[user], user)
    with pymongo.MongoClient[dict[str, object]](mongo) as client:
        for name in made:
            client.drop_database(name)
