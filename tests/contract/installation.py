"""An installation as docker-compose.yml makes it: users with rights of their own on real servers."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import IO

import httpx2
import pymongo
from pymongo.errors import PyMongoError

from tests.support.mongod import Mongod, binary, free_port
from tests.support.rabbitmq import WORD, amqp_url

ROOT = Path(__file__).parents[2]
SERVICES = ("runner", "broker", "notifier")
READY_SECONDS = 60
ADMIN = "admin"


@contextmanager
def guarded_mongod() -> Iterator[int]:
    """A replica set that lets only the users of deploy/mongodb in; yields the port."""
    with tempfile.TemporaryDirectory(prefix="placet-mongod-") as name:
        folder, port = Path(name), free_port()
        open_server = Mongod(folder, port)
        open_server.start()
        try:
            _make_users(open_server.url)
        finally:
            open_server.stop()
        key = folder / "replica.key"
        key.write_text("k" * 48)
        key.chmod(0o400)
        command = [binary(), "--nounixsocket", "--dbpath", name, "--port", str(port)]
        command += ["--bind_ip", "127.0.0.1", "--replSet", "rs0", "--keyFile", str(key)]
        command += ["--wiredTigerCacheSizeGB", "0.25", "--logpath", str(folder / "guarded.log")]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _until_primary(mongo_url(port, ADMIN))
            yield port
        finally:
            server.kill()
            server.wait(20)


def mongo_url(port: int, user: str) -> str:
    """The URL of one of the users."""
    return f"mongodb://{user}:{WORD}@127.0.0.1:{port}/?replicaSet=rs0&authSource=admin"


def _make_users(url: str) -> None:
    """What deploy/mongodb/users.js does, by the same file."""
    wanted = json.loads((ROOT / "deploy/mongodb/users.json").read_text())
    with pymongo.MongoClient[dict[str, object]](url) as client:
        client.admin.command({"createUser": ADMIN, "pwd": WORD, "roles": ["root"]})
        for role in wanted["roles"]:
            client.admin.command(role)
        for user in wanted["users"]:
            made = {key: value for key, value in user.items() if key != "password_from"}
            client.admin.command({**made, "pwd": WORD})


def _until_primary(url: str) -> None:
    pause = Event()
    with pymongo.MongoClient[dict[str, object]](url, serverSelectionTimeoutMS=500) as client:
        for _ in range(300):
            try:
                if client.admin.command("hello")["isWritablePrimary"]:
                    return
            except PyMongoError:
                pause.wait(0.1)
    raise AssertionError("the guarded mongod is no primary")


@contextmanager
def processes(amqp_port: int, mongo_port: int) -> Iterator[dict[str, httpx2.Client]]:
    """The three services, each with its own users; a client for each, with one key."""
    ports = {name: free_port() for name in SERVICES}
    stack = ExitStack()
    logs = {name: stack.enter_context(_scratch()) for name in SERVICES}
    running = {
        name: subprocess.Popen(
            [_placet(), name],
            env=_environment(name, port, amqp_port, mongo_port),
            stdout=logs[name],
            stderr=subprocess.STDOUT,
        )
        for name, port in ports.items()
    }
    clients: dict[str, httpx2.Client] = {}
    try:
        key = _first_key(mongo_port)
        for name, port in ports.items():
            clients[name] = httpx2.Client(
                base_url=f"http://127.0.0.1:{port}",
                headers={"Authorization": f"Bearer {key}"},
                timeout=90,
            )
            _until_ready(clients[name], name, logs[name])
        yield clients
    finally:
        for client in clients.values():
            client.close()
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(60)
        stack.close()


def _scratch() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _placet() -> str:
    return str(Path(sys.executable).parent / "placet")


def _environment(name: str, port: int, amqp_port: int, mongo_port: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PLACET_AMQP_URL": amqp_url(amqp_port, f"placet-{name}"),
        "PLACET_MONGO_URL": mongo_url(mongo_port, f"placet-{name}"),
        "PLACET_PORT": str(port),
        "PLACET_LOG_LEVEL": "info",
    }


def _first_key(mongo_port: int) -> str:
    command = [_placet(), "keys", "create", "first", "--person", "alice", "--operator", "--json"]
    environment = _environment("broker", 0, 1, mongo_port)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["key"])


def _until_ready(client: httpx2.Client, name: str, log: IO[bytes]) -> None:
    pause, said = Event(), ""
    for _ in range(READY_SECONDS * 10):
        try:
            reply = client.get("/readyz")
            said = reply.text
            if reply.status_code == 200:
                return
        except httpx2.TransportError as error:
            said = repr(error)
        pause.wait(0.1)
    log.seek(0)
    raise AssertionError(f"the {name} is not ready: {said}\n{log.read().decode()[-4000:]}")
