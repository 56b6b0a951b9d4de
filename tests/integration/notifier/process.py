"""A notifier on SQLite files in a process of its own, which a crash point may kill.

`python -m tests.integration.notifier.process FOLDER URL`: makes a webhook and one event if there is
none, and ends once nothing waits to be sent.
"""

import asyncio
import sys
from pathlib import Path

from placet.clock import SystemClock
from placet.store.sqlite import SQLiteDatabase
from placet_notifier.store.deliveries import EVER
from tests.integration.notifier.desk import Desk, event
from tests.support.eventually import eventually


async def main(folder: Path, url: str) -> None:
    desk = Desk(lambda name: SQLiteDatabase(folder / name, clock=SystemClock()))
    async with desk.opened():
        deliveries = desk.notifier.deliveries.collection
        waiting = await deliveries.find({"due": {"$gt": EVER}})
        if waiting:
            await desk.hasten(waiting[0]["_id"])  # the lease of the dead runs out
        else:
            await desk.webhook(await desk.key(), url)
            await desk.publish(event())
            await eventually(desk.stored)
        await eventually(lambda: _none_waits(desk))


async def _none_waits(desk: Desk) -> bool:
    waiting = await desk.notifier.deliveries.collection.count({"due": {"$gt": EVER}}, limit=1)
    return waiting == 0


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
