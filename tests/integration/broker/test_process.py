"""The broker as a process of its own: ready, stopped, killed between the write and the publish."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pymongo
import pytest

from placet.bus.rabbit import RabbitBus
from placet.clock import SystemClock
from placet.ids import new_id
from placet.process.auth import PERSON_SCOPES, Auth
from placet.store.mongo import MongoDatabase
from tests.integration.broker.desk import Heard, approval, request_message
from tests.support.eventually import eventually
from tests.support.mongod import free_port

pytestmark = pytest.mark.integration

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def environment(
    mongo_url: str, amqp_urls: dict[str, str], empty_queues: None
) -> Iterator[dict[str, str]]:
    prefix = new_id("t") + "_"
    yield {
        **os.environ,
        "PLACET_MONGO_URL": mongo_url,
        "PLACET_AMQP_URL": amqp_urls["placet-broker"],
        "PLACET_DATABASE_PREFIX": prefix,
        "PLACET_PORT": str(free_port()),
    }
    with pymongo.MongoClient[dict[str, object]](mongo_url) as client:
        for name in ("auth", "interactions"):
            client.drop_database(prefix + name)


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(**more: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"broker{len(started)}.log").open("wb")
        command = [sys.executable, "-m", "placet_broker"]
        with log:
            started.append(
                subprocess.Popen(command, env={**environment, **more}, stderr=log, cwd=tmp_path)
            )
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


async def ready(environment: dict[str, str]) -> None:
    async def answers() -> bool:
        try:
            async with httpx2.AsyncClient() as http:
                url = f"http://127.0.0.1:{environment['PLACET_PORT']}/readyz"
                return (await http.get(url)).status_code == 200
        except httpx2.TransportError:
            return False

    await eventually(answers, within=30)


async def a_key(environment: dict[str, str]) -> dict[str, str]:
    name = environment["PLACET_DATABASE_PREFIX"] + "auth"
    database = MongoDatabase(environment["PLACET_MONGO_URL"], name)
    auth = Auth(database, SystemClock())
    await database.open()
    key, _ = await auth.keys.create(
        namespace="default", name="t", scopes=PERSON_SCOPES, person="alice"
    )
    await database.close()
    return {"Authorization": f"Bearer {key}"}


async def test_it_becomes_ready_and_ends_in_good_order(
    start: Start, environment: dict[str, str]
) -> None:
    broker = start()
    await ready(environment)
    broker.send_signal(signal.SIGTERM)
    await eventually(lambda: broker.poll() is not None, within=20)
    assert broker.returncode == 0


async def test_a_setting_that_is_wrong_or_missing_ends_it_at_the_start(
    start: Start, tmp_path: Path
) -> None:
    for number, changed in enumerate(({"PLACET_PORT": "many"}, {"PLACET_AMQP_URL": "http://x"})):
        broker = start(**changed)
        await eventually(lambda: broker.poll() is not None, within=20)  # noqa: B023 - awaited here
        assert broker.returncode == 2
        assert next(iter(changed)) in (tmp_path / f"broker{number}.log").read_text()


async def test_a_kill_between_the_settle_and_its_publish_loses_nothing(
    start: Start, environment: dict[str, str], amqp_urls: dict[str, str]
) -> None:
    """Invariant 4: the next broker finds the outbox and the runner hears of the answer."""
    killed = start(PLACET_CRASH_POINTS="1", PLACET_CRASH_AT="settle.done:1")
    await ready(environment)
    headers = await a_key(environment)
    runner, heard = RabbitBus(amqp_urls["placet-runner"]), Heard()
    await runner.open()
    taking = await runner.consume("placet.runner.resolutions", heard.handle, prefetch=4)
    request = approval()
    await runner.publish(request_message(request))
    url = f"http://127.0.0.1:{environment['PLACET_PORT']}/v1/inputs/{request.id}"
    async with httpx2.AsyncClient(headers=headers) as http:

        async def opened() -> bool:
            return (await http.get(url)).status_code == 200

        await eventually(opened)
        with pytest.raises(httpx2.TransportError):
            await http.post(url, json={"content": True})
    await eventually(lambda: killed.poll() == -signal.SIGKILL)
    start()
    await ready(environment)
    async with httpx2.AsyncClient(headers=headers) as http:
        assert (await http.get(url)).json()["state"] == "answered"
        assert (await http.post(url, json={"content": True})).status_code == 200
    await eventually(lambda: heard.bodies, within=20)
    assert {body["outcome"]["content"] for body in heard.bodies} == {True}
    await taking.stop()
    await runner.close()
