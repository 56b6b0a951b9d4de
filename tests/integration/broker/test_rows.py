"""Each row of the interaction's protocol: when it matches and when it does not."""

import pytest

from placet import audit
from placet.domain.interaction import InputState
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.messages import Close, decode
from placet_broker.rules import opening, settling
from placet_broker.rules.record import Record
from placet_broker.rules.settling import Settlement
from placet_broker.store import rows
from tests.integration.broker.desk import RUNNER_ASKS, Desk, approval, close_message, past

pytestmark = pytest.mark.integration

YES = Settlement(
    Outcome(state=InputState.ANSWERED, content=True),
    channel="rest",
    by=Person(id="alice"),
    answer_id="ans_1",
)
NO = Settlement(Outcome(state=InputState.DECLINED), channel="rest", by=Person(id="bob"))


def record_of(**changes: object) -> Record:
    now = past(0)
    full = opening.prepared(approval(**changes), RUNNER_ASKS, now=now, default_life=None)
    return opening.opened(full, RUNNER_ASKS, None, now)


async def opened(desk: Desk, **changes: object) -> Record:
    record = record_of(**changes)
    assert await desk.interactions.open(record)
    return await desk.get(record.id)


async def test_b1_opens_what_is_new_and_keeps_it_whole(still: Desk) -> None:
    record = record_of(args={"$where": "$lease", "a.b": "\x00", "deep": {"": [None, 1.5]}})
    assert await still.interactions.open(record)
    kept = await still.get(record.id)
    assert kept.request() == record.request()
    assert (kept.state, kept.rev, [e["what"] for e in kept.outbox]) == ("pending", 0, ["requested"])
    assert audit.flaws(kept.history) == []


async def test_b1_misses_where_the_id_exists_and_changes_nothing(still: Desk) -> None:
    record = await opened(still)
    assert not await still.interactions.open(record_of(id=record.id, args={"name": "production"}))
    assert await still.get(record.id) == record


async def test_b3_settles_a_pending_one_and_says_when_by_the_database(still: Desk) -> None:
    record = await opened(still)
    settled = await still.interactions.settle(record, YES)
    assert settled is not None
    assert settled.resolution is not None
    assert (settled.state, settled.rev) == ("answered", 1)
    assert settled.resolution.by == Person(id="alice")
    assert settled.resolution.at >= record.opened_at.replace(microsecond=0)
    assert {e["what"] for e in settled.outbox} == {"requested", "resolution", "resolved"}
    assert settled == await still.get(record.id)


async def test_b3_misses_what_has_settled_moved_or_run_out(still: Desk) -> None:
    record = await opened(still)
    assert await still.interactions.note(record, "seen", "bob") is not None
    assert await still.interactions.settle(record, YES) is None
    current = await still.get(record.id)
    assert await still.interactions.settle(current, NO) is not None
    assert await still.interactions.settle(current, YES) is None
    assert (await still.get(record.id)).state == "declined"
    late = await opened(still, expires_at=past())
    assert await still.interactions.settle(late, YES) is None
    assert (await still.get(late.id)).pending


async def test_b3_keeps_an_answer_that_looks_like_a_field_as_it_is(still: Desk) -> None:
    record = await opened(still)
    outcome = Outcome(
        state=InputState.ANSWERED, content={"x": "$state", "$y": "$$NOW"}, reason="$rev"
    )
    settlement = Settlement(outcome, channel="$due", by=Person(id="$namespace"), answer_id="$$ROOT")
    settled = await still.interactions.settle(record, settlement)
    assert settled is not None
    assert settled.resolution is not None
    assert settled.resolution.outcome == outcome
    assert settled.resolution.by == Person(id="$namespace")
    assert (settled.resolution.channel, settled.resolution.answer_id) == ("$due", "$$ROOT")


async def test_b5_expires_after_the_deadline_with_no_decider(still: Desk) -> None:
    record = await opened(still, expires_at=past())
    expired = await still.interactions.expire(record)
    assert expired is not None
    assert expired.resolution is not None
    assert (expired.state, expired.resolution.by) == ("expired", None)
    assert expired.resolution.outcome.decision is None


async def test_b5_misses_before_the_deadline_without_one_and_once_settled(still: Desk) -> None:
    for record in (await opened(still, expires_at=past(-60)), await opened(still)):
        assert await still.interactions.expire(record) is None
    record = await opened(still, expires_at=past())
    closed = await still.interactions.close(record, settling.closing("withdrawn"))
    assert closed is not None
    assert await still.interactions.expire(record) is None


