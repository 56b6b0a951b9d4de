"""Kills and losses among runs that wait for one another: every run ends, and takes those below along."""

import asyncio
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from placet.client import AsyncClient, Run
from placet.domain.interaction import InputState
from placet.domain.run import RunStatus
from placet.ids import new_id
from tests.faults.driving import (
    effects,
    executions,
    finished,
    patiently,
    started,
    with_reviver,
)
from tests.faults.test_chaos import kill_every_second
from tests.faults.test_crash_points import RUNNER, Reviver, crashing
from tests.support.cluster import cluster
from tests.support.eventually import eventually
from tests.support.mongod import Mongod
from tests.support.rabbitmq import RabbitServer

pytestmark = pytest.mark.faults

LONG = os.environ.get("PLACET_FAULTS") == "long"
FAMILIES = 200 if LONG else 12
POINTS = RUNNER if LONG else RUNNER[::4]
"""Where a runner dies: a few of the points with the tests, all of them in the long form."""
TREE = "safely|(freely/safely)|freely"


async def family(client: AsyncClient, key: str, text: str = TREE) -> Run:
    return await started(client, text, key, agent="chief")


async def tree(client: AsyncClient) -> list[Run]:
    """Every run that there is."""
    return await patiently(lambda: client.runs.list(limit=500))


async def all_over(client: AsyncClient) -> bool:
    """Whether every run has ended and no question is open."""
    ended = not any(run.status.live for run in await tree(client))
    return ended and not await patiently(lambda: client.inbox("pending"))


@pytest.mark.timeout(900)
async def test_a_family_finishes_although_a_runner_dies_at_any_point(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    async with cluster(folder, mongod.url, amqp, services=()) as placet:
        placet.add("broker")
        member = placet.add("runner", **crashing(POINTS[0]))
        await placet.all_ready()
        reviver = Reviver(member, POINTS)
        done = 0
        async with placet.client() as client:
            while reviver.deaths < len(POINTS) or done == 0:
                ended = await with_reviver(reviver.keep, whole(client))
                done += 1
                assert ended.status == RunStatus.COMPLETED, ended.error
                assert effects(placet.ledger, "safely") == 2 * done
                assert effects(placet.ledger, "freely") == 2 * done
                assert done <= 3 * len(POINTS), f"never passed: {reviver.ahead}"
            assert executions(placet.ledger, "safely") <= 2 * done + reviver.deaths
            await eventually(lambda: all_over(client), within=30)


async def whole(client: AsyncClient) -> Run:
    return await finished(client, await family(client, new_id("key")))


@pytest.mark.timeout(1800)
async def test_families_end_while_runners_and_brokers_are_killed_and_roots_are_aborted(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    seed = int(os.environ.get("PLACET_SEED", random.randrange(10**6)))  # noqa: S311
    print(f"seed {seed}")
    dice = random.Random(seed)  # noqa: S311
    aborted = [dice.random() < 0.5 for _ in range(FAMILIES)]
    pauses = [dice.random() * 3 for _ in range(FAMILIES)]
    services = ("runner", "runner", "broker", "broker")
    async with (
        cluster(folder, mongod.url, amqp, services=services) as placet,
        placet.client() as client,
    ):
        kills: list[str] = []
        killing = asyncio.ensure_future(kill_every_second(placet, dice, kills))
        try:
            runs = await drive(client, aborted, pauses, seed)
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
        for run, stopped in zip(runs, aborted, strict=True):
            wanted = (
                {RunStatus.CANCELLED, RunStatus.COMPLETED} if stopped else {RunStatus.COMPLETED}
            )
            assert run.status in wanted, run.error
        await placet.all_ready()
        await eventually(lambda: all_over(client), within=120, every=0.5)
        assert kills, "too few kills to say anything"
        tries = [path.name.split(".")[2] for path in placet.ledger.glob("effect.safely.*")]
        assert len(tries) == len(set(tries))
        whole = sum(run.status == RunStatus.COMPLETED for run in runs)
        assert effects(placet.ledger, "safely") >= 2 * whole


async def drive(
    client: AsyncClient, aborted: Sequence[bool], pauses: Sequence[float], seed: int
) -> list[Run]:
    async def one(number: int) -> Run:
        run = await family(client, f"{seed}-{number}")
        if not aborted[number]:
            return await finished(client, run)
        await asyncio.sleep(pauses[number])
        return await patiently(run.abort)

    return list(await asyncio.gather(*map(one, range(len(aborted)))))


@pytest.mark.timeout(900)
async def test_families_end_although_rabbitmq_lost_everything_while_they_waited(
    folder: Path, mongod: Mongod, amqp: str, rabbitmq: RabbitServer
) -> None:
    """Half of the roots are aborted while the bus is away: those below hear of it all the same."""
    async with cluster(folder, mongod.url, amqp) as placet, placet.client() as client:
        runs = [await family(client, f"lost-{n}", "safely|(safely)") for n in range(6)]
        await eventually(lambda: known(client, 12), within=60)
        rabbitmq.kill()
        for run in runs[:3]:
            await patiently(run.abort)
        rabbitmq.wipe()
        rabbitmq.start()
        ended = await asyncio.gather(*(finished(client, run) for run in runs[3:]))
        assert {run.status for run in ended} == {RunStatus.COMPLETED}
        assert effects(placet.ledger, "safely") == 6
        await eventually(lambda: all_over(client), within=180, every=0.5)
        states = {each.state for each in await client.inbox(None)}
        assert states == {InputState.ANSWERED, InputState.CANCELLED}


async def known(client: AsyncClient, count: int) -> bool:
    return len(await client.inbox("pending", limit=200)) == count
