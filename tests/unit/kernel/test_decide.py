"""What comes next, from the journal alone."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.domain.interaction import ApprovalDecision, InputState, Kind, ToolCall
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.gate import Decision, Facts, Layer, Policy, Reason, Verdict, gate
from placet.kernel import (
    Act,
    CallModel,
    Ended,
    Entry,
    Fail,
    Finish,
    Judge,
    Wait,
    decide,
    fold,
    read_entry,
    write_entry,
)
from placet.kernel.journal import (
    CallJudged,
    InputOpened,
    InputResolved,
    MessageReceived,
    ModelReplied,
    RunCancelled,
    RunCompleted,
    ToolFinished,
    ToolStarted,
)
from placet.kernel.steps import ToolFacts
from placet.kernel.turns import CallOutcome, CallResult, ModelReply

pytestmark = pytest.mark.unit
AT = datetime(2026, 1, 2, tzinfo=UTC)
TOOLS = {"drop": ToolFacts("d1"), "look": ToolFacts("d1", retry="safe")}
HELLO = MessageReceived(id="m1", text="hello")


def replied(*tools: str, text: str = "") -> ModelReplied:
    made = tuple(ToolCall(id=f"c{n}", tool=tool, args={"n": n}) for n, tool in enumerate(tools))
    return ModelReplied(reply=ModelReply(text=text, calls=made))


def judged(call: str, decision: Decision, digest: str = "d1") -> CallJudged:
    verdict = Verdict(decision=decision, reason=Reason(code="x", sentence="because"))
    return CallJudged(call_id=call, verdict=verdict, schema_digest=digest)


def asked(
    call: str, input_id: str, kind: Kind = Kind.TOOL_APPROVAL, ask: int | None = None
) -> InputOpened:
    return InputOpened(input_id=input_id, call_id=call, kind=kind, ask=ask)


def resolved(
    input_id: str, state: InputState, by: str | None = "alice", **outcome: object
) -> InputResolved:
    resolution = Resolution(
        input_id=input_id,
        outcome=Outcome(state=state, **outcome),
        by=Person(id=by) if by else None,
        at=AT,
    )
    return InputResolved(input_id=input_id, resolution=resolution)


def finished(call: str, tool: str = "look") -> ToolFinished:
    result = CallResult(call_id=call, tool=tool, outcome=CallOutcome.OK, content="ok")
    return ToolFinished(result=result)


def after(*entries: Entry, running: tuple[str, ...] = (), max_steps: int = 50) -> object:
    return decide(fold(entries), TOOLS, running=running, max_steps=max_steps)


APPROVED: dict[str, Any] = {"content": True, "decision": ApprovalDecision.APPROVED, "scope": "once"}


def test_a_message_asks_the_model() -> None:
    assert isinstance(after(HELLO), CallModel)


def test_nothing_said_is_nothing_to_do() -> None:
    assert isinstance(after(), Wait)


def test_a_reply_without_calls_ends_the_run() -> None:
    assert after(HELLO, replied(text="bye")) == Finish("bye")


def test_calls_are_judged_before_anything_else() -> None:
    step = after(HELLO, replied("drop", "look"))
    assert isinstance(step, Judge)
    assert [c.call.id for c in step.calls] == ["c0", "c1"]


def test_gated_calls_are_asked_and_free_ones_started_in_one_step() -> None:
    step = after(
        HELLO, replied("drop", "look"), judged("c0", Decision.ASK), judged("c1", Decision.ALLOW)
    )
    assert isinstance(step, Act)
    assert [c.call.id for c in step.ask] == ["c0"]
    assert [c.call.id for c in step.start] == ["c1"]


def test_a_question_that_is_open_is_waited_for() -> None:
    assert isinstance(
        after(HELLO, replied("drop"), judged("c0", Decision.ASK), asked("c0", "i0")), Wait
    )


def test_a_yes_starts_the_call() -> None:
    step = after(
        HELLO,
        replied("drop"),
        judged("c0", Decision.ASK),
        asked("c0", "i0"),
        resolved("i0", InputState.ANSWERED, **APPROVED),
    )
    assert isinstance(step, Act)
    assert [c.call.id for c in step.start] == ["c0"]


@pytest.mark.parametrize(
    ("resolution", "outcome", "told"),
    [
        (
            resolved("i0", InputState.DECLINED, decision="denied"),
            CallOutcome.DENIED,
            "Denied by alice.",
        ),
        (
            resolved("i0", InputState.DECLINED, decision="denied", reason="no"),
            CallOutcome.DENIED,
            "Denied by alice: no",
        ),
        (
            resolved("i0", InputState.DECLINED, decision="skipped"),
            CallOutcome.SKIPPED,
            "Skipped by alice; the intent was not refused.",
        ),
        (
            resolved("i0", InputState.EXPIRED, None),
            CallOutcome.EXPIRED,
            "Not run: nobody answered in time.",
        ),
        (
            resolved("i0", InputState.SUPERSEDED, None),
            CallOutcome.SUPERSEDED,
            "Not answered: the user sent a new message instead",
        ),
        (
            resolved("i0", InputState.WITHDRAWN, None),
            CallOutcome.WITHDRAWN,
            "Not run: the question was withdrawn.",
        ),
        (
            resolved("i0", InputState.CANCELLED, None),
            CallOutcome.CANCELLED,
            "Not run: the question was cancelled.",
        ),
    ],
)
def test_anything_but_a_yes_closes_the_call_and_says_how(
    resolution: InputResolved, outcome: CallOutcome, told: str
) -> None:
    step = after(HELLO, replied("drop"), judged("c0", Decision.ASK), asked("c0", "i0"), resolution)
    assert isinstance(step, Act)
    assert step.start == ()
    assert [(r.outcome, r.content) for r in step.close] == [(outcome, told)]


def test_a_call_denied_by_policy_never_starts() -> None:
    step = after(HELLO, replied("drop"), judged("c0", Decision.DENY))
    assert isinstance(step, Act)
    assert [r.outcome for r in step.close] == [CallOutcome.REFUSED]


def test_a_running_call_is_left_alone() -> None:
    started = ToolStarted(call_id="c0", key="k", attempt=1)
    entries = (HELLO, replied("drop"), judged("c0", Decision.ALLOW), started)
    assert isinstance(after(*entries, running=("c0",)), Wait)


def test_a_call_in_doubt_is_put_to_a_person_unless_its_tool_may_be_tried_again() -> None:
    started = ToolStarted(call_id="c0", key="k", attempt=1)
    careful = after(HELLO, replied("drop"), judged("c0", Decision.ALLOW), started)
    assert isinstance(careful, Act)
    assert [c.call.id for c in careful.review] == ["c0"]
    safe = after(HELLO, replied("look"), judged("c0", Decision.ALLOW), started)
    assert isinstance(safe, Act)
    assert [c.call.id for c in safe.start] == ["c0"]


def in_review(content: dict[str, object] | None, state: InputState = InputState.ANSWERED) -> object:
    return after(
        HELLO,
        replied("drop"),
        judged("c0", Decision.ALLOW),
        ToolStarted(call_id="c0", key="k", attempt=1),
        asked("c0", "r0", Kind.REVIEW, ask=1),
        resolved("r0", state, content=content),
    )


def test_a_review_decides_what_became_of_a_call() -> None:
    """AP-33."""
    happened = in_review({"outcome": "happened", "result": "7"})
    assert isinstance(happened, Act)
    assert [(r.outcome, r.content) for r in happened.close] == [(CallOutcome.OK, "7")]
    again = in_review({"outcome": "rerun"})
    assert isinstance(again, Act)
    assert [c.call.id for c in again.start] == ["c0"]
    failed = in_review({"outcome": "fail"})
    assert isinstance(failed, Fail)
    assert failed.code == "outcome_unknown"


@pytest.mark.parametrize("state", [InputState.EXPIRED, InputState.CANCELLED, InputState.DECLINED])
def test_a_review_that_nobody_answers_fails_the_run(state: InputState) -> None:
    assert isinstance(in_review(None, state), Fail)


def test_one_rerun_allows_one_try_and_no_more() -> None:
    step = after(
        HELLO,
        replied("drop"),
        judged("c0", Decision.ALLOW),
        ToolStarted(call_id="c0", key="k", attempt=1),
        asked("c0", "r0", Kind.REVIEW, ask=1),
        resolved("r0", InputState.ANSWERED, content={"outcome": "rerun"}),
        ToolStarted(call_id="c0", key="k", attempt=2),
    )
    assert isinstance(step, Act)
    assert [c.call.id for c in step.review] == ["c0"], (
        "the second unknown outcome is asked about again"
    )


def on_an_old_yes(tool: str, digest: str) -> object:
    return after(
        HELLO,
        replied(tool),
        judged("c0", Decision.ASK, digest),
        asked("c0", "i0"),
        resolved("i0", InputState.ANSWERED, **APPROVED),
    )


def test_a_tool_that_is_gone_does_not_run_on_an_old_yes() -> None:
    step = on_an_old_yes("vanished", "d1")
    assert isinstance(step, Act)
    assert step.start == ()
    assert [r.outcome for r in step.close] == [CallOutcome.REFUSED]


def test_a_tool_that_changed_does_not_run_on_an_old_yes_but_shows_a_person_the_difference() -> None:
    step = on_an_old_yes("drop", "old")
    assert isinstance(step, Act)
    assert step.start == ()
    assert [call.call.tool for call in step.changed] == ["drop"]


def test_the_results_of_a_turn_stand_in_the_model_s_order_whatever_ended_first() -> None:
    allow = (judged("c0", Decision.ALLOW), judged("c1", Decision.ALLOW))
    state = fold([HELLO, replied("look", "look"), *allow, finished("c1"), finished("c0")])
    last = state.turns[-1]
    assert last.role == "results"
    assert [r.call_id for r in last.results] == ["c0", "c1"]
    assert isinstance(decide(state, TOOLS), CallModel)


def test_a_message_that_comes_during_calls_follows_their_results() -> None:
    state = fold(
        [
            HELLO,
            replied("look"),
            judged("c0", Decision.ALLOW),
            MessageReceived(id="m2", text="more"),
            finished("c0"),
        ]
    )
    assert [turn.role for turn in state.turns] == ["user", "model", "results", "user"]


def test_the_limit_on_steps_fails_the_run() -> None:
    step = after(HELLO, replied("look"), judged("c0", Decision.ALLOW), finished("c0"), max_steps=1)
    assert isinstance(step, Fail)
    assert step.code == "step_limit"


def test_an_end_closes_open_calls_and_says_which_outcome_is_unknown() -> None:
    state = fold(
        [
            HELLO,
            replied("drop", "drop"),
            judged("c0", Decision.ALLOW),
            judged("c1", Decision.ASK),
            ToolStarted(call_id="c0", key="k", attempt=1),
            RunCancelled(by="alice"),
        ]
    )
    last = state.turns[-1]
    assert last.role == "results"
    assert [r.outcome for r in last.results] == [CallOutcome.UNKNOWN, CallOutcome.CANCELLED]
    assert isinstance(decide(state, TOOLS), Ended)


def test_a_completed_run_has_ended() -> None:
    assert isinstance(after(HELLO, replied(text="x"), RunCompleted(text="x")), Ended)


def test_every_entry_reads_back_as_it_was_written() -> None:
    for entry in (
        HELLO,
        replied("drop"),
        judged("c0", Decision.ASK),
        asked("c0", "i0"),
        resolved("i0", InputState.DECLINED, decision="denied"),
        ToolStarted(call_id="c0", key="k", attempt=1),
        finished("c0"),
    ):
        assert read_entry(write_entry(entry)) == entry


def test_a_call_in_doubt_is_reviewed_although_its_tool_changed_or_is_gone() -> None:
    started = ToolStarted(call_id="c0", key="k", attempt=1)
    for tool, digest in (("look", "old"), ("vanished", "d1")):
        step = after(HELLO, replied(tool), judged("c0", Decision.ALLOW, digest), started)
        assert isinstance(step, Act)
        assert [c.call.id for c in step.review] == ["c0"], "nobody says that nothing ran"


def test_a_run_that_must_fail_lets_what_runs_end_first() -> None:
    entries = (
        HELLO,
        replied("drop", "look"),
        judged("c0", Decision.ALLOW),
        judged("c1", Decision.ALLOW),
        ToolStarted(call_id="c0", key="k", attempt=1),
        asked("c0", "r0", Kind.REVIEW, ask=1),
        resolved("r0", InputState.ANSWERED, content={"outcome": "fail"}),
        ToolStarted(call_id="c1", key="k", attempt=1),
    )
    assert isinstance(after(*entries, running=("c1",)), Wait)
    assert isinstance(after(*entries, finished("c1")), Fail)


def test_ap02_a_yes_to_other_arguments_runs_nothing() -> None:
    other = InputOpened(
        input_id="i0", call_id="c0", kind=Kind.TOOL_APPROVAL, digest="sha256:" + "0" * 64
    )
    step = after(
        HELLO,
        replied("drop"),
        judged("c0", Decision.ASK),
        other,
        resolved("i0", InputState.ANSWERED, **APPROVED),
    )
    assert isinstance(step, Act)
    [closed] = step.close
    assert closed.outcome is CallOutcome.REFUSED
    assert str(closed.content).startswith("args_drift")
    assert not step.start


# The gate of this release.


@given(st.sampled_from(list(ToolRisk)), st.sampled_from(list(ToolRisk)), st.booleans())
def test_the_gate_asks_exactly_for_what_reaches_the_threshold_or_says_so_itself(
    risk: ToolRisk, threshold: ToolRisk, needs: bool
) -> None:
    verdict = gate(
        Facts(tool="t", risk=risk, needs_approval=needs), Policy(agent=Layer(threshold=threshold))
    )
    assert verdict is not None
    expected = needs or list(ToolRisk).index(risk) >= list(ToolRisk).index(threshold)
    assert (verdict.decision is Decision.ASK) is expected
    assert verdict.reason.code
    assert verdict.reason.sentence


def test_a_condition_that_raises_asks() -> None:
    verdict = gate(Facts(tool="t", condition_failed="KeyError: 'x'"), Policy())
    assert verdict is not None
    assert verdict.decision is Decision.ASK


# The machine under any order of events: one result a call, and never a start without its yes.


class Walk:
    """Carries decisions out as a runtime would, with a person and crashes drawn at random."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = data.draw
        self.count = self.draw(st.integers(1, 4))
        self.tools = [self.draw(st.sampled_from(["drop", "look"])) for _ in range(self.count)]
        self.gated = {f"c{n}" for n in range(self.count) if self.draw(st.booleans())}
        self.said_yes: set[str] = set()
        self.state = fold([HELLO, replied(*self.tools)])

    def judge(self, step: Judge) -> None:
        for call in step.calls:
            decision = Decision.ASK if call.call.id in self.gated else Decision.ALLOW
            self.state.apply(judged(call.call.id, decision))

    def act(self, step: Act) -> None:
        for call in step.start:
            assert call.call.id not in self.gated or call.call.id in self.said_yes
            self.state.apply(ToolStarted(call_id=call.call.id, key="k", attempt=call.attempt + 1))
            if call.attempt > 3 or self.draw(st.booleans()):
                self.state.apply(finished(call.call.id, call.call.tool))
        for result in step.close:
            assert result.call_id in self.gated or result.outcome is CallOutcome.OK
            self.state.apply(ToolFinished(result=result))
        for call in step.ask:
            self.state.apply(asked(call.call.id, f"i-{call.call.id}"))
        for call in step.review:
            self.state.apply(
                asked(call.call.id, f"r-{call.call.id}", Kind.REVIEW, ask=call.attempt)
            )

    def answer(self) -> None:
        call = next(call for call in self.state.calls.values() if call.open_ask)
        ask = call.open_ask
        assert ask is not None
        if ask.kind is Kind.REVIEW:
            self.state.apply(
                resolved(ask.input_id, InputState.ANSWERED, content={"outcome": "happened"})
            )
        elif self.draw(st.booleans()):
            self.said_yes.add(call.call.id)
            self.state.apply(resolved(ask.input_id, InputState.ANSWERED, **APPROVED))
        else:
            self.state.apply(resolved(ask.input_id, InputState.DECLINED, decision="denied"))


@given(st.data())
def test_no_gated_call_starts_without_its_yes_and_every_call_has_one_result(
    data: st.DataObject,
) -> None:
    walk = Walk(data)
    for _ in range(60):
        match decide(walk.state, TOOLS):
            case Judge() as step:
                walk.judge(step)
            case Act() as step:
                walk.act(step)
            case Wait():
                walk.answer()
            case _:
                break
    last = walk.state.turns[-1]
    assert last.role == "results"
    assert [r.call_id for r in last.results] == [f"c{n}" for n in range(walk.count)]
