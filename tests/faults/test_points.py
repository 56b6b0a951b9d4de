"""A point that waits survives the death of whoever holds its run, before and after its answer counts."""

from pathlib import Path

import pytest

from placet.client import AsyncClient, Run
from placet.domain.run import RunStatus
from placet.ids import new_id
from tests.faults.driving import patiently, started, wait_for_end
from tests.support.cluster import cluster
from tests.support.eventually import eventually
from tests.support.mongod import Mongod

pytestmark = pytest.mark.faults


async def asked(client: AsyncClient, run: Run) -> Run:
    async def look() -> Run | None:
        found = await patiently(run.refresh)
        return found if found.inputs else None

    found: Run = await eventually(look, within=60, every=0.1)
    return found


@pytest.mark.parametrize("where", ["resume.done", "journal.inserted:3", "ask.writing"])
async def test_l87_a_runner_that_dies_around_a_points_answer_loses_nothing_and_asks_no_model_again(
    where: str, folder: Path, mongod: Mongod, amqp: str
) -> None:
    """Killed while the point is written, while its answer is taken, and right after it is."""
    async with cluster(folder, mongod.url, amqp, services=()) as placet:
        placet.add("broker")
        runner = placet.add("runner", PLACET_CRASH_POINTS="1", PLACET_CRASH_AT=where)
        await placet.all_ready()
        async with placet.client() as client:
            run = await started(client, "plan", new_id("key"), agent="signer")
            if where == "ask.writing":
                await wait_for_end(runner)
                runner.start()
            parked = await asked(client, run)
            (waiting,) = parked.inputs
            assert waiting.value.request.body == "the plan"
            await patiently(lambda: waiting.settle("accept", "Approve", from_="alice"))
            if where != "ask.writing":
                await wait_for_end(runner)
                runner.start()

            async def ended() -> Run | None:
                found = await patiently(run.refresh)
                return None if found.status.live else found

            found: Run = await eventually(ended, within=60, every=0.1)
            assert (found.status, found.text) == (RunStatus.COMPLETED, "built")
            journal = await client.runs.journal(run.id)
            kinds = [entry["type"] for entry in journal]
            assert kinds.count("point.settled") == kinds.count("input.opened") == 1
            assert kinds.count("model.replied") == 2
            assert len(list(placet.ledger.glob("model.plan.*"))) <= 1 + (where == "ask.writing")
