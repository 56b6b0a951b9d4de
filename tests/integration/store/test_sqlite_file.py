"""A SQLite file outlives kills, new indexes and second openers."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from placet.clock import SystemClock
from placet.errors import Unavailable
from placet.store import Collection, Database, Index, open_database

pytestmark = pytest.mark.integration

WRITER = """
import asyncio, sys
from placet.clock import SystemClock
from placet.store import open_database

async def main():
    database = open_database(sys.argv[1], "runs", clock=SystemClock())
    runs = database.collection("runs")
    await database.open()
    ids = [f"r{n}" for n in range(16)]
    await asyncio.gather(*(runs.insert({"_id": id, "seq": 0}) for id in ids))

    async def write(id):
        for seq in range(1_000_000):
            await runs.update(id, {"seq": seq}, {"$inc": {"seq": 1}})
            print(id, seq + 1, flush=True)

    await asyncio.gather(*map(write, ids))

asyncio.run(main())
"""


async def opened(url: str, *indexes: Index) -> tuple[Database, Collection]:
    database = open_database(url, "runs", clock=SystemClock())
    collection = database.collection("runs", indexes)
    await database.open()
    return database, collection


async def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}"
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, url, stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdout is not None
    acknowledged: dict[str, int] = {}
    async for line in writer.stdout:
        id, seq = line.decode().split()
        acknowledged[id] = int(seq)
        if len(acknowledged) == 16 and min(acknowledged.values()) == 50:
            os.kill(writer.pid, signal.SIGKILL)
    await writer.wait()
    database, runs = await opened(url)
    stored = await runs.get_many(acknowledged)
    await database.close()
    for id, reached in acknowledged.items():
        assert stored[id]["seq"] >= reached


async def test_a_new_index_finds_what_was_stored_before_it(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}"
    database, runs = await opened(url)
    for n in range(5):
        await runs.insert({"_id": f"r{n}", "lease": {"op": n}, "tags": [n, "all"]})
    await database.close()
    indexes = Index((("lease.op", 1),), unique=True), Index((("tags", 1),))
    database, runs = await opened(url, *indexes)
    found = await runs.find({"lease.op": {"$gte": 3}}, sort=[("lease.op", -1)])
    assert [each["_id"] for each in found] == ["r4", "r3"]
    assert not await runs.insert({"_id": "new", "lease": {"op": 2}})
    await database.close()
    database, runs = await opened(url, *indexes)
    assert await runs.count({"tags": "all"}, limit=10) == 5
    await database.close()


async def test_a_second_opener_is_told_who_has_the_file(tmp_path: Path) -> None:
    database, _ = await opened(f"sqlite://{tmp_path}")
    with pytest.raises(Unavailable, match=r"runs\.db.*another process has it open"):
        await opened(f"sqlite://{tmp_path}")
    await database.close()
    again, _ = await opened(f"sqlite://{tmp_path}")
    await again.close()


async def test_a_closed_file_is_unavailable_and_opens_again(tmp_path: Path) -> None:
    database, runs = await opened(f"sqlite://{tmp_path}")
    await runs.insert({"_id": "r"})
    await database.close()
    with pytest.raises(Unavailable, match="not open"):
        await runs.get("r")
    await database.open()
    assert await runs.get("r") == {"_id": "r"}
    await database.close()
