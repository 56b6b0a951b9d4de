"""Every store keeps every promise of the port."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
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


async def test_whoever_is_cancelled_is_so_at_once(database: Database) -> None:
    """At whatever point of a call it happens: a loop that was told to end must not go on for ever."""
    runs, run = database.collection("runs"), store_cases.a_run()
    await runs.insert(run)
    id = run["_id"]
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: runs.get(id),
        lambda: runs.find({"_id": id}),
        lambda: runs.count({"_id": id}, limit=1),
        lambda: runs.update(id, {}, {"$inc": {"seq": 1}}),
        lambda: runs.update_all([(id, {}, {"$inc": {"seq": 1}})]),
        lambda: runs.insert(store_cases.a_run()),
        lambda: runs.delete("none", {}),
        database.now,
    ]
    for call in calls:
        steps = 0
        while not await _ends_within(call, steps):
            steps += 1


async def _ends_within(call: Callable[[], Awaitable[object]], steps: int) -> bool:
    """Whether it ends before it is cancelled, that many steps of the loop after its start."""
    caller = asyncio.ensure_future(call())
    for _ in range(steps):
        await asyncio.sleep(0)
    if caller.done():
        return True
    caller.cancel()
    await asyncio.wait([caller])
    assert caller.cancelled(), f"a cancellation after {steps} steps was lost"
    return False
