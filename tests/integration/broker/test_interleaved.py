"""What is decided on a stale read: another broker writes between the read and the write of this one."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from placet.domain.audience import AnswerPolicy, Audience
from placet.process.auth import Scope
from placet_broker.rules import linking
from placet_broker.rules.record import Record
from tests.integration.broker.desk import Desk, past
from tests.integration.broker.test_directory import delegate
from tests.integration.broker.test_links import code, link, press

pytestmark = pytest.mark.integration

TWO = AnswerPolicy(quorum=2)
PEOPLE = Audience(initiator="zoe", approvers=("ann", "bob", "carol"))
Do = Callable[[], Awaitable[Any]]


def before_first(desk: Desk, write: str, do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something else just before the first write of this name, which then rests on a stale read."""
    real = getattr(desk.interactions, write)
    waiting = [do]

    async def late(*args: Any, **more: Any) -> Any:
        if waiting:
            await waiting.pop()()
        return await real(*args, **more)

    monkeypatch.setattr(desk.interactions, write, late)


def after_first(desk: Desk, write: str, do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something else right after the first write of this name: its image tells of that as well."""
    real = getattr(desk.interactions, write)
    waiting = [do]

    async def read_later(*args: Any, **more: Any) -> Any:
        written = await real(*args, **more)
        if written is None or not waiting:
            return written
        await waiting.pop()()
        several = isinstance(written, list)
        images = [await desk.get(each.id) for each in (written if several else [written])]
        return images if several else images[0]

    monkeypatch.setattr(desk.interactions, write, read_later)


async def post(desk: Desk, record: Record, what: str, who: str, **body: Any) -> Any:
    operate = () if who != "root" else (Scope.OPERATE, Scope.INPUTS_READ)
    headers = await desk.key(who, *operate)
    return await desk.http.post(f"/v1/inputs/{record.id}/{what}", json=body, headers=headers)


def without(desk: Desk, record: Record, who: str) -> Do:
    return lambda: post(desk, record, "audience", "root", remove=[who])


async def test_a_release_leaves_a_claim_that_somebody_else_made_meanwhile(
    still: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await still.ask(audience=PEOPLE)
    await post(still, record, "claim", "ann")
    before_first(still, "claim", lambda: post(still, record, "claim", "bob"), monkeypatch)
    await post(still, record, "claim", "carol")
    assert (claim := (await still.get(record.id)).claim) is not None
    assert claim.by == "carol", "the last one looks at it"
    before_first(still, "claim", lambda: post(still, record, "claim", "bob"), monkeypatch)
    reply = await post(still, record, "release", "carol")
    assert (reply.status_code, reply.json()["claimed"]["by"]) == (200, "bob")


async def test_whoever_was_removed_meanwhile_claims_nothing_and_gives_no_more_time(
    still: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await still.ask(audience=PEOPLE, expires_at=past(-600))
    before_first(still, "claim", without(still, record, "ann"), monkeypatch)
    assert (await post(still, record, "claim", "ann")).status_code == 403
    before_first(still, "extend", without(still, record, "bob"), monkeypatch)
    later = (past(0) + timedelta(days=1)).isoformat()
    assert (await post(still, record, "extend", "bob", expires_at=later)).status_code == 403
    kept = await still.get(record.id)
    assert [entry["what"] for entry in kept.history] == [
        "opened",
        "audience edited",
        "audience edited",
    ]


async def test_whoever_was_removed_meanwhile_neither_answers_nor_votes(
    still: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for policy, write in ((AnswerPolicy(), "settle"), (TWO, "vote")):
        record = await still.ask(audience=PEOPLE, policy=policy, call_id=write)
        before_first(still, write, without(still, record, "ann"), monkeypatch)
        assert (await still.answer(record.id, True, await still.key("ann"))).status_code == 403
        kept = await still.get(record.id)
        assert (kept.pending, kept.votes) == (True, ())


async def test_a_vote_sits_where_its_voter_sits_by_now(still: Desk) -> None:
    """Bob voted for himself; once he is ann's delegate alone, his yes and hers are one."""
    await delegate(still.platform.auth.directory, "ann", "bob")
    record = await still.ask(audience=PEOPLE, policy=TWO)
    await still.answer(record.id, True, await still.key("bob"))
    edited = await post(still, record, "audience", "root", remove=["bob"])
    assert [vote["on_behalf_of"] for vote in edited.json()["votes"]] == ["ann"]
    after = (await still.answer(record.id, True, await still.key("ann"))).json()
    assert (after["state"], [vote["by"] for vote in after["votes"]]) == ("pending", ["ann"])


async def test_yeses_to_a_number_and_to_a_truth_are_not_yeses_to_the_same(still: Desk) -> None:
    record = await still.ask(audience=PEOPLE, policy=TWO, args_schema={"type": "object"})
    for who, force in (("ann", 1), ("bob", True)):
        content = {"decision": "approved", "args": {"force": force}}
        reply = await still.answer(record.id, content, await still.key(who))
        assert [vote["by"] for vote in reply.json()["votes"]] == [who]
    assert (await still.get(record.id)).pending


@pytest.mark.parametrize("change", [{"used_at": past()}, {"until": past()}, {"tries": 5}])
@pytest.mark.parametrize("policy", [AnswerPolicy(), TWO], ids=["one", "two"])
async def test_a_link_that_died_meanwhile_decides_nothing(
    still: Desk, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], policy: AnswerPolicy
) -> None:
    record = await still.ask(audience=PEOPLE, policy=policy)
    made = await link(still, record)
    sent = await code(still, record, made)

    async def dies() -> None:
        kept = await still.interactions.collection.get(record.id)
        (each,) = kept["links"]
        moved = {"$set": {"links": [{**each, **change}]}, "$inc": {"rev": 1}}
        await still.interactions.collection.update(record.id, {}, moved)

    write = "settle" if policy.quorum == 1 else "vote"
    before_first(still, write, dies, monkeypatch)
    assert (await press(still, made, sent)).status_code == 409
    kept = await still.get(record.id)
    assert (kept.pending, kept.votes) == (True, ())


