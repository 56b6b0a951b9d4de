"""What an answer needs is read while its credential is looked up, and decides nothing by itself."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from placet.domain.audience import Audience
from placet.domain.person import Person
from placet.domain.standing import Standing, alone
from placet.errors import NotAllowed, Unauthenticated
from placet.process.auth import OPERATOR_SCOPES, Caller, Scope, entries
from placet.process.auth.keys import Keys
from placet.testing.clock import HandClock
from placet_broker.usecases import answer_input
from placet_broker.usecases.people import Known, People
from tests.integration.broker.desk import Desk, approval
from tests.support.counting import counted
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

SERVICE = (Scope.INPUTS_ANSWER, Scope.ANSWER_AS)


async def a_used_key(desk: Desk, **more: str) -> dict[str, str]:
    """A service's key that answered for alice a moment ago, so that the broker remembers it."""
    key = await desk.key(None, *SERVICE, service="desk", **more)
    record = await desk.ask()
    await desk.answer(record.id, True, key, **{"from": "alice"})
    return key


@pytest.fixture(autouse=True)
def any_question_has_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that was asked a moment ago counts as one that has stood."""
    monkeypatch.setattr(answer_input, "MARGIN", timedelta(0))


async def test_all_is_read_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    key, record, auth = await a_used_key(desk), await desk.ask(), desk.platform.auth
    with_person, get, asked = auth.with_person, desk.interactions.get, asyncio.Event()

    async def after_the_question(*whom: Any) -> Any:
        await asked.wait()
        return await with_person(*whom)

    async def noticed(id: str) -> Any:
        asked.set()
        return await get(id)

    monkeypatch.setattr(auth, "with_person", after_the_question)
    monkeypatch.setattr(desk.interactions, "get", noticed)
    async with asyncio.timeout(10):
        reply = await desk.answer(record.id, True, key, **{"from": "alice"})
    assert reply.status_code == 202


async def test_a_key_and_whom_it_answers_for_are_one_read(desk: Desk) -> None:
    directory = desk.platform.auth.directory
    await directory.groups.put("default", "owners", ["alice"])
    key = await a_used_key(desk)
    record = await desk.ask(audience=Audience(approvers=("group:owners",)))
    reads = counted(directory)
    assert (await desk.answer(record.id, True, key, **{"from": "alice"})).status_code == 202
    assert reads.reads == 1


@pytest.mark.parametrize("groups", range(1, 7))
async def test_a_key_and_who_is_disabled_are_seen_beside_any_number_of_entries(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, groups: int
) -> None:
    directory = desk.platform.auth.directory
    for n in range(groups):
        await directory.groups.put("default", f"g{n}", ["alice"])
    key, first, second = await a_used_key(desk), await desk.ask(), await desk.ask()
    monkeypatch.setattr(entries, "MOST", 4)
    assert (await desk.answer(first.id, True, key, **{"from": "alice"})).status_code == 202
    await directory.people.disable("default", "alice")
    assert (await desk.answer(second.id, True, key, **{"from": "alice"})).status_code == 403


async def test_somebody_on_a_channel_is_read_at_once_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = desk.platform.auth.directory
    await directory.people.put("default", "alice", identities=["slack:U1"])
    key, record, seen = await a_used_key(desk), await desk.ask(), list[Any]()
    asked = asyncio.Event()
    standing, by_bearer = directory.standing, desk.platform.auth.by_bearer

    async def noticed(*whom: Any, **more: Any) -> Any:
        seen.append(whom)
        asked.set()
        return await standing(*whom, **more)

    async def after_the_person(given: str) -> Any:
        await asked.wait()
        return await by_bearer(given)

    monkeypatch.setattr(directory, "standing", noticed)
    monkeypatch.setattr(desk.platform.auth, "by_bearer", after_the_person)
    async with asyncio.timeout(10):
        reply = await desk.answer(record.id, True, key, **{"from": "slack:U1"})
    assert reply.status_code == 202
    assert seen == [("default", "slack:U1")]


async def test_nobody_is_looked_up_twice_for_one_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, record = await a_used_key(desk), await desk.ask()
    directory, seen = desk.platform.auth.directory, list[tuple[Any, ...]]()
    standing = directory.standing

    async def noticed(*whom: Any, **more: Any) -> Any:
        seen.append(whom)
        return await standing(*whom, **more)

    monkeypatch.setattr(directory, "standing", noticed)
    assert (await desk.answer(record.id, True, key, **{"from": "alice"})).status_code == 202
    assert seen == [("default", "alice")]


async def too_large() -> AsyncIterator[bytes]:
    for _ in range(20):
        yield b" " * 100_000


@pytest.mark.parametrize(
    "body", [lambda: b'{"content": true, "from": "alice"}', lambda: b'{"nonsense": 1}', too_large]
)
async def test_a_revoked_key_is_worthless_at_once(desk: Desk, body: Callable[[], Any]) -> None:
    key, record = await a_used_key(desk), await desk.ask()
    (kept,) = await desk.platform.auth.keys.page("default")
    await desk.platform.auth.keys.revoke("default", kept["id"])
    for _ in range(2):
        reply = await desk.http.post(f"/v1/inputs/{record.id}", content=body(), headers=key)
        assert reply.status_code == 401
    assert (await desk.get(record.id)).pending


async def test_an_expired_key_is_not_remembered(desk: Desk) -> None:
    given, _ = await desk.platform.auth.keys.create(
        namespace="default",
        name="test",
        service="desk",
        scopes=SERVICE,
        expires_at=desk.platform.clock.now() + timedelta(seconds=60),
    )
    clock = HandClock(desk.platform.clock.now())
    directory = desk.platform.auth.directory
    own = Keys(directory.entries, clock, directory.people)
    assert await own.by_key(given) == own.lately(given)
    clock.turn(timedelta(seconds=61))
    with pytest.raises(Unauthenticated):
        await own.by_key(given)
    assert own.lately(given) is None


async def test_a_disabled_person_answers_no_more(desk: Desk) -> None:
    key, record = await a_used_key(desk), await desk.ask()
    await desk.platform.auth.directory.people.disable("default", "alice")
    reply = await desk.answer(record.id, True, key, **{"from": "alice"})
    assert (reply.status_code, (await desk.get(record.id)).pending) == (403, True)


async def test_another_namespaces_alice_is_nobody_here(desk: Desk) -> None:
    await desk.platform.auth.directory.groups.put("other", "owners", ["alice"])
    key = await a_used_key(desk, namespace="other")
    record = await desk.ask(audience=Audience(approvers=("group:owners",)))
    reply = await desk.answer(record.id, True, key, **{"from": "alice"})
    assert (reply.status_code, (await desk.get(record.id)).pending) == (404, True)


async def test_what_was_read_of_somebody_else_counts_for_nothing(desk: Desk) -> None:
    record = await desk.ask(audience=Audience(approvers=("group:owners",)))
    caller = Caller("default", "service:desk", frozenset(SERVICE), "key")
    owner = Standing("alice", frozenset({"alice", "group:owners"}))
    people, alice = People(desk.platform.auth.directory), Person(id="alice")
    for known in (Known("other", "alice", owner), Known("default", "bob", owner)):
        with pytest.raises(NotAllowed):
            await people.answerer(record, caller, alice, known)
    who = await people.answerer(record, caller, alice, Known("default", "alice", owner))
    assert who.standing == owner


async def test_who_was_disabled_before_the_question_arrived_does_not_answer_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, asked, get, looks = await a_used_key(desk), approval(), desk.interactions.get, []

    async def looked(id: str) -> Any:
        looks.append(id)
        return await get(id)

    monkeypatch.setattr(desk.interactions, "get", looked)
    answering = asyncio.create_task(desk.answer(asked.id, True, key, **{"from": "alice"}))
    await eventually(lambda: len(looks) > 1)  # it waits for the question to arrive
    await desk.platform.auth.directory.people.disable("default", "alice")
    await desk.ask(asked)
    reply = await answering
    assert (reply.status_code, (await desk.get(asked.id)).pending) == (403, True)


async def test_nobody_answers_what_was_for_them_at_no_moment(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alice leaves the group, and only then it may answer: between the two reads of her answer."""
    groups, directory = desk.platform.auth.directory.groups, desk.platform.auth.directory
    await groups.put("default", "owners", ["alice", "bob"])
    key, operator = await a_used_key(desk), await desk.key("op", *OPERATOR_SCOPES)
    record = await desk.ask(audience=Audience(approvers=("carol",)))
    get, standing, was_read = desk.interactions.get, directory.standing, asyncio.Event()

    async def read(*whom: Any, **more: Any) -> Any:
        found = await standing(*whom, **more)
        was_read.set()
        return found

    async def late(id: str) -> Any:
        monkeypatch.setattr(desk.interactions, "get", get)
        await was_read.wait()
        await groups.put("default", "owners", ["bob"])
        body = {"add": ["group:owners"]}
        path = f"/v1/inputs/{id}/audience"
        assert (await desk.http.post(path, json=body, headers=operator)).status_code == 200
        return await get(id)

    monkeypatch.setattr(directory, "standing", read)
    monkeypatch.setattr(desk.interactions, "get", late)
    async with asyncio.timeout(10):
        reply = await desk.answer(record.id, True, key, **{"from": "alice"})
    assert (reply.status_code, (await desk.get(record.id)).pending) == (403, True)


