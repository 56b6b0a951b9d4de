"""The ways to drive: as fast as it goes, at a given rate, only up to the question, again and again."""

import asyncio
import contextlib
import os
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson

from benchmarks.driver.person import Cycle, Person, effects, verdict
from benchmarks.figures import per_window
from benchmarks.processes import cpu_seconds

Job = dict[str, Any]
MOST_AT_ONCE = 2000
"""Runs of an open loop that may be under way; beyond it the rate is too high for the machine."""


@dataclass(slots=True)
class Seen:
    """What came of the cycles so far."""

    cycles: list[Cycle] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    async def one(self, person: Person, pause: float = 0) -> None:
        """One cycle more, or one error."""
        try:
            self.cycles.append(await person.cycle(pause))
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError) as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(0.1)


async def closed(person: Person, job: Job) -> Job:
    """`in_flight` callers, each with one run at a time: rates by window, CPU by process."""
    seen, offset = Seen(), _size(job["ledger"])
    begin = time.monotonic() + job["warmup"]
    until = begin + job["seconds"]

    async def caller() -> None:
        while time.monotonic() < until:
            await seen.one(person)

    watching = asyncio.create_task(_watch(job["watch"], begin, until))
    await asyncio.gather(*(caller() for _ in range(job["in_flight"])))
    length = job["seconds"] / job["windows"]
    ends = [cycle.ended_at for cycle in seen.cycles]
    return {
        "rates": per_window(ends, begin, length, job["windows"]),
        "counted": sum(begin <= end < until for end in ends),
        "cpu_seconds": await watching,
        "early_answers": person.early_answers,
        **verdict(seen.cycles, effects(job["ledger"], offset), seen.errors),
    }


async def opened(person: Person, job: Job) -> Job:
    """A run every 1/`rate` seconds whatever the others do, each answered about `pause` seconds later.

    That time is drawn between half of it and one and a half (the same draws each time): were it always
    the same, each answer would meet the start of another run always at the same point of it, or never,
    and by how much the two disturb each other would be a matter of the rate's last digit.
    """
    seen, offset = Seen(), _size(job["ledger"])
    begin, total = time.monotonic() + 0.1, int(job["rate"] * (job["warmup"] + job["seconds"]))
    under_way: set[asyncio.Task[None]] = set()
    random = Random(1)  # noqa: S311 - no secrets
    for number in range(total):
        await asyncio.sleep(max(0.0, begin + number / job["rate"] - time.monotonic()))
        if len(under_way) >= MOST_AT_ONCE:
            seen.errors.append(f"{MOST_AT_ONCE} runs are under way: the rate is too high")
            break
        task = asyncio.create_task(seen.one(person, job["pause"] * random.uniform(0.5, 1.5)))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    await asyncio.gather(*under_way)
    began = effects(job["ledger"], offset)
    counted = [c for c in seen.cycles if c.sent_at >= begin + job["warmup"] + job["pause"]]
    ran = [(c, began[c.run_id][0]) for c in counted if c.run_id in began]
    return {
        "answer_ms": [(c.answered_at - c.sent_at) * 1e3 for c in counted],
        "resume_ms": [(start - c.answered_at) * 1e3 for c, start in ran],
        "sent_to_start_ms": [(start - c.sent_at) * 1e3 for c, start in ran],
        "early_answers": person.early_answers,
        **verdict(seen.cycles, began, seen.errors),
    }


async def parked(person: Person, job: Job) -> Job:
    """Suspend `count` runs, `in_flight` at once, or as many as there is time for."""
    begin, number = time.monotonic(), 0
    left = iter(range(job["count"]))

    async def caller() -> None:
        nonlocal number
        for _ in left:
            await person.park()
            number += 1

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(job["seconds"]):
            await asyncio.gather(*(caller() for _ in range(job["in_flight"])))
    return {"parked": number, "seconds": time.monotonic() - begin}


async def grown(person: Person, job: Job) -> Job:
    """Start `count` runs of the long agent with `input`, at once: the open question of each."""
    start = orjson.dumps({"input": job["input"], "user": "alice"})
    async with asyncio.timeout(job["seconds"]):
        parked = await asyncio.gather(*(person.park("long", start) for _ in range(job["count"])))
    return {"open": dict(parked)}


async def resumed(person: Person, job: Job) -> Job:
    """Answer the runs of `order` one after another, each until it asks again: milliseconds of each."""
    offset, waiting = _size(job["ledger"]), dict(job["open"])
    answered: dict[str, list[float]] = {}
    async with asyncio.timeout(job["seconds"]):
        for run_id in job["order"]:
            _, at = await person.answer(waiting[run_id])
            answered.setdefault(run_id, []).append(at)
            waiting[run_id] = await person.asked(run_id, after=waiting[run_id])
    began = effects(job["ledger"], offset)
    ms = {
        run_id: [(start - at) * 1e3 for at, start in zip(moments, began[run_id], strict=True)]
        for run_id, moments in answered.items()
    }
    return {"ms": ms, "open": waiting}


LOOPS = {"closed": closed, "open": opened, "park": parked, "grow": grown, "resume": resumed}


async def _watch(pids: dict[str, int], begin: float, until: float) -> dict[str, float]:
    """CPU that each process used between the two moments."""
    watched = {**pids, "driver": os.getpid()}
    await asyncio.sleep(begin - time.monotonic())
    before = {name: cpu_seconds(pid) for name, pid in watched.items()}
    await asyncio.sleep(until - time.monotonic())
    return {name: cpu_seconds(pid) - before[name] for name, pid in watched.items()}


def _size(path: str) -> int:
    return os.stat(path).st_size
