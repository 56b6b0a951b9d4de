"""Servers and the event loop that all tests share."""

from collections.abc import Iterator

import pytest

from tests.support.mongod import some_mongo
from tests.support.rabbitmq import amqp_urls, empty_queues, rabbitmq  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio: the drivers know no other loop."""
    return "asyncio"


@pytest.fixture(scope="session")
def mongo_url() -> Iterator[str]:
    """Give the URL of a MongoDB replica set; use a database name of your own on it."""
    with some_mongo() as url:
        yield url
