"""The small parts of a process: logs, crash points, backoff, the relay, credentials."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import orjson
import pytest

from placet.bus.port import Outgoing
from placet.clock import SystemClock
from placet.errors import NotAllowed, Unauthenticated, Unavailable, Unroutable
from placet.process import backoff, logs
from placet.process.auth import Auth, Caller, Scope, check_nonce, nonce_of
from placet.process.metrics import Metrics
from placet.process.outbox import Relay
from placet.store.port import Collection, Document
from placet.store.sqlite import SQLiteDatabase
from placet.testing.clock import HandClock
from tests.support.eventually import eventually

pytestmark = pytest.mark.unit


@pytest.fixture
async def collection() -> AsyncIterator[Collection]:
    database = SQLiteDatabase(":memory:", clock=SystemClock())
    collection = database.collection("things")
    await database.open()
    yield collection
    await database.close()


@pytest.fixture
async def auth() -> AsyncIterator[Auth]:
    database = SQLiteDatabase(":memory:", clock=SystemClock())
    auth = Auth(database, SystemClock())
    await database.open()
    yield auth
    await database.close()


class FakeBus:
    """Confirms, or raises what it was told to for a key."""

    def __init__(self) -> None:
        self.published: list[Outgoing] = []
        self.failures: dict[str, Exception] = {}

    async def publish(self, message: Outgoing) -> None:
        if message.key in self.failures:
            raise self.failures[message.key]
        self.published.append(message)


def entry(id: str, key: str = "k", **more: object) -> Document:
    return {"id": id, "exchange": "placet.events", "key": key, "type": "t", "body": "{}", **more}


def relay_of(collection: Collection, bus: FakeBus) -> Relay:
    return Relay(collection, bus, Metrics(), service="test")  # type: ignore[arg-type]


async def test_the_relay_clears_what_was_confirmed_and_leaves_the_rest(
    collection: Collection,
) -> None:
    bus = FakeBus()
    bus.failures = {"away": Unavailable("away"), "gone": Unroutable("gone")}
    entries = [
        entry("1"),
        entry("2", "away"),
        entry("3", "gone"),
        entry("4", "gone", optional=True),
    ]
    await collection.insert({"_id": "d", "outbox": entries})
    sent = await relay_of(collection, bus).send("d", entries)
    assert (sent.confirmed, sent.failed) == (("1", "4"), ("2", "3"))
    assert [message.event_id for message in bus.published] == ["1"]

    async def left() -> bool:
        document = await collection.get("d")
        return document is not None and [e["id"] for e in document["outbox"]] == ["2", "3"]

    await eventually(left)


async def test_what_is_posted_twice_at_once_is_published_once(collection: Collection) -> None:
    bus = FakeBus()
    await collection.insert({"_id": "d", "outbox": [entry("1")]})
    relay = relay_of(collection, bus)
    relay.post("d", [entry("1")])
    relay.post("d", [entry("1")])
    await relay.drain()
    assert len(bus.published) == 1


async def test_what_is_posted_is_made_in_the_background(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    bus, made = FakeBus(), list[str]()

    def entries() -> Iterator[Document]:
        for id in ("1", "2"):
            made.append(id)
            yield entry(id)

    def unreadable() -> Iterator[Document]:
        yield entry("3")
        raise KeyError("what")

    relay = relay_of(collection, bus)
    relay.post("d", entries())
    relay.post("e", unreadable())
    assert not made
    await relay.drain()
    assert [message.event_id for message in bus.published] == ["1", "2"]
    assert re.search("outbox_unreadable.*document.{0,8}e", capsys.readouterr().out)
    relay.post("e", [entry("3")])
    await relay.drain()
    assert [message.event_id for message in bus.published][2:] == ["3"], "nothing holds it back"


async def test_a_key_of_another_secret_is_no_key(auth: Auth) -> None:
    key, record = await auth.keys.create(
        namespace="n", name="k", person="alice", scopes=[Scope.INPUTS_READ]
    )
    found = await auth.keys.by_key(key)
    assert (found.id, found.namespace, found.is_person) == ("alice", "n", True)
    for wrong in (key[:-1], key + "x", f"plc_{record['id']}_{'a' * 43}", "", "plc__", record["id"]):
        with pytest.raises(Unauthenticated):
            await auth.keys.by_key(wrong)


async def test_a_link_expires_and_is_kept_as_a_hash(auth: Auth) -> None:
    link = await auth.sessions.create_link(
        namespace="n", person="alice", life=timedelta(seconds=-1)
    )
    with pytest.raises(Unauthenticated, match="expired"):
        await auth.sessions.login(link)
    fresh = await auth.sessions.create_link(namespace="n", person="alice")
    session = await auth.sessions.login(fresh)
    caller = await auth.sessions.by_session(session)
    assert (caller.id, caller.by_session) == ("alice", True)
    with pytest.raises(Unauthenticated):
        await auth.sessions.by_session(fresh)


async def test_a_session_ends_after_twelve_hours_and_a_key_when_it_was_said() -> None:
    clock = HandClock()
    database = SQLiteDatabase(":memory:", clock=clock)
    auth = Auth(database, clock)
    await database.open()
    session = await auth.sessions.login(
        await auth.sessions.create_link(namespace="n", person="alice")
    )
    end = clock.now() + timedelta(hours=12)
    key, record = await auth.keys.create(
        namespace="n", name="k", person="alice", scopes=[Scope.INPUTS_READ], expires_at=end
    )
    assert record["expires_at"] == end
    clock.turn(timedelta(hours=11, minutes=59))
    assert (await auth.sessions.by_session(session)).id == (await auth.by_bearer(key)).id == "alice"
    clock.turn(timedelta(minutes=1))
    with pytest.raises(Unauthenticated, match="log in"):
        await auth.sessions.by_session(session)
    with pytest.raises(Unauthenticated, match="expired"):
        await auth.by_bearer(key)
    await database.close()


async def test_an_unmapped_amqp_user_is_nobody(auth: Auth) -> None:
    assert await auth.keys.by_amqp_user("app") is None
    await auth.keys.map_amqp_user("app", namespace="n", service="app", scopes=[Scope.RUNS_WRITE])
    found = await auth.keys.by_amqp_user("app")
    assert found is not None
    assert (found.id, found.is_person) == ("service:app", False)
    await auth.keys.revoke("n", "amqp:app")
    assert await auth.keys.by_amqp_user("app") is None
    with pytest.raises(Unauthenticated):
        await auth.keys.by_key("amqp:app")


def test_a_nonce_belongs_to_its_session() -> None:
    check_nonce("s", nonce_of("s"))
    for wrong in (nonce_of("t"), "", None, 1):
        with pytest.raises(NotAllowed):
            check_nonce("s", wrong)


def test_a_missing_scope_is_named() -> None:
    caller = Caller("n", "alice", frozenset({"inputs:read"}), "key")
    with pytest.raises(NotAllowed, match="inputs:answer, operate"):
        caller.need("inputs:read", "inputs:answer", "operate")


def test_secrets_never_reach_a_log_line() -> None:
    line = logs.hide_secrets(
        None,
        "info",
        {
            "event": f"key plc_ab12_{'x' * 43} on amqp://user:hush@host/",
            "authorization": "Bearer x",
            "content": "an answer",
            "run_id": "run_1",
        },
    )
    text = orjson.dumps(line).decode()
    for secret in ("x" * 43, "hush", "Bearer", "an answer"):
        assert secret not in text
    assert "run_1" in text
    assert "plc_ab12_" in text


def test_waits_grow_to_a_ceiling_and_never_spin() -> None:
    source = backoff.waits(timedelta(seconds=1), timedelta(seconds=8))
    first = [next(source) for _ in range(60)]
    assert all(0.5 <= wait <= 8 for wait in first)
    assert all(wait >= 4 for wait in first[4:])
    assert backoff.full_jitter(3, timedelta(seconds=1), timedelta(seconds=60)) <= timedelta(
        seconds=4
    )


@pytest.mark.parametrize(
    ("environment", "killed"),
    [
        ({"PLACET_CRASH_POINTS": "1", "PLACET_CRASH_AT": "settle.done:2"}, True),
        ({"PLACET_CRASH_POINTS": "1", "PLACET_CRASH_AT": "settle.done:3"}, False),
        ({"PLACET_CRASH_POINTS": "1", "PLACET_CRASH_AT": "open.done:1"}, False),
        ({"PLACET_CRASH_AT": "settle.done:1"}, False),
    ],
)
def test_a_crash_point_kills_only_where_and_when_it_is_asked_to(
    environment: dict[str, str], killed: bool
) -> None:
    code = "from placet.process.crash import crash_point as c; c('settle.done'); c('settle.done')"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, check=False
    )
    assert done.returncode == (-signal.SIGKILL if killed else 0)
