"""Servers of the fault tests' own, and a cluster on them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mongod import Mongod, private_mongod
from tests.support.rabbitmq import WORD, RabbitServer


@pytest.fixture(scope="session")
def mongod() -> Iterator[Mongod]:
    """A MongoDB that tests may kill."""
    with private_mongod() as server:
        yield server


@pytest.fixture
def amqp(rabbitmq: RabbitServer) -> str:
    """The URL of a RabbitMQ that tests may kill, with {user} in it."""
    return f"amqp://{{user}}:{WORD}@127.0.0.1:{rabbitmq.port}/"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
