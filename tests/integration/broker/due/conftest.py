"""A broker on a clock that is turned by hand; its timer does not run: a test sweeps when it wants to."""

from collections.abc import AsyncIterator

import pytest

from placet.store.sqlite import SQLiteDatabase
from placet.testing.clock import HandClock
from tests.integration.broker.desk import Desk, opened


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def desk(clock: HandClock) -> AsyncIterator[Desk]:
    async with opened(
        lambda _: SQLiteDatabase(":memory:", clock=clock), start=False, clock=clock
    ) as made:
        yield made
