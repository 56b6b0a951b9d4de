"""The services as processes of their own, on real servers, to be killed and started again."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from placet.client import AsyncClient
from placet.ids import new_id
from placet.process.auth import ALL_SCOPES
from placet.process.platform import from_settings
from placet.process.settings import Settings, load
from tests.support.eventually import eventually
from tests.support.mongod import free_port

ROOT = Path(__file__).parents[2]
AGENTS = Path(__file__).parent / "fault_agents.py"
BROKER_PATHS = ("/inputs", "/v1/requests", "/v1/audit", "/v1/keys", "/v1/freezes")


@dataclass
class Member:
    """One service process."""

    service: str
    port: int
    env: Mapping[str, str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, **extra: str) -> None:
        """Start the process; it may take a moment until it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"placet_{self.service}"],
                env={**self.env, **extra},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def signal(self, what: signal.Signals) -> None:
        if self.alive and self.process:
            self.process.send_signal(what)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        return self.process.wait(timeout=60) if self.process else 0

    async def ready(self, within: float = 60.0) -> None:
        """Return once /readyz says so; fails with the log's end if the process ends first."""

        async def look() -> bool:
            if not self.alive:
                raise RuntimeError(f"{self.service} ended: {self.tail()}")
            async with httpx2.AsyncClient(timeout=5) as http:
                with contextlib.suppress(httpx2.TransportError):
                    return (await http.get(f"{self.url}/readyz")).status_code == 200
            return False

        await eventually(look, within=within, every=0.1)

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]


class FrontDoor(httpx2.AsyncBaseTransport):
    """Routes by path, as the front door of an installation does, to a member that lives."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._http = httpx2.AsyncHTTPTransport()
        self._turn = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        service = "broker" if any(part in path for part in BROKER_PATHS) else "runner"
        living = [m for m in self._members if m.service == service and m.alive]
        if not living:
            raise httpx2.ConnectError(f"no {service} lives")
        self._turn += 1
        member = living[self._turn % len(living)]
        request.url = request.url.copy_with(port=member.port)
        return await self._http.handle_async_request(request)

    async def aclose(self) -> None:
        await self._http.aclose()


@dataclass
class Cluster:
    """Members on one MongoDB and one RabbitMQ, with databases of their own."""

    folder: Path
    mongo_url: str
    amqp_url: str
    """With {user} for the service's user."""
    prefix: str = field(default_factory=lambda: new_id("t")[:18] + "_")
    settings: Mapping[str, str] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    key: str = ""

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def env(self) -> dict[str, str]:
        self.ledger.mkdir(exist_ok=True)
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("PLACET_")},
            "PLACET_MONGO_URL": self.mongo_url,
            "PLACET_AMQP_URL": self.amqp_url,
            "PLACET_DATABASE_PREFIX": self.prefix,
            "PLACET_AGENTS": str(AGENTS),
            "PLACET_LEASE_SECONDS": "3",
            "PLACET_TEST_LEDGER": str(self.ledger),
            "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            **self.settings,
        }

    def add(self, service: str, **extra: str) -> Member:
        """One more member, started."""
        port = free_port()
        env = self.env() | {"PLACET_PORT": str(port)}
        member = Member(service, port, env, self.folder / f"{service}-{len(self.members)}.log")
        self.members.append(member)
        member.start(**extra)
        return member

    def of(self, service: str) -> list[Member]:
        return [member for member in self.members if member.service == service]

    async def make_key(self) -> str:
        """A service key that may act for anybody."""
        platform = from_settings(
            load(Settings, mongo_url=self.mongo_url, database_prefix=self.prefix, amqp_url=None)
        )
        await platform.open()
        key, _ = await platform.auth.keys.create(
            namespace="default", name="test", service="test", scopes=ALL_SCOPES
        )
        await platform.close()
        self.key = key
        return key

    def client(self) -> AsyncClient:
        return AsyncClient("http://127.0.0.1:1", self.key, transport=FrontDoor(self.members))

    async def all_ready(self) -> None:
        await asyncio.gather(*(member.ready() for member in self.members if member.alive))

    def stop(self) -> None:
        """End every member that still runs."""
        for member in self.members:
            member.signal(signal.SIGCONT)
            member.signal(signal.SIGKILL)
        for member in self.members:
            member.wait()


@asynccontextmanager
async def cluster(
    folder: Path,
    mongo_url: str,
    amqp_url: str,
    services: Sequence[str] = ("runner", "broker"),
    **settings: str,
) -> AsyncIterator[Cluster]:
    """A cluster whose members are ready."""
    made = Cluster(folder, mongo_url, amqp_url, settings=settings)
    await made.make_key()
    try:
        for service in services:
            made.add(service)
        await made.all_ready()
        yield made
    finally:
        made.stop()
