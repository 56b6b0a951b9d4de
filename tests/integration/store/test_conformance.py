"""Every store keeps every promise of the port."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from placet.clock import SystemClock
from placet.ids import new_id
from placet.store import Database, open_database
from placet.testing import store_cases

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", params=["memory", "file", "mongodb"])
async def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Database]:
    database = open_database(
        _url(request, tmp_path_factory.mktemp("store")), new_id("t"), clock=SystemClock()
    )
    store_cases.declare(database)
    await database.open()
    yield database
    await database.close()


def _url(request: pytest.FixtureRequest, directory: Path) -> str:
    match request.param:
        case "memory":
            return "sqlite://:memory:"
        case "file":
            return f"sqlite://{directory}"
        case _:
            url: str = request.getfixturevalue("mongo_url")
            return url


@pytest.mark.parametrize("case", store_cases.CASES, ids=lambda case: case.__name__)
async def test_the_store_keeps_its_promise(database: Database, case: store_cases.Case) -> None:
    await case(database)
