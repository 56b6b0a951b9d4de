"""The rights of deploy/rabbitmq on a real RabbitMQ: enough to work, and not enough for more."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from threading import Event

import httpx2
import pymongo
import pytest
from pymongo.errors import OperationFailure

from placet.bus.port import Delivery, Outgoing, Settle
from placet.bus.rabbit import RabbitBus
from placet.errors import Unavailable
from placet.messages.users import BROKER_USER, NOTIFIER_USER, RUNNER_USER
from tests.contract.installation import guarded_mongod, mongo_url, processes
from tests.support.rabbitmq import WORD, RabbitServer, amqp_url

ROOT = Path(__file__).parents[2]
OPERATOR = "placet-operator"
PASSWORDS = {f"{who}_AMQP_PASSWORD": WORD for who in ("RUNNER", "BROKER", "NOTIFIER", "OPERATOR")}

Open = Callable[[str], RabbitBus]


def make_definitions(out: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    files = [
        "deploy/rabbitmq/definitions.py",
        "contracts/rabbitmq.json",
        "deploy/rabbitmq/users.json",
    ]
    return subprocess.run(
        [sys.executable, *files, out],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitServer]:
    """A RabbitMQ that has loaded the definitions of docker-compose.yml."""
    out = tmp_path_factory.mktemp("definitions") / "definitions.json"
    done = make_definitions(out, PASSWORDS)
    assert done.returncode == 0, done.stderr
    server = RabbitServer()
    try:
        server.start()
        server.ctl("import_definitions", str(out))
        yield server
    finally:
        server.close()


@pytest.fixture
async def opened(confined: RabbitServer) -> AsyncIterator[Open]:
    made: list[RabbitBus] = []

    def make(user: str) -> RabbitBus:
        made.append(RabbitBus(amqp_url(confined.port, user), confirm_seconds=3))
        return made[-1]

    yield make
    for bus in made:
        await bus.close()


def message(exchange: str, key: str) -> Outgoing:
    return Outgoing(exchange, key, type="placet.test.v1", body=b"{}", event_id="evt_1")


def test_a_password_that_is_missing_is_named(tmp_path: Path) -> None:
    done = make_definitions(tmp_path / "out.json", {**PASSWORDS, "BROKER_AMQP_PASSWORD": ""})
    assert done.returncode == 1
    assert "BROKER_AMQP_PASSWORD is missing" in done.stderr


def test_the_definitions_hold_no_password(tmp_path: Path) -> None:
    make_definitions(tmp_path / "out.json", PASSWORDS)
    text = (tmp_path / "out.json").read_text()
    assert WORD not in text
    users = json.loads(text)["users"]
    assert len({user["password_hash"] for user in users}) == len(users)


@pytest.mark.parametrize("user", [RUNNER_USER, BROKER_USER, NOTIFIER_USER, OPERATOR])
async def test_a_service_finds_the_topology_as_it_should_be(opened: Open, user: str) -> None:
    bus = opened(user)
    await bus.open()
    assert bus.ready() == []
    await bus.probe()


@pytest.mark.parametrize(
    ("user", "exchange", "key"),
    [
        (RUNNER_USER, "placet.answers", "answer"),
        (RUNNER_USER, "placet.resolutions", "resolution"),
        (BROKER_USER, "placet.runs", "start"),
        (BROKER_USER, "placet.answers", "answer"),
        (BROKER_USER, "placet.requests", "confirm"),
        (NOTIFIER_USER, "placet.resolutions", "resolution"),
        (NOTIFIER_USER, "placet.events", "default.run.completed"),
    ],
)
async def test_a_service_cannot_say_what_is_not_its_own(
    opened: Open, user: str, exchange: str, key: str
) -> None:
    bus = opened(user)
    await bus.open()
    with pytest.raises(Unavailable, match=r"(?i)refused|403|access"):
        await bus.publish(message(exchange, key))


async def test_a_service_cannot_listen_to_another(opened: Open) -> None:
    bus = opened(RUNNER_USER)
    await bus.open()
    with pytest.raises(Unavailable):
        await bus.consume("placet.broker.answers", _never, prefetch=1)


def test_the_whole_loop_works_with_these_rights(confined: RabbitServer) -> None:
    with guarded_mongod() as mongo_port, processes(confined.port, mongo_port) as services:
        runner, broker, notifier = (services[name] for name in ("runner", "broker", "notifier"))
        started = runner.post("/v1/agents/ops/runs", json={"input": "Delete staging"}).json()
        path = f"/v1/runs/{started['id']}"
        run = runner.get(path, params={"wait": 30}).json()
        assert run["status"] == "input_required", run
        (asked,) = run["inputs"]
        assert answer(broker, asked["id"])["state"] == "answered"
        wait = {"wait": 30, "settled": asked["id"]}
        assert runner.get(path, params=wait).json()["status"] == "completed"
        assert notifier.get("/v1/webhooks").status_code == 200
        for service in services.values():
            assert service.get("/readyz").json() == {"ready": True, "reasons": []}


def test_a_service_reads_no_other_service_s_database() -> None:
    with guarded_mongod() as port:
        url = mongo_url(port, RUNNER_USER)
        with pymongo.MongoClient[dict[str, object]](url) as client:
            assert client.placet_auth.directory.find_one({}) is None
            with pytest.raises(OperationFailure, match="not authorized"):
                client.placet_interactions.interactions.find_one({})
            with pytest.raises(OperationFailure, match="not authorized"):
                client.placet_auth.directory.insert_one({"_id": "forged"})


def answer(client: httpx2.Client, input_id: str) -> dict[str, str]:
    """Say yes, once the broker has the question."""
    pause = Event()
    for _ in range(400):
        reply = client.post(f"/v1/inputs/{input_id}", json={"action": "accept", "content": True})
        if reply.status_code != 404:
            break
        pause.wait(0.05)
    found: dict[str, str] = reply.json()
    return found


async def _never(_delivery: Delivery) -> Settle:
    raise AssertionError
