"""What was allowed beyond one call, and what ends it."""

from datetime import UTC, datetime

import pytest

from placet.domain.grant import Grant
from placet.domain.interaction import ToolCall
from placet.gate import Decision, Facts, Level, Reason, Verdict
from placet.kernel.journal import (
    CallJudged,
    Entry,
    GrantGiven,
    GrantRevoked,
    MessageReceived,
    ModelReplied,
    ToolStarted,
    TrustGiven,
)
from placet.kernel.state import State, fold
from placet.kernel.turns import ModelReply

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 1, tzinfo=UTC)
GRANT = Grant(id="grt_1", tool="wire", scope="run", at=AT, input_id="inp_1")
GIVEN: list[Entry] = [
    GrantGiven(grant=GRANT),
    TrustGiven(tool="look", schema_digest="d"),
]
BY_GRANT = Verdict(
    decision=Decision.ALLOW,
    level=Level.RISK,
    reason=Reason(code="granted", sentence="granted"),
    grants=("grt_1",),
)


def said(by: str | None, number: int = 1) -> MessageReceived:
    return MessageReceived(id=f"msg_{number}", text="go", sender=by)


def allowed(state: State) -> tuple[int, dict[str, str]]:
    return len(state.grants), state.trusted


def test_the_initiator_s_own_messages_leave_grants_and_trust_alone() -> None:
    state = fold([said("alice"), *GIVEN, said("alice", 2)])
    assert allowed(state) == (1, {"look": "d"})


@pytest.mark.parametrize("other", ["bob", None])
def test_a_message_of_somebody_else_ends_them(other: str | None) -> None:
    state = fold([said("alice"), *GIVEN, said(other, 2)])
    assert allowed(state) == (0, {})


def judged_calls() -> list[Entry]:
    calls = tuple(ToolCall(id=f"c{n}", tool="wire") for n in range(2))
    verdicts: list[Entry] = [
        CallJudged(call_id=call.id, verdict=BY_GRANT, facts=Facts(tool="wire")) for call in calls
    ]
    return [said("alice"), *GIVEN, ModelReplied(reply=ModelReply(calls=calls)), *verdicts]


def test_a_revoked_grant_has_calls_judged_again_that_have_not_started() -> None:
    started = ToolStarted(call_id="c0", key="k", attempt=1)
    state = fold([*judged_calls(), started, GrantRevoked(grant_id="grt_1")])
    assert state.grants == []
    assert state.calls["c0"].verdict is not None, "it has started"
    assert state.calls["c1"].verdict is None


def test_another_grant_s_end_changes_nothing() -> None:
    state = fold([*judged_calls(), GrantRevoked(grant_id="grt_2")])
    assert allowed(state)[0] == 1
    assert state.calls["c1"].verdict is not None