async def test_b6_closes_a_pending_one_even_past_its_deadline(still: Desk) -> None:
    record = await opened(still, expires_at=past())
    closed = await still.interactions.close(record, settling.closing("superseded"))
    assert closed is not None
    assert closed.state == "superseded"
    assert "resolution" in {e["what"] for e in closed.outbox}


async def test_b6_misses_a_settled_one(still: Desk) -> None:
    record = await opened(still)
    assert await still.interactions.settle(record, YES)
    assert await still.interactions.close(record, settling.closing("superseded")) is None


async def test_b6_leaves_a_tombstone_where_nothing_is_and_misses_where_something_is(
    still: Desk,
) -> None:
    unseen = record_of()
    close = decode(Close, close_message(unseen.id, digest=unseen.digest).body)
    assert await still.interactions.bury(settling.tombstone(close, past(0)))
    kept = await still.get(unseen.id)
    assert (kept.state, [e["what"] for e in kept.outbox]) == ("superseded", ["resolution"])
    assert not await still.interactions.open(unseen)
    record = await opened(still)
    close = decode(Close, close_message(record.id).body)
    assert not await still.interactions.bury(settling.tombstone(close, past(0)))


async def test_b7_appends_to_the_chain_and_misses_when_it_was_not_read(still: Desk) -> None:
    record = await opened(still)
    noted = await still.interactions.note(record, "seen", "alice")
    assert noted is not None
    assert noted.rev == 1
    assert await still.interactions.note(record, "seen", "bob") is None
    assert [e["what"] for e in (await still.get(record.id)).history] == ["opened", "seen"]


async def test_b7_keeps_refused_tries_beside_the_chain_a_hundred_at_most(still: Desk) -> None:
    record = await opened(still)
    for number in range(103):
        await still.interactions.refuse(record, f"mallory{number}", "not allowed")
    kept = await still.get(record.id)
    assert (len(kept.refused), kept.refused_count, kept.rev) == (100, 103, 0)


async def test_b8_marks_a_settled_one_applied_and_misses_a_pending_one(still: Desk) -> None:
    record = await opened(still)
    assert await still.interactions.mark_applied(record) is None
    settled = await still.interactions.settle(record, YES)
    assert settled is not None
    applied = await still.interactions.mark_applied(settled)
    assert applied is not None
    assert applied.applied
    assert await still.interactions.mark_applied(settled) is None


async def test_b9_forgets_what_is_done_with_and_keeps_the_resolution(still: Desk) -> None:
    record = await opened(still)
    assert await still.interactions.forget(record) is None
    settled = await still.interactions.settle(record, YES)
    assert settled is not None
    assert await still.interactions.forget(settled) is None, "not applied yet"
    applied = await still.interactions.mark_applied(settled)
    assert await still.interactions.forget(applied) is None, "its resolution is not out yet"
    ids = [e["id"] for e in applied.outbox]
    await still.interactions.collection.update(record.id, {}, rows.clear(ids))
    forgotten = await still.interactions.forget(applied)
    assert forgotten is not None
    assert (forgotten.request_json, forgotten.history) == ("", ())
    assert forgotten.resolution == settled.resolution
    assert not await still.interactions.open(record), "an old copy of the request opens nothing"


async def test_b11_clears_by_ids_and_leaves_what_was_added_meanwhile(still: Desk) -> None:
    record = await opened(still)
    first = [e["id"] for e in record.outbox]
    settled = await still.interactions.settle(record, YES)
    assert settled is not None
    collection = still.interactions.collection
    left = await collection.update(record.id, {}, rows.clear(first))
    assert {e["what"] for e in left["outbox"]} == {"resolution", "resolved"}
    assert left["due"] is not None
    empty = await collection.update(record.id, {}, rows.clear([e["id"] for e in left["outbox"]]))
    assert (empty["outbox"], empty["due"]) == ([], None)
    assert await collection.update(new_unknown(), {}, rows.clear(first)) is None


async def test_b11_leaves_the_deadline_as_the_next_time_to_look(still: Desk) -> None:
    record = await opened(still, expires_at=past(-600))
    ids = [e["id"] for e in record.outbox]
    cleared = await still.interactions.collection.update(record.id, {}, rows.clear(ids))
    assert cleared["due"] == record.expires_at


def new_unknown() -> str:
    return "inp_" + "0" * 32
