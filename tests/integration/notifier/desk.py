"""Whole notifiers in this process: any store, the in-process bus, REST on a real socket."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx2
import orjson
import uvicorn

from placet.bus.inprocess import Hub
from placet.bus.port import Outgoing
from placet.clock import SystemClock
from placet.ids import new_id
from placet.messages import Event, EventType, encode
from placet.messages.wire import name_of
from placet.process.auth import OPERATOR_SCOPES
from placet.process.http import create_app
from placet.process.platform import Databases, Platform
from placet.process.settings import Settings, load
from placet_notifier.rules.delivery import Delivery
from placet_notifier.settings import NotifierSettings
from placet_notifier.wiring import Notifier

QUEUE = "placet.notifier.events"
QUICK = {
    "webhook_allow_private": True,
    "webhook_timeout_seconds": 0.5,
    "webhook_poll_seconds": 0.1,
    "stream_poll_seconds": 0.05,
}


@dataclass(frozen=True, slots=True)
class Sent:
    """One server-sent event."""

    number: int
    name: str
    data: Any


class Desk:
    """One or more notifiers on one database, and everybody around them."""

    def __init__(self, databases: Databases, replicas: int = 1, **settings: Any) -> None:
        self.hub = Hub(clock=SystemClock())
        self.platform = Platform(
            load(Settings, data=":memory:"),
            databases=databases,
            buses=self.hub.bus,
            clock=SystemClock(),
        )
        chosen = load(NotifierSettings, **{**QUICK, **settings})
        self.notifiers = [Notifier(self.platform, chosen) for _ in range(replicas)]
        self.notifier = self.notifiers[0]
        self.urls: list[str] = []
        self.runner = self.platform.bus("placet-runner")
        self.broker = self.platform.bus("placet-broker")
        self._servers: list[tuple[uvicorn.Server, asyncio.Task[None]]] = []
        self.http = httpx2.AsyncClient(timeout=10)

    @asynccontextmanager
    async def opened(self, *, start: bool = True) -> AsyncIterator["Desk"]:
        await self.platform.open()
        for notifier in self.notifiers:
            await self._serve(notifier)
            if start:
                await notifier.start()
        try:
            yield self
        finally:
            await self.http.aclose()
            for notifier in self.notifiers:
                await notifier.stop()
            for server, task in self._servers:
                server.should_exit = True
                await task
            await self.platform.close()

    async def _serve(self, notifier: Notifier) -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        app = create_app([notifier.service], self.platform)
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5)
        server = _Server(config)
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[listening]))
        self._servers.append((server, task))
        self.urls.append(f"http://127.0.0.1:{listening.getsockname()[1]}")

    async def key(
        self, *scopes: str, namespace: str = "default", person: str = "alice"
    ) -> dict[str, str]:
        """Headers with a new key; a person's scopes unless others are given."""
        key, _ = await self.platform.auth.keys.create(
            namespace=namespace, name="test", scopes=scopes or OPERATOR_SCOPES, person=person
        )
        return {"Authorization": f"Bearer {key}"}

    async def call(self, method: str, path: str, headers: dict[str, str], **more: Any) -> Any:
        return await self.http.request(method, self.urls[0] + path, headers=headers, **more)

    async def webhook(self, headers: dict[str, str], url: str, **more: Any) -> tuple[str, str]:
        """A new webhook: its id and secret."""
        made = await self.call("POST", "/v1/webhooks", headers, json={"url": url, **more})
        assert made.status_code == 201, made.text
        return made.json()["webhook"]["id"], made.json()["secret"]

    async def publish(self, event: Event, bus: Any = None) -> None:
        await (bus or self.runner).publish(
            Outgoing(
                exchange="placet.events",
                key=f"{event.namespace}.{event.type}",
                type=name_of(event),
                body=encode(event),
                event_id=event.id,
            )
        )

    async def deliveries(self, headers: dict[str, str], webhook: str) -> list[Any]:
        found = await self.call("GET", f"/v1/webhooks/{webhook}/deliveries", headers)
        items: list[Any] = found.json()["items"]
        return items

    async def one(self, headers: dict[str, str], webhook: str) -> Any:
        """The only delivery, or None as long as there is none."""
        found = await self.deliveries(headers, webhook)
        assert len(found) <= 1
        return found[0] if found else None

    async def hasten(self, delivery: str, by: timedelta = timedelta(hours=4)) -> None:
        """As if so much time had passed for a delivery that waits."""
        milliseconds = -int(by.total_seconds() * 1000)
        collection = self.notifier.deliveries.collection
        change = [{"$set": {"due": {"$add": ["$due", milliseconds]}}}]
        assert await collection.update(delivery, {"state": "pending"}, change)
        self.notifier.sending.loop.wake()

    async def stored(self, namespace: str = "default") -> int:
        oldest, newest = await self.notifier.log.span(namespace)
        return newest - oldest + 1

    async def delivery(self, id: str, namespace: str = "default") -> Delivery:
        found = await self.notifier.deliveries.get(namespace, id)
        assert found is not None
        return found

    @asynccontextmanager
    async def stream(
        self, headers: dict[str, str], path: str = "/v1/events", *, replica: int = 0
    ) -> AsyncIterator[AsyncIterator[Sent]]:
        """An open stream; the iterator ends when the server ends it."""
        url = self.urls[replica] + path
        async with self.http.stream("GET", url, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            assert response.headers["content-type"].startswith("text/event-stream")
            async with contextlib.aclosing(_lines(response)) as lines:
                await anext(lines)
                yield _events(lines)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


async def _lines(response: httpx2.Response) -> AsyncGenerator[str, None]:
    async for line in response.aiter_lines():
        yield line


async def _events(lines: AsyncGenerator[str, None]) -> AsyncIterator[Sent]:
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "data" in fields:
            yield Sent(int(fields["id"]), fields["event"], orjson.loads(fields["data"]))
            fields = {}
        else:
            fields = {}


def event(kind: EventType = EventType.RUN_STARTED, **given: Any) -> Event:
    """An event that happens now."""
    fields = {
        "id": new_id("evt"),
        "type": kind,
        "at": SystemClock().now(),
        "agent_id": "agt_1",
        "run_id": "run_1",
        "root_run_id": "run_1",
    }
    return Event.model_validate({**fields, **given})
