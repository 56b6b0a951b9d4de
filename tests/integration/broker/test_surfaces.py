"""Every kind of question on every surface: the right answer, the wrong one, and a decline."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import unescape
from typing import Any, Protocol

import anyio.to_thread
import pytest

from placet.bus.port import Bus
from placet.cli.__main__ import main
from placet.client import AsyncClient, Client
from placet.clock import SystemClock
from placet.errors import Invalid
from placet.ids import new_id
from placet.process.access import SESSION_COOKIE
from placet.process.auth import Scope, nonce_of
from placet.store.sqlite import SQLiteDatabase
from placet_broker.rules.record import Record
from tests.integration.broker.desk import ORIGIN, Desk, Heard, answer_message, approval, opened
from tests.support.eventually import eventually
from tests.support.kinds import KINDS, Kind
from tests.support.listening import listening

pytestmark = pytest.mark.integration

SCOPES = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.REVIEWS_ANSWER, Scope.RUNS_READ)
REPLIES = "placet.reply.checker.1"


@dataclass(frozen=True)
class Told:
    """What the surface said: whether it was taken, and where it did not fit."""

    taken: bool
    pointers: Sequence[str] = ()


class Surface(Protocol):
    async def right(self, kind: Kind, id: str) -> Told: ...

    async def wrong(self, kind: Kind, id: str) -> Told: ...

    async def decline(self, id: str) -> Told: ...


@dataclass
class World:
    """A broker, where it listens, and the ways to reach it."""

    desk: Desk
    url: str
    key: str
    bus: Bus
    heard: Heard
    capsys: pytest.CaptureFixture[str]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass
class Rest:
    world: World

    async def send(self, id: str, body: dict[str, Any]) -> Told:
        reply = await self.world.desk.http.post(
            f"/v1/inputs/{id}", json=body, headers=self.world.headers
        )
        return Told(reply.status_code == 202, pointers_in(reply.json()))

    async def right(self, kind: Kind, id: str) -> Told:
        return await self.send(id, {"action": "accept", "content": kind.right})

    async def wrong(self, kind: Kind, id: str) -> Told:
        return await self.send(id, {"action": "accept", "content": kind.wrong})

    async def decline(self, id: str) -> Told:
        return await self.send(id, {"action": "decline"})


@dataclass
class OverBus:
    world: World

    async def send(self, id: str, content: Any, **more: Any) -> Told:
        before = len(self.world.heard.bodies)
        await self.world.bus.publish(answer_message(id, content, REPLIES, **more))
        await eventually(lambda: len(self.world.heard.bodies) > before)
        body = self.world.heard.bodies[-1]
        return Told("outcome" in body, pointers_in(body))

    async def right(self, kind: Kind, id: str) -> Told:
        return await self.send(id, kind.right)

    async def wrong(self, kind: Kind, id: str) -> Told:
        return await self.send(id, kind.wrong)

    async def decline(self, id: str) -> Told:
        return await self.send(id, None, action="decline")


@dataclass
class Command:
    world: World

    async def type(self, *words: str) -> Told:
        code = await anyio.to_thread.run_sync(main, ["respond", *words])
        said = self.world.capsys.readouterr().err
        pointers = [line.split(":")[0].strip() for line in said.splitlines()[1:]] or [""]
        return Told(code == 0, () if code == 0 else pointers)

    async def right(self, kind: Kind, id: str) -> Told:
        return await self.type(id, *kind.typed)

    async def wrong(self, kind: Kind, id: str) -> Told:
        return await self.type(id, *kind.mistyped)

    async def decline(self, id: str) -> Told:
        return await self.type(id, "--deny")


@dataclass
class Sdk:
    world: World

    async def settle(self, id: str, action: str, content: Any = None) -> Told:
        async with AsyncClient(self.world.url, self.world.key) as client:
            try:
                await (await client.input(id)).settle(action, content)
            except Invalid as error:
                return Told(False, [each.pointer for each in error.errors])
        return Told(True)

    async def right(self, kind: Kind, id: str) -> Told:
        return await self.settle(id, "accept", kind.right)

    async def wrong(self, kind: Kind, id: str) -> Told:
        return await self.settle(id, "accept", kind.wrong)

    async def decline(self, id: str) -> Told:
        return await self.settle(id, "decline")


class SyncSdk(Sdk):
    async def settle(self, id: str, action: str, content: Any = None) -> Told:
        return await anyio.to_thread.run_sync(partial(self.in_thread, id, action, content))

    def in_thread(self, id: str, action: str, content: Any) -> Told:
        with Client(self.world.url, self.world.key) as client:
            try:
                client.input(id).settle(action, content)
            except Invalid as error:
                return Told(False, [each.pointer for each in error.errors])
        return Told(True)


@dataclass
class Page:
    world: World

    async def press(self, id: str, act: str, fields: Sequence[tuple[str, str]] = ()) -> Told:
        desk, session = self.world.desk, await self.world.desk.session()
        data: dict[str, list[str]] = {"nonce": [nonce_of(session)], "act": [act]}
        data["digest"] = [(await desk.get(id)).digest]
        for name, text in fields:
            data.setdefault(name, []).append(text)
        headers = {"Cookie": f"{SESSION_COOKIE}={session}", "Origin": ORIGIN}
        reply = await desk.http.post(f"/inbox/{id}", data=data, headers=headers)
        shown = unescape(reply.text)
        return Told(reply.status_code == 303, [shown] if reply.status_code == 400 else ())

    async def right(self, kind: Kind, id: str) -> Told:
        return await self.press(id, "accept", kind.pressed)

    async def wrong(self, kind: Kind, id: str) -> Told:
        if kind.mispressed is None:
            return await self.press(id, "no such button")
        return await self.press(id, "accept", kind.mispressed)

    async def decline(self, id: str) -> Told:
        return await self.press(id, "decline")


SURFACES: dict[str, type[Any]] = {
    "rest": Rest,
    "bus": OverBus,
    "cli": Command,
    "sdk": Sdk,
    "sync_sdk": SyncSdk,
    "page": Page,
}


def pointers_in(body: dict[str, Any]) -> list[str]:
    return [error["pointer"] for error in body.get("errors", [])]


@pytest.fixture
async def world(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[World]:
    clock = SystemClock()
    async with opened(lambda _: SQLiteDatabase(":memory:", clock=clock)) as desk:
        key, _ = await desk.platform.auth.keys.create(
            namespace="default", name="test", person="alice", scopes=SCOPES
        )
        bus = await desk.map_user("checker", *SCOPES, service="checker")
        heard = Heard()
        await bus.consume(REPLIES, heard.handle, prefetch=4)
        async with listening(desk.app) as url:
            monkeypatch.setenv("PLACET_URL", url)
            monkeypatch.setenv("PLACET_KEY", key)
            yield World(desk, url, key, bus, heard, capsys)


async def asks(world: World, kind: Kind, surface: str) -> Record:
    """A question; where the page's session is, which is no reviewer, it is among the approvers."""
    request = kind.request(new_id("inp"))
    if surface == "page":
        named = request.audience.model_copy(update={"approvers": ("alice",)})
        request = request.model_copy(update={"audience": named})
    return await world.desk.ask(request)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", KINDS)
