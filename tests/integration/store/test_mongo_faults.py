"""MongoDB killed, stopped, frozen and answering wrong: what was acknowledged stays true."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pymongo
import pytest

from placet.clock import SystemClock
from placet.errors import Unavailable
from placet.ids import new_id
from placet.store import Collection, Database, open_database
from placet.testing import store_cases
from tests.support.eventually import eventually
from tests.support.mongod import Mongod, private_mongod

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def server() -> Iterator[Mongod]:
    with private_mongod() as server:
        yield server


@pytest.fixture
async def database(server: Mongod) -> AsyncIterator[Database]:
    database = open_database(server.url, new_id("faults"), clock=SystemClock())
    store_cases.declare(database)
    await database.open()
    yield database
    await database.close()


async def run_of(database: Database) -> tuple[Collection, str]:
    runs, run = database.collection("runs"), store_cases.a_run()
    assert await runs.insert(run)
    return runs, run["_id"]


async def count_up(runs: Collection, id: str, acknowledged: dict[str, int]) -> None:
    """Append until the server is away; note how far it was acknowledged."""
    while True:
        seq = acknowledged[id]
        change = {"$inc": {"seq": 1}, "$push": {"journal": seq}}
        try:
            image = await runs.update(id, {"seq": seq}, change)
        except Unavailable:
            return
        assert image is not None, f"{id} lost its place at {seq}"
        acknowledged[id] = image["seq"]


async def test_what_was_acknowledged_before_a_kill_is_stored_after_it(
    server: Mongod, database: Database
) -> None:
    runs = database.collection("runs")
    made = [store_cases.a_run() for _ in range(24)]
    assert all(await asyncio.gather(*(runs.insert(run) for run in made)))
    acknowledged = {run["_id"]: 0 for run in made}
    load = [asyncio.create_task(count_up(runs, run["_id"], acknowledged)) for run in made]
    await eventually(lambda: min(acknowledged.values()) >= 10)
    await asyncio.to_thread(server.kill)
    await asyncio.gather(*load)
    await asyncio.to_thread(server.start)
    await eventually(lambda: works(database), within=30)
    stored = await runs.get_many(acknowledged)
    for id, seq in acknowledged.items():
        # The last write may have happened without a reply; none before it may be missing.
        assert stored[id]["seq"] in {seq, seq + 1}
        assert stored[id]["journal"] == list(range(stored[id]["seq"]))


async def works(database: Database) -> bool:
    try:
        runs, id = await run_of(database)
        return await runs.update(id, {"seq": 0}, {"$inc": {"seq": 1}}) is not None
    except Unavailable:
        return False


async def test_writes_go_on_over_a_short_restart(server: Mongod, database: Database) -> None:
    runs, id = await run_of(database)
    acknowledged = {id: 0}
    load = asyncio.create_task(count_up(runs, id, acknowledged))
    await eventually(lambda: acknowledged[id] >= 5)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    await eventually(lambda: works(database), within=30)
    load.cancel()
    await asyncio.gather(load, return_exceptions=True)
    stored = await runs.get(id)
    assert stored is not None
    assert stored["journal"] == list(range(stored["seq"]))
    assert stored["seq"] >= acknowledged[id]


async def test_a_stopped_server_is_named_in_bounded_time(
    server: Mongod, database: Database
) -> None:
    runs, id = await run_of(database)
    await asyncio.to_thread(server.stop)
    calls = [
        runs.update(id, {}, {"$set": {"wake": True}}),
        runs.update(new_id("run"), {}, {"$set": {"wake": True}}),
        runs.get(id),
        runs.find({}),
        runs.count({}, limit=1),
        runs.insert(store_cases.a_run()),
        runs.delete(id, {}),
        database.ping(),
        database.now(),
    ]
    began = time.monotonic()
    results = await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.to_thread(server.start)
    assert time.monotonic() - began < 20
    for result in results:
        assert isinstance(result, Unavailable), result
        assert f"MongoDB at 127.0.0.1:{server.port}" in str(result)
    await eventually(lambda: works(database), within=30)


async def test_opening_without_a_server_names_it() -> None:
    database = open_database("mongodb://u:secret@127.0.0.1:1/", "x", clock=SystemClock())
    with pytest.raises(Unavailable, match=r"MongoDB at 127\.0\.0\.1:1 ") as raised:
        await database.open()
    assert "secret" not in str(raised.value)
    await database.close()


def fail(server: Mongod, times: int, **data: Any) -> None:
    with pymongo.MongoClient[dict[str, Any]](server.url) as client:
        mode: Any = {"times": times} if times else "off"
        client.admin.command({"configureFailPoint": "failCommand", "mode": mode, "data": data})


UNKNOWN = {"code": 91, "errmsg": "shutting down"}


@pytest.mark.parametrize("together", [1, 6])
@pytest.mark.parametrize(
    "trouble",
    [
        {"failCommands": ["findAndModify", "update"], "writeConcernError": UNKNOWN},
        {"failCommands": ["findAndModify", "update"], "closeConnection": True},
        {"failCommands": ["find", "findAndModify", "update"], "errorCode": 11600},
    ],
    ids=["done_but_not_said", "connection_cut", "refused_for_now"],
)
async def test_a_write_of_unknown_outcome_happens_once(
    server: Mongod, database: Database, trouble: dict[str, Any], together: int
) -> None:
    made = [await run_of(database) for _ in range(together)]
    runs = made[0][0]
    fail(server, 3, **trouble)
    change = {"$inc": {"seq": 1}, "$push": {"journal": "x"}}
    images = await asyncio.gather(*(runs.update(id, {}, change) for _, id in made))
    fail(server, 0)
    for image in images:
        assert image is not None
        assert (image["seq"], image["journal"]) == (1, ["x"])


@pytest.mark.parametrize(
    "trouble",
    [
        {"failCommands": ["commitTransaction"], "writeConcernError": UNKNOWN},
        {"failCommands": ["commitTransaction", "findAndModify"], "closeConnection": True},
        {"failCommands": ["commitTransaction", "findAndModify"], "errorCode": 251},
    ],
    ids=["done_but_not_said", "connection_cut", "no_such_transaction"],
)
async def test_a_transaction_of_unknown_outcome_happens_once(
    server: Mongod, database: Database, trouble: dict[str, Any]
) -> None:
    made = [await run_of(database) for _ in range(3)]
    fail(server, 4, **trouble)
    change = {"$inc": {"seq": 1}, "$push": {"journal": "x"}}
    images = await made[0][0].update_all([(id, {"seq": 0}, change) for _, id in made])
    fail(server, 0)
    assert [image and (image["seq"], image["journal"]) for image in images] == [(1, ["x"])] * 3


@pytest.mark.parametrize("together", [1, 5])
async def test_an_insert_of_unknown_outcome_is_recognised_as_ones_own(
    server: Mongod, database: Database, together: int
) -> None:
    runs, taken = await run_of(database)
    fail(server, 2, failCommands=["insert"], writeConcernError=UNKNOWN)
    made = [store_cases.a_run() for _ in range(together)]
    calls = [*map(runs.insert, made), runs.insert(store_cases.a_run(_id=taken))]
    results = await asyncio.gather(*calls)
    fail(server, 0)
    assert results == [True] * together + [False]


async def test_a_frozen_server_gives_no_reply_and_no_second_write(
    server: Mongod, database: Database
) -> None:
    runs, id = await run_of(database)
    server.pause()
    began = time.monotonic()
    write = asyncio.create_task(runs.update(id, {"seq": 0}, {"$inc": {"seq": 1}}))
    with pytest.raises(Unavailable):
        await asyncio.wait_for(runs.get(id), 40)
    with pytest.raises(Unavailable):
        await write
    assert time.monotonic() - began < 40
    server.resume()
    await eventually(lambda: works(database), within=30)
    stored = await runs.get(id)
    assert stored is not None
    assert stored["seq"] in {0, 1}


async def test_a_failed_clear_is_logged_and_harms_nothing(
    server: Mongod, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, id = await run_of(database)
    fail(server, 1, failCommands=["update"], errorCode=8)
    await runs.clear(id, {"$pull": {"outbox": {"id": "m"}}})
    await eventually(lambda: "clear_failed" in capsys.readouterr().out)
    assert await runs.update(id, {}, {"$inc": {"seq": 1}}) is not None
