"""Somebody says yes on each surface, and what it tells them, as a status of REST."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
import pytest

from placet.bus.port import Bus
from placet.cli.__main__ import main
from placet.process.access import SESSION_COOKIE
from placet.process.auth import PERSON_SCOPES, Scope, nonce_of
from placet_broker.rules.record import Record
from tests.integration.broker.desk import ORIGIN, Desk, Heard, answer_message
from tests.support.eventually import eventually

GATEWAY = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS)
EXITS = {0: 202, 1: 400, 3: 404, 4: 403}


@dataclass(frozen=True)
class Who:
    """Somebody with a credential: a person's, or a service's that may name somebody."""

    person: str | None = None
    service: str = ""
    names: str | None = None
    """`from`."""
    scopes: tuple[str, ...] = tuple(PERSON_SCOPES)
    namespace: str = "default"


@dataclass
class World:
    """A broker, where it listens, and whoever reaches it."""

    desk: Desk
    environment: pytest.MonkeyPatch
    buses: dict[tuple[str, str], tuple[Bus, Heard]] = field(default_factory=dict)

    async def headers(self, who: Who) -> dict[str, str]:
        service = who.service or None
        return await self.desk.key(
            who.person, *who.scopes, service=service, namespace=who.namespace
        )

    async def session(self, who: Who) -> dict[str, str]:
        auth = self.desk.platform.auth
        login = await auth.sessions.create_link(
            namespace=who.namespace, person=str(who.person), scopes=who.scopes
        )
        self.nonce_of = await auth.sessions.login(login)
        return {"Cookie": f"{SESSION_COOKIE}={self.nonce_of}", "Origin": ORIGIN}

    async def bus(self, who: Who) -> tuple[Bus, Heard, str]:
        """The user of a service, and the queue where it hears replies."""
        user = f"{who.namespace}-{who.service}"
        replies = f"placet.reply.{user}.1"
        if (user, replies) not in self.buses:
            await self.desk.platform.auth.keys.map_amqp_user(
                user, namespace=who.namespace, service=who.service, scopes=who.scopes
            )
            bus, heard = self.desk.hub.bus(user), Heard()
            await bus.open()
            await bus.consume(replies, heard.handle, prefetch=1)
            self.buses[user, replies] = (bus, heard)
        return (*self.buses[user, replies], replies)


def _said(who: Who) -> dict[str, Any]:
    return {} if who.names is None else {"from": who.names}


async def rest(world: World, who: Who, record: Record) -> int:
    reply = await world.desk.answer(record.id, True, await world.headers(who), **_said(who))
    return int(reply.status_code)


async def batch(world: World, who: Who, record: Record) -> int:
    answers = [{"id": record.id, "content": True, **_said(who)}]
    return int((await world.desk.answer_all(answers, await world.headers(who))).status_code)


async def each(world: World, who: Who, record: Record) -> int:
    """A batch in which every answer stands for itself."""
    answers = [{"id": record.id, "content": True, **_said(who)}]
    headers = await world.headers(who)
    reply = await world.desk.answer_all(answers, headers, mode="each")
    return int(reply.json()["results"][0]["status"])


async def over_bus(world: World, who: Who, record: Record) -> int:
    """A person has no user of RabbitMQ: a gateway says that it is them."""
    if who.person is not None:
        names = who.names or who.person
        who = Who(service="chat", names=names, scopes=GATEWAY, namespace=who.namespace)
    bus, heard, replies = await world.bus(who)
    before = len(heard.bodies)
    await bus.publish(answer_message(record.id, True, replies, named=who.names))
    await eventually(lambda: len(heard.bodies) > before)
    return int(heard.bodies[-1].get("status", 202))


async def command(world: World, who: Who, record: Record) -> int:
    key = (await world.headers(who))["Authorization"].removeprefix("Bearer ")
    world.environment.setenv("PLACET_KEY", key)
    more = [] if who.names is None else ["--from", who.names]
    words = ["respond", record.id, "--approve", *more]
    return EXITS[await anyio.to_thread.run_sync(main, words)]


async def web(world: World, who: Who, record: Record) -> int:
    headers = await world.session(who)
    data = {"nonce": nonce_of(world.nonce_of), "act": "accept", "digest": record.shown_digest}
    data |= {"decision": "approved", "scope": "once"}
    reply = await world.desk.http.post(f"/inbox/{record.id}", data=data, headers=headers)
    return 202 if reply.status_code == 303 else int(reply.status_code)


async def link(world: World, who: Who, record: Record) -> int:
    """Through a link that a gateway made for them, by the code that was sent; 403 if none is made."""
    gateway = await world.desk.key(None, *GATEWAY, service="chat")
    path = f"/v1/inputs/{record.id}/links"
    body = {"person": who.names or who.person or f"service:{who.service}", "content": True}
    made = await world.desk.http.post(path, json=body, headers=gateway)
    if made.status_code != 201:
        return int(made.status_code)
    code = await world.desk.http.post(f"{path}/{made.json()['id']}/code", headers=gateway)
    data = {"code": code.json()["code"]}
    reply = await world.desk.http.post(made.json()["path"], data=data, headers={"Origin": ORIGIN})
    return 202 if reply.status_code == 303 else int(reply.status_code)


async def forwarded(world: World, who: Who, record: Record) -> int:
    """Through a link that was made for ann, by the session of whoever it was forwarded to."""
    gateway = await world.desk.key(None, *GATEWAY, service="chat")
    path = f"/v1/inputs/{record.id}/links"
    made = await world.desk.http.post(
        path, json={"person": "ann", "content": True}, headers=gateway
    )
    reply = await world.desk.http.post(
        made.json()["path"], data={"code": ""}, headers=await world.session(who)
    )
    return 202 if reply.status_code == 303 else int(reply.status_code)


SURFACES: dict[str, Callable[[World, Who, Record], Any]] = {
    "rest": rest,
    "batch": batch,
    "each": each,
    "bus": over_bus,
    "cli": command,
    "page": web,
    "link": link,
    "forwarded": forwarded,
}