async def test_what_was_read_beside_a_question_that_just_changed_counts_for_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    record, ahead = await desk.ask(), desk.broker.use_cases.answer_input.ahead
    known = Known("default", "alice", alone("alice"))
    assert (await ahead(record.id)).knowing(known).known is None
    monkeypatch.setattr(answer_input, "MARGIN", timedelta(0))
    assert (await ahead(record.id)).knowing(known).known is known


async def test_after_a_miss_who_answers_is_looked_up_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = desk.platform.auth.directory.people
    key, record, settle = await a_used_key(desk), await desk.ask(), desk.interactions.settle

    async def too_late(*whatever: Any) -> None:
        """Somebody was disabled, and the question changed, just before the write."""
        monkeypatch.setattr(desk.interactions, "settle", settle)
        await people.disable("default", "alice")

    monkeypatch.setattr(desk.interactions, "settle", too_late)
    reply = await desk.answer(record.id, True, key, **{"from": "alice"})
    assert (reply.status_code, (await desk.get(record.id)).pending) == (403, True)


async def test_a_wrong_body_is_told_to_who_may_come_in(desk: Desk) -> None:
    key, record = await a_used_key(desk), await desk.ask()
    reply = await desk.http.post(f"/v1/inputs/{record.id}", json={"nonsense": 1}, headers=key)
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/nonsense")


async def test_what_is_remembered_of_keys_is_bounded(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("placet.process.auth.keys.MOST_REMEMBERED", 3)
    known = desk.platform.auth.keys
    for number in range(8):
        given, _ = await desk.platform.auth.keys.create(
            namespace="default", name="test", service=f"s{number}", scopes=[Scope.INPUTS_READ]
        )
        assert known.lately(given) is None
        assert known.lately(given[:-1] + "?") is None
        holder = await known.by_key(given)
        assert known.lately(given) == holder
        assert len(known._lately) <= 3
