"""What the broker decides by, without a server."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet import audit
from placet.clock import SystemClock
from placet.domain.interaction import ApprovalRequest, InputState, ToolCall
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.errors import Invalid, NotAllowed
from placet.store.sqlite import SQLiteDatabase
from placet_broker.api.cursors import cursor_after, place_of
from placet_broker.rules import opening, outgoing
from placet_broker.rules.documents import from_document, to_document
from placet_broker.rules.opening import Asker
from placet_broker.rules.record import RUNNER, Address
from placet_broker.rules.settling import Settlement
from placet_broker.store import StoredInteractions

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BILLING = Asker("service:billing", "team-a")
THE_RUNNER = Asker(RUNNER, None)


def request(**changes: Any) -> ApprovalRequest:
    call = ToolCall(id="1", tool="refund", args={"eur": 5})
    fields = {"agent_id": "billing", "run_id": "inv-1", "requested_at": NOW, "call": call}
    return ApprovalRequest(**{**fields, **changes})


def prepared(asked: ApprovalRequest, asker: Asker = BILLING) -> Any:
    return opening.prepared(asked, asker, now=NOW, default_life=timedelta(days=7))


def test_a_derived_id_depends_on_namespace_publisher_run_and_call() -> None:
    id = prepared(request()).id
    assert prepared(request(context={"x": 1})).id == id
    others = [
        prepared(request(run_id="inv-2")),
        prepared(request(call=ToolCall(id="2", tool="refund"))),
        prepared(request(), Asker("service:other", "team-a")),
        prepared(request(), Asker("service:billing", "team-b")),
    ]
    assert len({id, *(other.id for other in others)}) == 5


def test_preparing_again_changes_nothing() -> None:
    assert prepared(request()) == prepared(request())
    given = request(id="inp_" + "a" * 32, run_id="run_1")
    once = prepared(given, THE_RUNNER)
    assert prepared(once, THE_RUNNER) == once


def test_the_runner_says_its_namespace_and_nobody_else_does() -> None:
    assert prepared(request(namespace="x")).namespace == "team-a"
    assert prepared(request(namespace="x", run_id="run_1"), THE_RUNNER).namespace == "x"
    with pytest.raises(NotAllowed):
        prepared(request(run_id="run_1"))


@pytest.mark.parametrize("id", ["inp_1", "run_" + "0" * 32, "inp_" + "G" * 32, "inp_" + "0" * 33])
def test_an_id_has_one_form(id: str) -> None:
    with pytest.raises(Invalid):
        prepared(request(id=id))


def test_the_runners_deadline_is_not_bounded_and_zero_means_none() -> None:
    long_ago = request(expires_at=NOW - timedelta(days=90), run_id="run_1")
    opening.check_deadline(prepared(long_ago, THE_RUNNER), THE_RUNNER, NOW)
    with pytest.raises(Invalid):
        opening.check_deadline(prepared(long_ago.model_copy(update={"run_id": ""})), BILLING, NOW)
    endless = opening.prepared(request(), BILLING, now=NOW, default_life=None)
    assert endless.expires_at is None


def test_a_record_survives_its_document() -> None:
    full = prepared(request())
    record = opening.opened(full, BILLING, Address("placet.reply.b.1", "c"), NOW)
    assert from_document(to_document(record, None)) == record


def test_a_reply_goes_to_who_asked_and_the_resolution_queue_is_the_runners() -> None:
    mine = opening.opened(prepared(request()), BILLING, Address("placet.reply.b.1"), NOW)
    assert {e["what"] for e in outgoing.settled(mine)} == {"reply", "resolved"}
    rest = opening.opened(prepared(request()), BILLING, None, NOW)
    assert {e["what"] for e in outgoing.settled(rest)} == {"resolved"}
    run = opening.opened(prepared(request(run_id="run_1"), THE_RUNNER), THE_RUNNER, None, NOW)
    assert {e["what"] for e in outgoing.settled(run)} == {"resolution", "resolved"}


@given(st.lists(st.sampled_from(["seen", "settled", "applied"]), min_size=1, max_size=6), st.data())
def test_a_chain_that_was_changed_anywhere_is_found(whats: list[str], data: st.DataObject) -> None:
    chain: list[dict[str, Any]] = []
    for what in whats:
        chain.append(audit.entry(chain[-1]["hash"] if chain else "", what, NOW, by="alice"))
    assert audit.flaws(chain) == []
    at = data.draw(st.integers(0, len(chain) - 1))
    changed = [*chain[:at], {**chain[at], "by": "mallory"}, *chain[at + 1 :]]
    assert audit.flaws(changed)
    if at < len(chain) - 1:
        assert audit.flaws([*chain[:at], *chain[at + 1 :]]), "one was taken out"


class StoppedClock(SystemClock):
    """Time stands where it is put."""

    at = NOW

    def now(self) -> datetime:
        return self.at


@pytest.mark.parametrize(("late", "settles"), [(-1, True), (0, True), (1, False)])
async def test_an_answer_at_the_deadline_settles_and_one_after_it_does_not(
    late: int, settles: bool
) -> None:
    clock = StoppedClock()
    database = SQLiteDatabase(":memory:", clock=clock)
    interactions = StoredInteractions(database, clock)
    await database.open()
    record = opening.opened(prepared(request()), BILLING, None, NOW)
    await interactions.open(record)
    assert record.expires_at is not None
    clock.at = record.expires_at + timedelta(milliseconds=late)
    expired = await interactions.expire(record) if settles else None
    assert expired is None
    yes = Settlement(Outcome(state=InputState.ANSWERED, content=True), "rest", Person(id="a"))
    settled = await interactions.settle(record, yes)
    assert (settled is not None) == settles
    if not settles:
        assert await interactions.expire(record) is not None
    await database.close()


def test_a_cursor_leads_back_to_its_place() -> None:
    record = opening.opened(prepared(request()), BILLING, None, NOW)
    assert place_of(cursor_after(record)) == (NOW, record.id)
    for bad in ("", "!!", "e30", "W10", cursor_after(record)[:-8]):
        with pytest.raises(Invalid):
            place_of(bad)
