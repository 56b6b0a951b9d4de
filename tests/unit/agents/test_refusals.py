"""A call that a person refused is not asked about again and again, nor answered for ever."""

from typing import Any

import pytest

from placet import Agent, ApprovalDecision, ApprovalRequest, Context, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps
from placet.domain.interaction import ToolCall
from placet.kernel.refusals import DeniedLoop, Refusals
from placet.kernel.turns import CallOutcome, CallResult, ModelReply

pytestmark = pytest.mark.unit

Wanted = tuple[str, dict[str, object]]
DROP: Wanted = ("drop", {"name": "a"})


@tool(risk=ToolRisk.HIGH)
async def drop(ctx: Context, name: str) -> str:
    """Drop."""
    return f"dropped {name}"


class Person:
    """Decides by a list, and counts how often it was asked."""

    def __init__(self, *decisions: ApprovalDecision) -> None:
        self.left = list(decisions)
        self.asked: list[dict[str, Any]] = []

    async def request(self, req: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(req.call.args)
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


async def told(person: Person, *replies: ModelReply) -> tuple[str, str | None, list[str]]:
    """Status, error, and the outcomes of the calls."""
    agent = Agent("ops", model=ScriptedModel(steps(*replies)), tools=[drop])
    result = await agent.run("go", approval_handler=person)
    outcomes = [e.result.outcome.value for e in result.journal if e.type == "tool.finished"]
    return result.status, result.error, outcomes


async def test_the_same_call_is_answered_from_the_denial_three_times_and_the_fourth_ends_the_run() -> (
    None
):
    person = Person(ApprovalDecision.DENIED)
    status, error, outcomes = await told(person, *[calls(DROP)] * 5, says("never"))
    assert len(person.asked) == 1
    assert outcomes[:4] == ["denied"] * 4
    assert status == "failed"
    assert error is not None
    assert error.startswith("denied_loop")


async def test_ap100_five_equal_calls_in_one_turn_after_a_denial_end_the_run_too() -> None:
    person = Person(ApprovalDecision.DENIED)
    status, error, _ = await told(person, calls(DROP), calls(*[DROP] * 5), says("never"))
    assert len(person.asked) == 1
    assert (status, error is not None and error.split(":")[0]) == ("failed", "denied_loop")


async def test_the_same_tool_with_other_arguments_asks() -> None:
    person = Person(ApprovalDecision.DENIED)
    status, _, _ = await told(
        person, calls(DROP), calls(("drop", {"name": "b"})), says("all right")
    )
    assert person.asked == [{"name": "a"}, {"name": "b"}]
    assert status == "completed"


async def test_the_answer_to_another_call_clears_the_memory() -> None:
    person = Person(ApprovalDecision.DENIED, ApprovalDecision.APPROVED, ApprovalDecision.APPROVED)
    other: Wanted = ("drop", {"name": "b"})
    status, _, outcomes = await told(person, calls(DROP), calls(other), calls(DROP), says("done"))
    assert outcomes == ["denied", "ok", "ok"]
    assert status == "completed"


def test_a_skipped_call_may_be_asked_about_again_three_times() -> None:
    memory = Refusals()
    call = ToolCall(id="c", tool="drop", args={"name": "a"})
    skipped = CallResult(call_id="c", tool="drop", outcome=CallOutcome.SKIPPED, content="later")
    for _ in range(3):
        memory.note(call, skipped, asked=True)
        assert memory.about(call) is None
    memory.note(call, skipped, asked=True)
    again = memory.about(call)
    assert again is not None
    assert again.outcome is CallOutcome.SKIPPED


def test_key_order_does_not_make_another_call() -> None:
    memory = Refusals()
    denied = CallResult(call_id="c", tool="t", outcome=CallOutcome.DENIED, content="no")
    memory.note(ToolCall(id="c", tool="t", args={"a": 1, "b": 2}), denied, asked=True)
    assert memory.about(ToolCall(id="d", tool="t", args={"b": 2, "a": 1})) is not None


def test_a_refusal_is_answered_three_times() -> None:
    memory = Refusals()
    call = ToolCall(id="c", tool="t")
    denied = CallResult(call_id="c", tool="t", outcome=CallOutcome.DENIED, content="no")
    memory.note(call, denied, asked=True)
    for _ in range(3):
        assert memory.about(call) is not None
        memory.note(call, denied, asked=False)
    with pytest.raises(DeniedLoop):
        memory.about(call)
    memory.clear()
    assert memory.about(call) is None
