"""A long journal is read once, entry by entry, and nothing walks over what was read."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import pytest

from placet.domain.interaction import ToolCall
from placet.domain.label import Label
from placet.gate import Decision, Reason, Verdict
from placet.kernel import Entry, State, decide, fold, read_entry, write_entry
from placet.kernel.journal import CallJudged, MessageReceived, ModelReplied, ToolFinished
from placet.kernel.steps import ToolFacts
from placet.kernel.turns import CallOutcome, CallResult, ModelReply, ResultsTurn

pytestmark = pytest.mark.unit
T = TypeVar("T")
ALLOWED = Verdict(decision=Decision.ALLOW, reason=Reason(code="x", sentence="because"))
HELLO = MessageReceived(id="m1", text="hello")


def replied(*calls: str) -> ModelReplied:
    made = tuple(ToolCall(id=call, tool="look", args={"call": call}) for call in calls)
    return ModelReplied(reply=ModelReply(calls=made))


def finished(call: str, label: Label = Label.PUBLIC) -> ToolFinished:
    return ToolFinished(result=result(call, label))


def result(call: str, label: Label) -> CallResult:
    return CallResult(
        call_id=call, tool="look", outcome=CallOutcome.OK, content="seen", label=label
    )


def history(calls: int) -> list[Entry]:
    """That many calls, one after the other."""
    entries: list[Entry] = [HELLO]
    for number in range(calls):
        call = f"c{number}"
        judged = CallJudged(call_id=call, verdict=ALLOWED)
        entries += [replied(call), judged, finished(call, Label.INTERNAL)]
    return entries


def steps(work: Callable[[T], object], on: T) -> int:
    """How many functions `work(on)` calls, Python's own among them."""
    count = 0

    def note(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work(on)
    finally:
        sys.setprofile(before)
    return count


def taken_up(documents: list[dict[str, object]]) -> State:
    """What a claim does, and what the next call is judged by."""
    state = fold(map(read_entry, documents))
    decide(state, {"look": ToolFacts("d1")})
    assert state.taint is Label.INTERNAL
    return state


def test_an_entry_of_a_long_journal_costs_as_much_as_one_of_a_short_one() -> None:
    short, long = ([write_entry(entry) for entry in history(n)] for n in (20, 500))
    taken_up(short)  # what is made once is made
    each = [steps(taken_up, kept) / len(kept) for kept in (short, long)]
    assert each[1] <= 1.1 * each[0]


def test_what_the_next_step_of_a_run_goes_by_costs_the_same_after_a_long_journal() -> None:
    states = [fold(history(n)) for n in (20, 500)]
    costs = [steps(lambda state: (state.taint, state.standing), state) for state in states]
    assert costs[0] == costs[1]


def test_what_earlier_runs_and_finished_calls_told_counts_while_others_are_open() -> None:
    earlier = [ResultsTurn(results=(result("c0", Label.INTERNAL),))]
    assert fold([HELLO], earlier=earlier).taint is Label.INTERNAL
    asked: list[Entry] = [HELLO, replied("c1", "c2")]
    assert fold(asked).taint is Label.PUBLIC
    assert fold([*asked, finished("c1", Label.PRIVATE)]).taint is Label.PRIVATE
    after: list[Entry] = [*asked, finished("c1", Label.PRIVATE), finished("c2"), replied("c3")]
    assert fold(after, earlier=earlier).taint is Label.PRIVATE
