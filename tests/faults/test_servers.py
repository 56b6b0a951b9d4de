"""Servers that are away, processes that are stopped or paused: nothing accepted is lost."""

import asyncio
import signal
from pathlib import Path

import httpx2
import pytest

from placet.domain.run import RunStatus
from placet.errors import Unavailable
from tests.faults.driving import effects, executions, finished, patiently, started
from tests.support.cluster import Cluster, Member, cluster
from tests.support.eventually import eventually
from tests.support.mongod import Mongod
from tests.support.rabbitmq import RabbitServer

pytestmark = pytest.mark.faults


async def probe(member: Member, path: str) -> tuple[int, str]:
    async with httpx2.AsyncClient(timeout=10) as http:
        try:
            response = await http.get(member.url + path)
        except httpx2.TransportError:
            return 0, ""
        return response.status_code, response.text


async def test_a_service_waits_for_servers_that_are_away_at_start_and_says_for_which(
    folder: Path, mongod: Mongod, amqp: str, rabbitmq: RabbitServer
) -> None:
    async with cluster(folder, mongod.url, amqp, services=()) as placet:
        rabbitmq.stop()
        try:
            member = placet.add("broker")
            await eventually(lambda: is_waiting(member, "RabbitMQ"), within=30)
        finally:
            rabbitmq.start()
        await member.ready()
        mongod.stop()
        try:
            late = placet.add("runner")
            await eventually(lambda: is_waiting(late, "MongoDB"), within=40)
        finally:
            mongod.start()
        await late.ready()


async def is_waiting(member: Member, word: str) -> bool:
    alive, _ = await probe(member, "/healthz")
    status, reasons = await probe(member, "/readyz")
    return alive == 200 and status == 503 and word in reasons


async def test_answers_are_taken_while_rabbitmq_is_away_and_reach_their_runs_later(
    folder: Path, mongod: Mongod, amqp: str, rabbitmq: RabbitServer
) -> None:
    async with cluster(folder, mongod.url, amqp) as placet, placet.client() as client:
        run = await (await started(client, "safely", "k1")).wait()
        await eventually(lambda: client.input(run.inputs[0].id), within=20)
        rabbitmq.stop()
        try:
            settled = await run.inputs[0].settle("accept", True, from_="alice")
            assert settled.state == "answered"
            other = await started(client, "freely", "k2")
            assert (await other.wait()).status == RunStatus.COMPLETED, "what needs nobody goes on"
            await eventually(lambda: not_ready(placet.members), within=20)
        finally:
            rabbitmq.start()
        assert (await finished(client, run)).status == RunStatus.COMPLETED
        assert effects(placet.ledger, "safely") == 1
        await placet.all_ready()


async def not_ready(members: list[Member]) -> bool:
    return all([(await probe(member, "/readyz"))[0] == 503 for member in members])


async def test_mongodb_away_is_503_with_retry_after_and_everything_recovers(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    async with cluster(folder, mongod.url, amqp) as placet, placet.client() as client:
        run = await (await started(client, "safely", "k1")).wait()
        mongod.stop()
        try:
            with pytest.raises(Unavailable):
                await run.refresh()
            headers = {"Authorization": f"Bearer {placet.key}"}
            async with httpx2.AsyncClient(timeout=60) as http:
                away = await http.get(placet.of("runner")[0].url + "/v1/runs", headers=headers)
            assert (away.status_code, "retry-after" in away.headers) == (503, True)
            assert away.headers["content-type"] == "application/problem+json"
        finally:
            mongod.start()
        run = await patiently(run.refresh)
        assert (await finished(client, run)).status == RunStatus.COMPLETED
        assert effects(placet.ledger, "safely") == 1


async def test_an_abort_works_while_the_broker_is_away_and_its_question_is_closed_after(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    async with cluster(folder, mongod.url, amqp) as placet, placet.client() as client:
        run = await (await started(client, "safely", "k1")).wait()
        await eventually(lambda: client.input(run.inputs[0].id), within=20)
        broker = placet.of("broker")[0]
        broker.kill()
        assert (await run.abort()).status == RunStatus.CANCELLED
        broker.start()
        await broker.ready()

        async def closed() -> bool:
            return (await client.input(run.inputs[0].id)).state == "cancelled"

        await eventually(closed, within=30)
        assert executions(placet.ledger, "safely") == 0


async def test_a_runner_that_is_told_to_stop_hands_its_runs_back_at_once(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    services = ("runner", "runner", "broker")
    async with (
        cluster(folder, mongod.url, amqp, services=services, PLACET_LEASE_SECONDS="60") as placet,
        placet.client() as client,
    ):
        runs = [await started(client, "safely freely", f"k{n}") for n in range(20)]
        leaving = placet.of("runner")[0]
        leaving.signal(signal.SIGTERM)
        ended = await asyncio.gather(*(finished(client, run) for run in runs))
        assert {run.status for run in ended} == {RunStatus.COMPLETED}, (
            "sooner than the lease of 60 s"
        )
        assert effects(placet.ledger, "safely") == 20
        assert leaving.wait() == 0


async def test_invariant_8_a_runner_that_was_paused_beyond_its_lease_changes_nothing_when_it_wakes(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    async with cluster(folder, mongod.url, amqp, services=("runner", "runner", "broker")) as placet:
        await pause_and_wake(placet)


async def pause_and_wake(placet: Cluster) -> None:
    async with placet.client() as client:
        runs = [await started(client, "safely carefully", f"k{n}") for n in range(30)]
        sleeper = placet.of("runner")[0]
        working = asyncio.gather(*(finished(client, run) for run in runs))
        sleeper.signal(signal.SIGSTOP)
        placet.members.remove(sleeper)  # the front door does not send to it
        await asyncio.sleep(5)
        sleeper.signal(signal.SIGCONT)
        placet.members.append(sleeper)
        ended = await working
        assert {run.status for run in ended} == {RunStatus.COMPLETED}
        assert effects(placet.ledger, "safely") == 30
        tries = [path.name.split(".")[2] for path in placet.ledger.glob("run.carefully.*")]
        assert len(tries) == len(set(tries)), "a call that must not be guessed about ran twice"
