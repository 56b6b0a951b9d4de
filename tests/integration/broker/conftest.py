"""The broker on SQLite and on MongoDB, the same tests on both."""

from collections.abc import AsyncIterator

import pytest

from placet.process.platform import Databases
from tests.integration.broker.desk import Desk, opened


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
