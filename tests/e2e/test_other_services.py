"""Services that know nothing of Placet's library ask over RabbitMQ, and take back what they asked."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from anyio import to_thread

from tests.support.cluster import Cluster
from tests.support.commands import EXAMPLES, clean, placet
from tests.support.eventually import eventually

pytestmark = pytest.mark.e2e

NODE = EXAMPLES / "node"
SERVICES = {
    "python": (sys.executable, str(EXAMPLES / "other_service_plain.py")),
    "node": ("node", str(NODE / "other_service.mjs")),
}
WITHIN = 60.0


class Asked:
    """A broker on real servers, and what it is asked there."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self.http = http
        self.url = url
        self.started: list[subprocess.Popen[str]] = []

    def run(self, service: str, *words: str) -> "subprocess.Popen[str]":
        """Start a service's command."""
        process = subprocess.Popen(
            [*SERVICES[service], *words],
            env=clean(AMQP_URL=self.url),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        """Kill what still runs, and say what it had printed: it is why a test failed."""
        for process in self.started:
            if process.stdout and not process.stdout.closed:
                process.kill()
                print(process.communicate()[0])

    async def pending(self) -> str:
        """The id of what waits, once something does."""

        async def waits() -> str:
            items = (await self.http.get("/v1/inputs?state=pending")).json()["items"]
            return str(items[0]["id"]) if items else ""

        found: str = await eventually(waits, within=30)
        return found


@pytest.fixture
async def asked(
    tmp_path: Path, amqp_urls: dict[str, str], mongo_url: str, empty_queues: None
) -> AsyncIterator[Asked]:
    url = amqp_urls["placet-runner"].replace("placet-runner", "{user}")
    servers = Cluster(tmp_path, mongo_url, url)
    await servers.make_key()
    broker = servers.add("broker")
    try:
        await broker.ready()
        env = clean(PLACET_MONGO_URL=mongo_url, PLACET_DATABASE_PREFIX=servers.prefix)
        words = ("keys", "user", "svc-billing", "--service", "billing", "--scope", "runs:write")
        assert placet(*words, env=env).code == 0
        headers = {"Authorization": f"Bearer {servers.key}"}
        async with httpx2.AsyncClient(base_url=broker.url, headers=headers) as http:
            made = Asked(http, amqp_urls["svc-billing"])
            try:
                yield made
            finally:
                made.end()
    finally:
        servers.stop()


async def said(process: "subprocess.Popen[str]") -> str:
    """What it printed until its end."""
    return (await to_thread.run_sync(lambda: process.communicate(timeout=WITHIN)))[0]


def test_node_and_what_its_example_needs_are_installed() -> None:
    assert (NODE / "node_modules/amqplib").is_dir(), "run `make system`"


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_without_the_library_asks_and_is_told(asked: Asked, service: str) -> None:
    asking = asked.run(service, "ask", f"{service}-1", "1200")
    waiting = await asked.pending()
    answer = await asked.http.post(f"/v1/inputs/{waiting}", json={"content": True, "from": "eve"})
    assert answer.status_code == 202
    shown = answer.json()
    assert shown["asked_by"] == "service:billing"
    assert shown["request"]["call"]["args"] == {"order": f"{service}-1", "cents": 1200}
    assert await said(asking) == "approved by eve\n"
    again = asked.run(service, "ask", f"{service}-1", "1200")
    assert await said(again) == "approved by eve\n", "the same question, settled already"


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_without_the_library_takes_back_what_it_asked(
    asked: Asked, service: str
) -> None:
    asking = asked.run(service, "ask", f"{service}-2", "1200")
    waiting = await asked.pending()
    assert await said(asked.run(service, "withdraw", f"{service}-2")) == ""
    assert await said(asking) == "withdrawn by nobody\n"
    shown = (await asked.http.get(f"/v1/inputs/{waiting}")).json()
    assert shown["state"] == "withdrawn"
