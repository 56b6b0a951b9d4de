"""Runners and brokers killed again and again, from a printed seed: every run ends, every effect is one."""

import asyncio
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from placet.client import AsyncClient, Run
from placet.domain.run import RunStatus
from tests.faults.driving import effects, executions, finished, patiently, started
from tests.support.cluster import Cluster, cluster
from tests.support.mongod import Mongod
from tests.support.rabbitmq import RabbitServer

pytestmark = pytest.mark.faults

LONG = os.environ.get("PLACET_FAULTS") == "long"
RUNS = int(os.environ.get("PLACET_CHAOS_RUNS", "1000" if LONG else "80"))
IN_FLIGHT = 48


async def kill_every_second(placet: Cluster, dice: random.Random, kills: list[str]) -> None:
    """One member at a time is killed and started again, so that its peer carries on meanwhile."""
    while True:
        await asyncio.sleep(1)
        member = dice.choice(placet.members)
        if member.alive:
            member.kill()
            kills.append(member.service)
            member.start()


async def drive(client: AsyncClient, texts: Sequence[str], seed: int) -> list[Run]:
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def one(number: int, text: str) -> Run:
        async with gate:
            return await finished(client, await started(client, text, f"{seed}-{number}"))

    return list(await asyncio.gather(*(one(n, text) for n, text in enumerate(texts))))


@pytest.mark.timeout(3000)
async def test_invariants_4_5_7_hold_while_runners_and_brokers_are_killed_every_second(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    seed = int(os.environ.get("PLACET_SEED", random.randrange(10**6)))  # noqa: S311
    print(f"seed {seed}")
    dice = random.Random(seed)  # noqa: S311
    texts = [dice.choice(["safely", "safely freely", "carefully"]) for _ in range(RUNS)]
    services = ("runner", "runner", "broker", "broker")
    async with (
        cluster(folder, mongod.url, amqp, services=services) as placet,
        placet.client() as client,
    ):
        kills: list[str] = []
        killing = asyncio.ensure_future(kill_every_second(placet, dice, kills))
        try:
            runs = await drive(client, texts, seed)
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
        statuses = [run.status for run in runs]
        assert statuses == [RunStatus.COMPLETED] * RUNS, [r.error for r in runs if r.error]
        assert len(kills) >= 3, "too few kills to say anything"
        safely = sum("safely" in text for text in texts)
        assert effects(placet.ledger, "safely") == safely
        assert effects(placet.ledger, "freely") == sum("freely" in text for text in texts)
        tries = [path.name.split(".")[2] for path in placet.ledger.glob("run.carefully.*")]
        assert len(tries) == len(set(tries)), "a call that must not be guessed about ran twice"
        print(
            f"{RUNS} runs, {len(kills)} kills, {executions(placet.ledger, 'safely')} tries of {safely}"
        )


SUSPENDED = 100


@pytest.mark.timeout(600)
async def test_runs_finish_although_rabbitmq_lost_everything_while_they_were_suspended(
    folder: Path, mongod: Mongod, amqp: str, rabbitmq: RabbitServer
) -> None:
    async with cluster(folder, mongod.url, amqp) as placet, placet.client() as client:
        runs = await asyncio.gather(
            *(started(client, "safely", f"lost-{n}") for n in range(SUSPENDED))
        )
        parked = await asyncio.gather(*(run.wait() for run in runs))
        assert {run.status for run in parked} == {RunStatus.INPUT_REQUIRED}
        await patiently(lambda: _all_known(client))
        rabbitmq.kill()
        rabbitmq.wipe()
        rabbitmq.start()
        ended = await asyncio.gather(*(finished(client, run) for run in parked))
        assert {run.status for run in ended} == {RunStatus.COMPLETED}
        assert effects(placet.ledger, "safely") == SUSPENDED


async def _all_known(client: AsyncClient) -> None:
    """Every question has reached the broker."""
    while len(await client.inbox("pending", limit=200)) < SUSPENDED:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
