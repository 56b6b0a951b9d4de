"""The RabbitMQ and the MongoDB that everything in one run shares."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymongo

from tests.support.mongod import private_mongod
from tests.support.rabbitmq import ENV_URL, WORD, RabbitServer

MONGO_ENV = "PLACET_TEST_MONGO_URL"


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the servers are and, for private ones, their processes."""

    mongo_url: str
    amqp_url: str
    """With {user} for the service's user."""
    pids: dict[str, int]
    """`mongod`, `rabbitmq`; empty for servers that were there already."""
    folder: Path
    rabbit: RabbitServer | None = None
    prefixes: list[str] = field(default_factory=list)
    """Of the databases that this run made."""

    @property
    def bare_amqp_url(self) -> str:
        """For a program that is no service."""
        return self.amqp_url.format(user="placet-runner")

    def client(self) -> "pymongo.MongoClient[dict[str, Any]]":
        """A client for counting and clearing away."""
        return pymongo.MongoClient(self.mongo_url, serverSelectionTimeoutMS=5000)

    def drop_databases(self) -> None:
        """Remove every database that this run made."""
        with self.client() as client:
            for name in client.list_database_names():
                if name.startswith(tuple(self.prefixes)):
                    client.drop_database(name)

    def bus_counts(self) -> dict[str, int]:
        """Messages published and acknowledged since RabbitMQ started; empty where it can't be asked."""
        if self.rabbit is None:
            return {}
        text = self.rabbit.evaluate("rabbit_global_counters:overview()")
        names = {"publishes": "received_confirm", "consumes": "acknowledged"}
        return {
            name: sum(map(int, re.findall(rf"messages_{word}_total => (\d+)", text)))
            for name, word in names.items()
        }


@contextmanager
def servers() -> Iterator[Servers]:
    """The servers of PLACET_TEST_MONGO_URL and PLACET_TEST_AMQP_URL, or private ones."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="placet-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        pids: dict[str, int] = {}
        mongo_url = os.environ.get(MONGO_ENV) or _private_mongo(stack, pids)
        given, rabbit = os.environ.get(ENV_URL), None
        if given is None:
            rabbit = _private_rabbit(stack, pids)
        place = urlsplit(given or f"amqp://127.0.0.1:{rabbit.port if rabbit else 0}/")
        address = f"{place.hostname}:{place.port or 5672}{place.path or '/'}"
        amqp_url = f"{place.scheme}://{{user}}:{WORD}@{address}"
        made = Servers(mongo_url, amqp_url, pids, folder, rabbit, ["bench_"])
        stack.callback(made.drop_databases)
        yield made


def _private_mongo(stack: ExitStack, pids: dict[str, int]) -> str:
    mongod = stack.enter_context(private_mongod())
    if mongod._process is not None:
        pids["mongod"] = mongod._process.pid
    return mongod.url


def _private_rabbit(stack: ExitStack, pids: dict[str, int]) -> RabbitServer:
    rabbit = RabbitServer()
    stack.callback(rabbit.close)
    rabbit.start()
    pids["rabbitmq"] = int((rabbit.directory / "pid").read_text())
    return rabbit
