"""Calls of an agent through the gate, in process: what runs, what is asked, what the model hears."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from placet import Agent, ApprovalDecision, ApprovalRequest, Context, ScriptedModel, ToolRisk, tool
from placet.agents.judging import judge_call
from placet.agents.scripted import calls, says, steps
from placet.agents.tool import Tool
from placet.domain.interaction import InputState, ToolCall
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.errors import DefinitionError
from placet.kernel.call import CallState
from placet.kernel.decide import decide
from placet.kernel.journal import (
    CallJudged,
    Entry,
    InputOpened,
    InputResolved,
    MessageReceived,
    ModelReplied,
    ToolFinished,
)
from placet.kernel.state import State, fold
from placet.kernel.steps import Act, ToolFacts
from placet.kernel.turns import ModelReply
from tests.unit.gate.made import AT, grant

pytestmark = pytest.mark.unit

Ran = list[tuple[str, Any]]
SAFE, HIGH, CRITICAL = ToolRisk


def pay(ran: Ran, **parts: Any) -> Tool:
    @tool(name="pay", **parts)
    async def made(ctx: Context, amount: int = 1, to: list[str] | None = None) -> str:
        """Pay."""
        ran.append(("pay", amount if to is None else (amount, to)))
        return f"paid {amount}"

    return made


def agent(tools: list[Tool], *wanted: tuple[str, dict[str, Any]], **parts: Any) -> Agent:
    model = ScriptedModel(steps(calls(*wanted), says("done")))
    return Agent("a", model=model, tools=tools, **parts)


def told(run: Any) -> list[tuple[str, str]]:
    found = [e.result for e in run.journal if isinstance(e, ToolFinished)]
    return [(result.outcome, str(result.content)) for result in found]


class Desk(list[ApprovalRequest]):
    """Answers every approval the same, and remembers it."""

    def __init__(self, decision: ApprovalDecision) -> None:
        super().__init__()
        self.decision = decision

    async def request(self, req: ApprovalRequest) -> ApprovalDecision:
        self.append(req)
        return self.decision


YES, NO, SKIP = (Desk(each) for each in ApprovalDecision)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    for desk in (YES, NO, SKIP):
        desk.clear()


PAY = ("pay", {"amount": 7})


async def test_a1_a_safe_tool_runs_and_no_handler_is_called() -> None:
    ran: Ran = []
    await agent([pay(ran)], PAY).run("go", approval_handler=NO)
    assert (ran, NO) == ([("pay", 7)], [])


async def test_a2_without_a_handler_a_risky_call_is_denied_with_the_reason() -> None:
    ran: Ran = []
    run = await agent([pay(ran, risk=HIGH)], PAY).run("go")
    assert (ran, run.status) == ([], "completed")
    [(outcome, text)] = told(run)
    assert outcome == "denied"
    assert "nobody could be asked" in text


async def test_a3_an_approved_call_runs() -> None:
    ran: Ran = []
    run = await agent([pay(ran, risk=HIGH)], PAY).run("go", approval_handler=YES)
    assert (ran, told(run)) == ([("pay", 7)], [("ok", "paid 7")])


async def test_a4_a_denied_call_does_not_run_and_the_run_goes_on() -> None:
    ran: Ran = []
    run = await agent([pay(ran, risk=HIGH)], PAY).run("go", approval_handler=NO)
    assert (ran, run.status, told(run)[0][0]) == ([], "completed", "denied")


async def test_a5_a_skipped_call_does_not_run_and_is_not_told_as_a_refusal() -> None:
    ran: Ran = []
    run = await agent([pay(ran, risk=HIGH)], PAY).run("go", approval_handler=SKIP)
    [(outcome, text)] = told(run)
    assert (ran, outcome) == ([], "skipped")
    assert "Skipped" in text
    assert "was not refused" in text


@pytest.mark.parametrize("threshold", ToolRisk)
@pytest.mark.parametrize("risk", ToolRisk)
async def test_a6_a_threshold_gates_its_tier_and_those_above(
    threshold: ToolRisk, risk: ToolRisk
) -> None:
    ran: Ran = []
    gated = agent([pay(ran, risk=risk)], PAY, approval_required_risk=threshold)
    await gated.run("go", approval_handler=NO)
    assert bool(NO) == risk.reaches(threshold)
    assert bool(ran) != bool(NO)


@pytest.mark.parametrize(
    "computed", ["enormous", "HIGH", "", None, 3, True, ["high"], {"tier": "high"}, object()]
)
async def test_a8_a_computed_tier_that_is_none_is_an_error_and_nothing_runs(computed: Any) -> None:
    ran: Ran = []
    run = await agent([pay(ran, risk=lambda args: computed)], PAY).run("go", approval_handler=YES)
    assert (ran, YES) == ([], [])
    [(outcome, text)] = told(run)
    assert outcome == "error"
    assert "no tier" in text


async def test_a8_a_tier_that_can_not_even_be_compared_is_an_error_too() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise TypeError

        __hash__ = None  # type: ignore[assignment]

    ran: Ran = []
    run = await agent([pay(ran, risk=lambda args: Odd())], PAY).run("go", approval_handler=YES)
    assert (ran, told(run)[0][0]) == ([], "error")


async def test_a9_the_tier_that_a_tool_computes_for_a_call_is_the_one_that_counts() -> None:
    ran: Ran = []
    tiers = pay(ran, risk=lambda args: CRITICAL if args["amount"] > 100 else "safe")
    wanted = [("pay", {"amount": amount}) for amount in (1, 101)]
    await agent([tiers], *wanted, approval_required_risk=CRITICAL).run("go", approval_handler=NO)
    assert ran == [("pay", 1)]
    assert [(each.call.args["amount"], each.risk) for each in NO] == [(101, "critical")]


@pytest.mark.parametrize(
    ("wanted", "asks"),
    [(True, True), (False, False), (None, True), (0, True), ("", True), ("no", True)],
)
async def test_a_condition_lets_a_call_run_with_a_clear_no_alone(wanted: Any, asks: bool) -> None:
    ran: Ran = []
    await agent([pay(ran, needs_approval=lambda args: wanted)], PAY).run("go", approval_handler=NO)
    assert bool(NO) is asks
    assert bool(ran) is not asks


@pytest.mark.parametrize("odd", ["yes", None, 1, [], ToolRisk.HIGH])
def test_what_is_neither_yes_nor_no_nor_a_function_is_no_condition(odd: Any) -> None:
    with pytest.raises(DefinitionError, match="tool pay: needs_approval"):
        pay([], needs_approval=odd)


@pytest.mark.parametrize("where", ["risk", "needs_approval"])
async def test_a_condition_that_raises_asks_and_says_what_it_raised(where: str) -> None:
    ran: Ran = []
    parts: dict[str, Any] = {where: lambda args: args["missing"]}
    listed = agent([pay(ran, **parts)], PAY, allowed_tools=["*", "pay"])
    await listed.run("go", approval_handler=NO)
    [asked] = NO
    assert ran == []
    assert "KeyError: 'missing'" in asked.context["reason"]
    assert asked.scopes == ("once",)


async def test_a11_the_time_that_a_person_takes_is_no_time_of_the_tool() -> None:
    ran: Ran = []

    async def slowly(request: ApprovalRequest) -> bool:
        await anyio.sleep(0.2)
        return True

    quick = pay(ran, risk=HIGH, timeout=timedelta(milliseconds=50))
    run = await agent([quick], PAY).run("go", approval_handler=slowly)
    assert told(run) == [("ok", "paid 7")]


def test_a10_an_approval_that_nobody_answered_runs_nothing_and_says_so() -> None:
    opened = InputOpened(input_id="i", call_id="c", kind="tool_approval")
    expired = Resolution(
        input_id="i", outcome=Outcome(state=InputState.EXPIRED), at=datetime.now(UTC)
    )
    reply = ModelReply(calls=(ToolCall(id="c", tool="pay", args={}),))
    facts = {"pay": ToolFacts("d")}
    before: list[Entry] = [
        MessageReceived(id="m", text="go"),
        ModelReplied(reply=reply),
        CallJudged.model_validate(
            {
                "call_id": "c",
                "schema_digest": "d",
                "verdict": {"decision": "ask", "reason": {"code": "risk", "sentence": "it pays"}},
            }
        ),
        opened,
        InputResolved(input_id="i", resolution=expired),
    ]
    step = decide(fold(before), facts)
    assert isinstance(step, Act)
    assert not step.start
    [result] = step.close
    assert result.outcome not in ("ok", "denied"), "nobody refused it"
    assert "nobody answered" in str(result.content).lower()


# The call that is judged is the call that runs


@pytest.mark.parametrize("where", ["risk", "needs_approval"])
async def test_ap03_what_an_author_s_function_does_to_the_arguments_changes_nothing(
    where: str,
) -> None:
    def spoils(args: Mapping[str, Any]) -> Any:
        args["to"].append("mallory")
        args["amount"] = 0  # type: ignore[index]
        return CRITICAL if where == "risk" else True

    ran: Ran = []
    parts: dict[str, Any] = {where: spoils}
    wanted = ("pay", {"amount": 7, "to": ["bob"]})
    await agent([pay(ran, **parts)], wanted).run("go", approval_handler=YES)
    assert [each.call.args for each in YES] == [{"amount": 7, "to": ["bob"]}]
    assert ran == [("pay", (7, ["bob"]))]


async def test_ap03_what_the_caller_or_the_handler_changes_while_a_person_thinks_does_not_run() -> (
    None
):
    args: dict[str, Any] = {"amount": 7, "to": ["bob"]}

    async def spoils(request: ApprovalRequest) -> bool:
        args["to"].append("mallory")
        request.call.args["to"].append("mallory")
        return True

    ran: Ran = []
    wanted = copy.copy(("pay", args))
    run = await agent([pay(ran, risk=HIGH)], wanted).run("go", approval_handler=spoils)
    assert ("pay", (7, ["bob", "mallory"])) not in ran, told(run)


async def judged(made: Agent, call: ToolCall, *held: Any) -> CallJudged:
    [entry] = await judge_call(made, CallState(call), State(grants=list(held)))
    assert isinstance(entry, CallJudged)
    return entry


@pytest.mark.parametrize(
    ("again", "decision"),
    [
        (ToolCall(id="c1", tool="pay", args={"amount": 1}), "allow"),
        (ToolCall(id="c2", tool="pay", args={"amount": 1}), "allow"),
        (ToolCall(id="c1", tool="pay", args={"amount": 2}), "ask"),
        (ToolCall(id="c1", tool="pay", args={"amount": 1, "to": []}), "ask"),
    ],
)
async def test_c18_ap01_ap02_ap04_a_yes_for_one_call_is_none_for_another_of_the_same_id(
    again: ToolCall, decision: str
) -> None:
    made = agent([pay([], risk=HIGH)])
    first = await judged(made, ToolCall(id="c1", tool="pay", args={"amount": 1}))
    assert first.facts is not None
    held = grant(
        "pay", exact=first.facts.digest, schema_digest=first.schema_digest, risk=first.risk
    )
    assert (await judged(made, again, held)).verdict.decision == decision


async def test_ap99_a_yes_for_the_run_to_a_small_sum_is_none_to_a_large_one() -> None:
    made = agent(
        [pay([], risk=lambda args: CRITICAL if args["amount"] > 100 else HIGH)],
    )
    first = await judged(made, ToolCall(id="c1", tool="pay", args={"amount": 1}))
    held = grant("pay", schema_digest=first.schema_digest, risk=first.risk)
    small = await judged(made, ToolCall(id="c2", tool="pay", args={"amount": 2}), held)
    large = await judged(made, ToolCall(id="c3", tool="pay", args={"amount": 1000}), held)
    assert (small.verdict.decision, large.verdict.decision) == ("allow", "ask")


async def test_a_grant_ends_with_the_schema_or_the_description_that_it_was_given_for() -> None:
    def made(words: str) -> Agent:
        one = pay([], risk=HIGH)
        return agent([Tool(**{**one.__dict__, "description": words})])

    call = ToolCall(id="c1", tool="pay", args={"amount": 1})
    first = await judged(made("Pay."), call)
    held = grant("pay", schema_digest=first.schema_digest, risk=HIGH)
    assert (await judged(made("Pay."), call, held)).verdict.decision == "allow"
    assert (await judged(made("Pay twice."), call, held)).verdict.decision == "ask"


# Discovered tools, and names


@pytest.mark.parametrize(
    ("declared", "asks"),
    [({"destructive": True}, True), ({}, False), ({"read_only": True}, False)],
)
async def test_c14_under_destructive_only_the_annotated_tool_is_gated(
    declared: dict[str, Any], asks: bool
) -> None:
    ran: Ran = []
    made = agent(
        [pay(ran, source="bank", **declared)],
        ("bank__pay", {"amount": 7}),
        sources={"bank": "destructive"},
    )
    await made.run("go", approval_handler=NO)
    assert (bool(NO), bool(ran)) == (asks, not asks)


async def test_c15_the_approval_shows_tool_source_arguments_and_digest_and_nothing_ran_before() -> (
    None
):
    ran: Ran = []
    before: list[Ran] = []

    def look(request: ApprovalRequest) -> bool:
        before.append(list(ran))
        NO.append(request)
        return False

    made = agent([pay(ran, source="bank", risk=HIGH)], ("bank__pay", {"amount": 7}))
    await made.run("go", approval_handler=look)
    [asked] = NO
    assert before == [[]]
    assert "bank__pay" in asked.message
    assert asked.call.args == {"amount": 7}
    assert asked.digest.startswith("sha256:")


async def test_c16_an_approved_call_runs_once_with_its_arguments_and_the_proof_of_who_said_yes() -> (
    None
):
    seen: list[tuple[int, Any]] = []

    @tool(risk=HIGH)
    async def wire(ctx: Context, amount: int) -> str:
        """Wire."""
        seen.append((amount, ctx.approval))
        return "wired"

    made = agent([wire], ("wire", {"amount": 7}))
    await made.run("go", user="alice", approval_handler=YES)
    [(amount, proof)] = seen
    assert amount == 7
    assert isinstance(proof, Resolution)
    assert (proof.input_id, proof.by) == (YES[0].id, Person(id="alice"))
    assert proof.at > AT
    assert proof.digest == YES[0].digest


@pytest.mark.parametrize("name", ["Pay", "pay ", "pa.y", "*", "!pay", "shell"])
async def test_ap76_a_call_by_a_name_that_is_no_tool_s_is_refused_and_asks_nobody(
    name: str,
) -> None:
    ran: Ran = []
    made = agent([pay(ran, risk=HIGH)], allowed_tools=["*"])
    [entry] = await judge_call(made, CallState(ToolCall(id="c", tool=name)), State())
    assert isinstance(entry, ToolFinished)
    assert entry.result.outcome == "refused"


@pytest.mark.parametrize("order", [["*", "!pay"], ["!pay", "*"]])
async def test_ap78_a_negated_tool_asks_each_time_and_the_others_never(order: list[str]) -> None:
    ran: Ran = []

    @tool
    def look() -> str:
        """Look."""
        ran.append(("look", None))
        return "seen"

    made = agent([pay(ran), look], PAY, ("look", {}), PAY, allowed_tools=order)
    await made.run("go", approval_handler=NO)
    assert ran == [("look", None)]
    assert [each.call.tool for each in NO] == ["pay", "pay"]