async def test_the_right_answer_settles(world: World, kind: str, surface: str) -> None:
    record = await asks(world, KINDS[kind], surface)
    told = await SURFACES[surface](world).right(KINDS[kind], record.id)
    assert told.taken, told
    resolution = (await world.desk.get(record.id)).resolution
    assert resolution is not None
    assert (resolution.state, resolution.outcome.content) == ("answered", KINDS[kind].kept)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", KINDS)
async def test_c4_the_wrong_answer_lists_what_does_not_fit_and_settles_nothing(
    world: World, kind: str, surface: str
) -> None:
    record = await asks(world, KINDS[kind], surface)
    told = await SURFACES[surface](world).wrong(KINDS[kind], record.id)
    assert not told.taken
    assert told.pointers, "it does not say what does not fit"
    pointer = KINDS[kind].pointer
    if surface == "page":
        assert pointer.removeprefix("/") in told.pointers[0]
    elif surface != "cli" or pointer:
        assert pointer in told.pointers
    assert (await world.desk.get(record.id)).pending


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", KINDS)
async def test_declining_settles_any_kind(world: World, kind: str, surface: str) -> None:
    record = await asks(world, KINDS[kind], surface)
    told = await SURFACES[surface](world).decline(record.id)
    assert told.taken, told
    assert (await world.desk.get(record.id)).state == "declined"


@pytest.mark.parametrize("surface", ["cli", "page"])
@pytest.mark.parametrize("accepts", ["words", "anything"])
async def test_s17_trust_is_a_word_that_an_evaluator_reads(
    world: World, accepts: str, surface: str
) -> None:
    """Where words are read, approving says `yes`."""
    said: list[Any] = []
    for typed, pressed in ((["--approve"], "approved"), (["--approve", "--trust"], "trust")):
        record = await world.desk.ask(approval(accepts=accepts, trust=True, call_id=pressed))
        if surface == "cli":
            told = await Command(world).type(record.id, *typed)
        else:
            fields = [("decision", pressed), ("scope", "once")]
            told = await Page(world).press(record.id, "accept", fields)
        assert told.taken
        resolution = (await world.desk.get(record.id)).resolution
        assert resolution is not None
        said.append((resolution.outcome.content, resolution.outcome.trust))
    words = [(True, False), (True, True)]
    assert said == (words if accepts == "words" else [("yes", False), ("trust", False)])


@pytest.mark.parametrize("surface", ["cli", "page"])
async def test_trust_that_the_prompt_does_not_offer_is_refused(world: World, surface: str) -> None:
    record = await world.desk.ask(approval(accepts="words"))
    if surface == "cli":
        told = await Command(world).type(record.id, "--approve", "--trust")
    else:
        told = await Page(world).press(record.id, "accept", [("decision", "trust")])
    assert not told.taken
    assert (await world.desk.get(record.id)).pending
