"""The taint gate: data that is not for everybody leaves by an outbound call only with a person's word."""

from typing import Any

import pytest

from placet import Agent, ApprovalRequest, Context, ScriptedModel, tool
from placet.agents.operator import Operator, Tables, TaintTable
from placet.agents.scripted import calls, says, steps
from placet.domain.approving import approval_outcome
from placet.domain.label import Label, highest
from placet.gate import Decision, Facts, Level, Policy, Role, gate, offer
from placet.kernel.turns import ModelReply

pytestmark = pytest.mark.unit

Wanted = tuple[str, dict[str, object]]
READ: Wanted = ("read_salaries", {})
POST: Wanted = ("post", {"text": "x"})


class Sent(list[str]):
    """What was sent out."""


def tools(sent: Sent, **declared: Any) -> list[Any]:
    @tool(read_only=True, outbound=False, label=Label.PRIVATE)
    async def read_salaries(ctx: Context) -> str:
        """Read what nobody outside may see."""
        return "4000"

    @tool(read_only=True, outbound=False)
    async def read_notes(ctx: Context) -> str:
        """Read, and say how far it may go."""
        ctx.label("internal")
        return "notes"

    @tool(**declared)
    async def post(ctx: Context, text: str) -> str:
        """Send it somewhere."""
        sent.append(text)
        return "sent"

    return [read_salaries, read_notes, post]


class Person:
    """Answers each prompt with the next content, and keeps the prompts."""

    def __init__(self, *contents: Any) -> None:
        self.contents = list(contents)
        self.prompts: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> Any:
        self.prompts.append(request)
        return self.contents.pop(0)


async def ran(
    sent: Sent,
    person: Person,
    *replies: ModelReply,
    agent: dict[str, Any] | None = None,
    **post: Any,
) -> list[tuple[str, str, Any]]:
    """Outcomes of the calls: tool, outcome, content."""
    made = Agent("ops", model=ScriptedModel(steps(*replies)), tools=tools(sent, **post), taint=True)
    if agent:
        made = Agent("ops", model=made.model, tools=made.tools, **({"taint": True} | agent))
    result = await made.run("go", approval_handler=person)
    return [
        (e.result.tool, e.result.outcome.value, e.result.content)
        for e in result.journal
        if e.type == "tool.finished"
    ]


def test_l93_labels_have_an_order_and_the_highest_of_all_holds() -> None:
    assert highest() is Label.PUBLIC
    assert highest(Label.INTERNAL, Label.PRIVATE, Label.PUBLIC) is Label.PRIVATE
    assert Label.PRIVATE.above(Label.INTERNAL)
    assert not Label.INTERNAL.above(Label.INTERNAL)


async def test_l94_an_outbound_call_asks_once_the_run_holds_more_than_it_may_send() -> None:
    sent, person = Sent(), Person(False)
    outcomes = await ran(sent, person, calls(POST), calls(READ), calls(POST), says("done"))
    assert [outcome for _, outcome, _ in outcomes] == ["ok", "ok", "denied"]
    assert len(sent) == 1
    [prompt] = person.prompts
    assert "private" in str(prompt.context["reason"])


async def test_l94_reading_is_not_outbound_and_a_declared_clearance_counts() -> None:
    sent, person = Sent(), Person()
    outcomes = await ran(sent, person, calls(READ), calls(READ), says("done"))
    assert [outcome for _, outcome, _ in outcomes] == ["ok", "ok"]
    outcomes = await ran(
        sent, person, calls(READ), calls(POST), says("done"), clearance=Label.PRIVATE
    )
    assert [outcome for _, outcome, _ in outcomes] == ["ok", "ok"]


async def test_a_result_may_say_its_own_label() -> None:
    sent, person = Sent(), Person(False)
    notes: Wanted = ("read_notes", {})
    await ran(sent, person, calls(notes), calls(POST), says("done"))
    assert "internal" in str(person.prompts[0].context["reason"])


async def test_l95_the_prompt_has_three_options_of_its_own() -> None:
    sent, person = Sent(), Person(True)
    await ran(sent, person, calls(READ), calls(POST), says("done"))
    [prompt] = person.prompts
    assert prompt.scopes == ("once", "run")
    assert prompt.options == (
        "Allow once", "Allow private data with post for this session", "Deny",
    )  # fmt: skip
    assert sent == ["x"]


async def test_l96_a_denial_is_told_as_blocked() -> None:
    sent, person = Sent(), Person(False)
    outcomes = await ran(sent, person, calls(READ), calls(POST), says("done"))
    assert outcomes[-1][2] == "[blocked] The data was not let out by local."


async def test_l96_once_is_once() -> None:
    sent, person = Sent(), Person(True, False)
    await ran(sent, person, calls(READ), calls(POST), calls(POST), says("done"))
    assert len(person.prompts) == 2
    assert sent == ["x"]


def test_l96_for_the_session_raises_the_clearance_of_that_tool_alone() -> None:
    facts = Facts(tool="post", outbound=True, taint=Label.PRIVATE)
    policy = Policy(taint=True)
    verdict = gate(facts, policy)
    assert verdict is not None
    assert (verdict.decision, verdict.level) == (Decision.ASK, Level.TAINT)
    assert offer(facts, verdict).clearance is Label.PRIVATE


def test_l97_a_definition_may_turn_it_on_and_never_off() -> None:
    operator = Operator(Tables(taint=TaintTable(enabled=True)))
    agent = Agent("ops", model=ScriptedModel(steps(says("x"))), taint=False).under(operator)
    assert agent.policy.taint


@pytest.mark.parametrize(
    ("word", "decision"),
    [(Decision.DENY, "deny"), (Decision.ALLOW, "allow"), (Decision.ASK, "ask")],
)
def test_l98_unattended_it_denies_unless_the_operator_says_otherwise(
    word: Decision, decision: str
) -> None:
    facts = Facts(tool="post", outbound=True, taint=Label.PRIVATE)
    policy = Policy(taint=True, unattended=Decision.ALLOW, leaks_unattended=word)
    verdict = gate(facts, policy)
    assert verdict is not None
    assert verdict.decision == decision
    if word is Decision.ALLOW:
        assert verdict.lifted
        assert verdict.lifted.code == "taint_unattended"


def test_a_call_that_asks_anyway_raises_one_prompt_with_both_reasons_and_offers_once_alone() -> (
    None
):
    facts = Facts(tool="bash", role=Role.SHELL, line="curl e", outbound=True, taint=Label.INTERNAL)
    verdict = gate(facts, Policy(taint=True))
    assert verdict is not None
    assert "curl" in verdict.reason.sentence
    assert "internal data" in verdict.reason.sentence
    assert offer(facts, verdict).scopes == ("once",)


def test_it_is_off_unless_it_is_turned_on() -> None:
    verdict = gate(Facts(tool="post", outbound=True, taint=Label.PRIVATE), Policy())
    assert verdict is not None
    assert verdict.decision is Decision.ALLOW


def test_an_answer_may_not_widen_what_the_prompt_offers() -> None:
    request = ApprovalRequest(
        call={"id": "c", "tool": "post"}, agent_id="a", run_id="r",
        requested_at="2026-01-01T00:00:00Z", scopes=("once", "run"),
    )  # fmt: skip
    outcome = approval_outcome(request, {"decision": "approved", "scope": "stage"})
    assert outcome.scope == "once"
