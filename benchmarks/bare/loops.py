"""A cycle's worth of bare work as fast as it goes, and chains of hops at a given rate."""

import asyncio
import time
from itertools import count
from typing import Any

from benchmarks.bare.servers import Collection, Queues
from benchmarks.figures import shares

Job = dict[str, Any]
SETTLE = 0.5
"""Seconds of work before the clock runs, for a process that was ready late."""


async def cycles(job: Job) -> Job:
    """`in_flight` workers, each a cycle's writes one after another and its publishes beside them."""
    consumed = 0

    async def take(_body: bytes, _correlation_id: str) -> None:
        nonlocal consumed
        consumed += 1

    documents = Collection(job["mongo_url"], job["database"])
    queues = await Queues.open(job["amqp_url"], job["name"], take)
    begin = max(job["begin"], time.monotonic() + SETTLE)
    until = begin + job["seconds"]
    ends: list[float] = []
    numbers = count()

    async def worker(own: int) -> None:
        id = f"{job['name']}-{own}"
        await documents.create(id)
        revisions = count()
        while time.monotonic() < until:
            number = next(numbers)
            await asyncio.gather(
                _writes(documents, id, revisions, shares(number, job["writes"])),
                _publishes(queues, number, job["publishes"], job["consumes"]),
            )
            ends.append(time.monotonic())

    await asyncio.gather(*(worker(own) for own in range(job["in_flight"])))
    done = sum(begin <= end < until for end in ends)
    # The consumers are part of the work: a backlog counts as cycles that are not done.
    behind = max(0.0, len(ends) * job["consumes"] - consumed) / max(job["consumes"], 1)
    await queues.close()
    await documents.close()
    return {"rate": max(0.0, done - behind) / job["seconds"], "cycles": done, "behind": behind}


async def _writes(documents: Collection, id: str, revisions: "count[int]", number: int) -> None:
    for _ in range(number):
        await documents.step(id, next(revisions))


async def _publishes(queues: Queues, number: int, publishes: float, consumes: float) -> None:
    messages = shares(number, publishes)
    twice = max(0, shares(number, consumes) - messages)
    keys = ["both"] * min(twice, messages) + ["one"] * max(0, messages - twice)
    await asyncio.gather(*(queues.publish(key) for key in keys))


async def hops(job: Job) -> Job:
    """Chains of write, publish, consume; a new chain every 1/`rate` seconds: milliseconds of each."""
    arrived: dict[str, asyncio.Future[None]] = {}

    async def take(_body: bytes, correlation_id: str) -> None:
        arrived.pop(correlation_id).set_result(None)

    documents = Collection(job["mongo_url"], job["database"])
    queues = await Queues.open(job["amqp_url"], job["name"], take)

    async def chain(id: str) -> float:
        await documents.create(id)
        began = time.monotonic()
        for hop in range(job["hops"]):
            await documents.step(id, hop)
            received = arrived[f"{id}.{hop}"] = asyncio.get_running_loop().create_future()
            await queues.publish("one", f"{id}.{hop}")
            await received
        return (time.monotonic() - began) * 1e3

    begin, tasks = time.monotonic() + 0.1, []
    for number in range(int(job["rate"] * job["seconds"])):
        await asyncio.sleep(max(0.0, begin + number / job["rate"] - time.monotonic()))
        tasks.append(asyncio.create_task(chain(f"{job['name']}-{number}")))
    taken = await asyncio.gather(*tasks)
    await queues.close()
    await documents.close()
    return {"ms": taken[len(taken) // 5 :]}


LOOPS = {"cycles": cycles, "hops": hops}
