"""A whole broker in this process: any store, the in-process bus, REST without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import orjson

from placet.bus.inprocess import Hub
from placet.bus.port import Ack, Bus, Delivery, Outgoing, Settle
from placet.clock import Clock, SystemClock
from placet.domain.interaction import ApprovalRequest, InteractionRequest, ToolCall
from placet.ids import new_id
from placet.messages import AnswerMessage, Close, Event, EventType, encode
from placet.messages.wire import name_of
from placet.process.auth import PERSON_SCOPES, Scope
from placet.process.http import create_app
from placet.process.platform import Databases, Platform
from placet.process.settings import Settings, load
from placet_broker.rules.opening import Asker
from placet_broker.rules.record import RUNNER, Record
from placet_broker.settings import BrokerSettings
from placet_broker.wiring import Broker

ORIGIN = "http://localhost"
RUNNER_ASKS = Asker(RUNNER, None)


@dataclass
class Heard:
    """What arrived on a queue."""

    deliveries: list[Delivery] = field(default_factory=list)

    async def handle(self, delivery: Delivery) -> Settle:
        self.deliveries.append(delivery)
        return Ack()

    @property
    def bodies(self) -> list[Any]:
        return [orjson.loads(delivery.body) for delivery in self.deliveries]

    def of_type(self, kind: str) -> list[Any]:
        return [body for body in self.bodies if body.get("type") == kind]


class Desk:
    """The broker and everybody around it."""

    def __init__(
        self,
        databases: Databases,
        hub: Hub,
        clock: Clock,
        shared: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.hub = hub
        own = load(Settings, data=":memory:", **(shared or {}))
        self.platform = Platform(own, databases=databases, buses=hub.bus, clock=clock)
        self.broker = Broker(self.platform, load(BrokerSettings, due_poll_seconds=0.05, **settings))
        self.runner: Bus = self.platform.bus("placet-runner")
        self.app = create_app([self.broker.service], self.platform)
        self.resolutions = Heard()
        self.events = Heard()
        self.http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self.app), base_url=ORIGIN
        )

    @property
    def interactions(self) -> Any:
        return self.broker.interactions

    async def open(self, *, start: bool = True) -> None:
        await self.platform.open()
        notifier = self.hub.bus("placet-notifier")
        await notifier.open()
        await self.runner.consume("placet.runner.resolutions", self.resolutions.handle, prefetch=16)
        await notifier.consume("placet.notifier.events", self.events.handle, prefetch=16)
        if start:
            await self.broker.start()

    async def close(self) -> None:
        await self.http.aclose()
        await self.broker.stop()
        await self.platform.close()

    async def key(
        self,
        person: str | None = "alice",
        *scopes: str,
        service: str | None = None,
        namespace: str = "default",
    ) -> dict[str, str]:
        """Headers with a new key; a person's scopes unless others are given."""
        key, _ = await self.platform.auth.keys.create(
            namespace=namespace,
            name="test",
            scopes=scopes or PERSON_SCOPES,
            person=None if service else person,
            service=service,
        )
        return {"Authorization": f"Bearer {key}"}

    async def session(self, person: str = "alice") -> str:
        """A logged-in browser's cookie."""
        link = await self.platform.auth.sessions.create_link(namespace="default", person=person)
        return await self.platform.auth.sessions.login(link)

    async def map_user(self, user: str, *scopes: str, service: str = "billing") -> Bus:
        """An AMQP user that stands for a service."""
        wanted = scopes or (Scope.RUNS_WRITE, Scope.INPUTS_ANSWER, Scope.INPUTS_READ)
        await self.platform.auth.keys.map_amqp_user(
            user, namespace="default", service=service, scopes=wanted
        )
        bus = self.hub.bus(user)
        await bus.open()
        return bus

    async def ask(self, request: InteractionRequest | None = None, **changes: Any) -> Record:
        """Open a question of the runner."""
        asked = request or approval(**changes)
        return await self.broker.use_cases.open_request(asked, RUNNER_ASKS)

    async def answer(self, id: str, content: Any, headers: dict[str, str], **more: Any) -> Any:
        body = {"content": content, **more}
        return await self.http.post(f"/v1/inputs/{id}", json=body, headers=headers)

    async def answer_all(
        self,
        answers: list[dict[str, Any]],
        headers: dict[str, str],
        path: str = "/v1/inputs",
        **more: Any,
    ) -> Any:
        body = {"answers": answers, **more}
        return await self.http.post(path, json=body, headers=headers)

    async def get(self, id: str) -> Record:
        record: Record | None = await self.interactions.get(id)
        assert record is not None
        return record


def approval(**changes: Any) -> ApprovalRequest:
    """A question of a run; `args` and `tool` name the call."""
    call = ToolCall(
        id=changes.pop("call_id", "call_1"),
        tool=changes.pop("tool", "drop_database"),
        args=changes.pop("args", {"name": "staging"}),
    )
    now = datetime.now(UTC).replace(microsecond=0)
    fields: dict[str, Any] = {
        "id": new_id("inp"),
        "agent_id": "agt_1",
        "path": ("ops",),
        "run_id": "run_1",
        "requested_at": now,
        "call": call,
    }
    return ApprovalRequest(**{**fields, **changes})


def of_service(**changes: Any) -> ApprovalRequest:
    """A request as another service publishes it: the named fields and nothing more."""
    given = {"id": "", "run_id": "invoice-7", "agent_id": "billing", "path": (), **changes}
    return approval(**given)


def past(seconds: float = 5) -> datetime:
    """A moment ago."""
    return datetime.now(UTC) - timedelta(seconds=seconds)


def request_message(request: InteractionRequest, **more: Any) -> Outgoing:
    """A request on its way to the broker."""
    return Outgoing(
        exchange="placet.requests",
        key=str(request.kind),
        type=name_of(request),
        body=more.pop("body", encode(request)),
        event_id=new_id("evt"),
        **more,
    )


def close_message(
    id: str, reason: str = "superseded", run_id: str = "run_1", digest: str = ""
) -> Outgoing:
    """A run's closing of a question."""
    close = Close(input_id=id, run_id=run_id, reason=reason, digest=digest)
    body = encode(close)
    return Outgoing("placet.requests", "close", name_of(close), body, new_id("evt"))


def answer_message(id: str, content: Any, reply_to: str | None = None, **more: Any) -> Outgoing:
    """A service's answer."""
    answer = AnswerMessage(input_id=id, content=content, **more)
    return Outgoing(
        exchange="placet.answers",
        key="answer",
        type=name_of(answer),
        body=encode(answer),
        event_id=new_id("evt"),
        correlation_id="mine",
        reply_to=reply_to,
    )


def ended_message(run_id: str, applied: list[str]) -> Outgoing:
    """A run that ended, with the inputs it acted on."""
    event = Event(
        id=new_id("evt"),
        type=EventType.RUN_COMPLETED,
        at=datetime.now(UTC),
        run_id=run_id,
        data={"applied": applied},
    )
    body = encode(event)
    return Outgoing("placet.events", "default.run.completed", name_of(event), body, event.id)


@asynccontextmanager
async def opened(
    databases: Databases, *, start: bool = True, clock: Clock | None = None, **settings: Any
) -> AsyncIterator[Desk]:
    """A desk that is open, and closed at the end."""
    desk = Desk(databases, Hub(), clock or SystemClock(), **settings)
    await desk.open(start=start)
    try:
        yield desk
    finally:
        await desk.close()
