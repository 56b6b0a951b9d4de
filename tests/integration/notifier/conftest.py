"""The notifier on SQLite and on MongoDB, the same tests on both."""

from collections.abc import AsyncIterator

import pytest

from placet.process.platform import Databases
from tests.integration.notifier.desk import Desk
from tests.integration.notifier.receiver import Receiver, receiving


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