async def test_five_guesses_are_five_however_many_come_at_once(still: Desk) -> None:
    record = await still.ask(audience=PEOPLE)
    made = await link(still, record)
    sent = await code(still, record, made)
    wrong = [f"x{number}" for number in range(30)]
    replies = await asyncio.gather(*(press(still, made, guess) for guess in wrong))
    statuses = [reply.status_code for reply in replies]
    assert (statuses.count(403), statuses.count(409)) == (linking.MOST_TRIES, 25)
    kept = await still.get(record.id)
    assert [entry["what"] for entry in kept.history].count("wrong code") == linking.MOST_TRIES
    assert (await press(still, made, sent)).status_code == 409


@pytest.mark.parametrize("write", ["vote", "settle_all", "remind"])
async def test_an_end_is_counted_by_whoever_wrote_it(
    still: Desk, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    """MongoDB's image of a write may tell of a later one; who reads it there did not end it."""
    policy = AnswerPolicy(quorum=2, reminders=(1,))
    record = await still.ask(audience=PEOPLE, policy=policy)
    opened_at = {"$set": {"opened_at": past(10)}}
    await still.interactions.collection.update(record.id, {}, opened_at)
    ended: list[str] = []
    monkeypatch.setattr(still.broker.metrics, "ended", lambda record: ended.append(record.id))
    headers = [await still.key(who) for who in ("ann", "bob")]
    after_first(still, write, lambda: still.answer(record.id, False, headers[1]), monkeypatch)
    if write == "vote":
        reply = await still.answer(record.id, True, headers[0])
        assert (reply.status_code, reply.json()["state"]) == (202, "declined")
    elif write == "settle_all":
        await still.answer_all([{"id": record.id, "content": True}], headers[0])
    else:
        await still.broker.use_cases.answer_input._endings.turn(await still.get(record.id))
    assert (await still.get(record.id)).state == "declined"
    assert ended == [record.id]
