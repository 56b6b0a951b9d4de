"""A suspended run is a document, and nothing in the process that asked for it."""

import asyncio
import gc
from collections import Counter
from datetime import timedelta

import pytest

from placet.domain.run import RunStatus
from placet_runner.usecases.sweep import BATCH
from tests.integration.runner.agents import Ledger, agent, once
from tests.integration.runner.book import Book
from tests.support.system import System, system

pytestmark = pytest.mark.integration
MANY = 50
ROUNDS = 4
IN_THE_BUS = {"Delivery", "Item"}
"""Events that wait in the bus, which is in this process too, for a notifier that there is not."""


async def park(placet: System, count: int) -> None:
    """Suspend this many runs, and return when nothing of them is under way."""
    ops = placet.client.agent("ops")
    runs = [await ops.start("go", user="alice") for _ in range(count)]
    for run in runs:
        await placet.stands(run.id, RunStatus.INPUT_REQUIRED)
        await placet.settled_outboxes(run.id)
    await placet.runner.relay.drain()


def objects() -> Counter[str]:
    """What the garbage collector sees, by type, without what is about to go."""
    gc.collect()
    return Counter(type(each).__qualname__ for each in gc.get_objects())


async def test_a_suspended_run_leaves_no_object_and_no_task_behind() -> None:
    """What a run left would be there more often after each round; a cache or a timer is not."""
    ops = agent(Ledger(), *once(("drop", {"name": "staging"})))
    async with system([ops]) as placet:
        await park(placet, MANY)
        tasks, left = len(asyncio.all_tasks()), set[str]()
        for number in range(ROUNDS):
            before = objects()
            await park(placet, MANY)
            grown = {name for name, count in (objects() - before).items() if count >= MANY}
            left = left & grown if number else grown
        assert left <= IN_THE_BUS
        assert len(asyncio.all_tasks()) < tasks + MANY


async def test_a_sweep_reads_what_it_looks_at_and_no_journal(book: Book) -> None:
    parked = await book.parked()
    now = parked.document["due"] + timedelta(hours=1)
    (image,) = [each for each in await book.runs.due(now, BATCH) if each.id == parked.id]
    assert "journal" not in image.document
    assert image.document["waiting"] == parked.document["waiting"]
    assert (image.status, image.lease_op, image.wake) == (parked.status, None, False)
