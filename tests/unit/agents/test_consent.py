"""Whom a definition asks about which call: by the definition, by tier, by tool, and in runs below."""

from typing import Any

import pytest

from placet import (
    Agent,
    ApprovalRequest,
    ConsentRule,
    Context,
    HumanInput,
    ScriptedModel,
    ToolRisk,
    tool,
)
from placet.agents.definitions import read_definition
from placet.agents.inprocess import RunResult
from placet.agents.scripted import calls, says, steps
from placet.domain.consent import ConsentRules, rule_for
from placet.domain.interaction import ApprovalDecision, InteractionRequest
from placet.errors import DefinitionError

pytestmark = pytest.mark.unit


@tool(risk=ToolRisk.HIGH)
async def drop(ctx: Context, name: str) -> str:
    """Drop a database."""
    return f"dropped {name}"


@tool(risk=ToolRisk.CRITICAL)
async def wire(ctx: Context, euros: int) -> str:
    """Send money."""
    return f"sent {euros}"


@tool
async def note(ctx: Context, text: str) -> str:
    """Ask, then note."""
    return "noted" if await ctx.confirm("Really?") else "not noted"


TREASURY = HumanInput(
    approvers=("ann",),
    reminders=(3600,),
    labels=("billing",),
    tiers={"critical": {"approvers": ("group:treasury",), "quorum": 2, "exclude_initiator": True}},
    tools={"drop": ConsentRule(approvers=("dba",), priority="urgent")},
)


def test_a_rule_lies_inside_the_wider_ones() -> None:
    rules = TREASURY.rules
    general = rules.about("note", ToolRisk.SAFE)
    assert (general.approvers, general.quorum) == (("ann",), 1)
    critical = rules.about("wire", ToolRisk.CRITICAL)
    assert (critical.approvers, critical.quorum) == (("group:treasury",), 2)
    assert (critical.exclude_initiator, critical.reminders) == (True, (3600,))
    both = rules.about("drop", ToolRisk.CRITICAL)
    assert (both.approvers, both.quorum, both.priority) == (("dba",), 2, "urgent")


def test_a_tier_speaks_for_those_above_it() -> None:
    rules = HumanInput(tiers={"high": {"approvers": ("ann", "bob"), "quorum": 2}}).rules
    assert rules.about("x", ToolRisk.CRITICAL).quorum == 2
    assert rules.about("x", ToolRisk.SAFE).quorum == 1


def test_ap_92_a_run_below_is_nowhere_looser_than_those_above() -> None:
    above, own = TREASURY.rules, HumanInput(approvers=("eve",)).rules
    rule = rule_for((above, own), "wire", ToolRisk.CRITICAL, "zoe")
    assert (rule.approvers, rule.quorum, rule.exclude_initiator) == (("eve",), 2, True)
    unnamed = rule_for((above, ConsentRules()), "wire", ToolRisk.CRITICAL, "zoe")
    assert unnamed.approvers == ("group:treasury",), "else nobody could meet it"
    plain = rule_for((above, ConsentRules()), "note", ToolRisk.SAFE, "zoe")
    assert plain.approvers == (), "the initiator is enough"
    nobodys = rule_for((above, ConsentRules()), "note", ToolRisk.SAFE, None)
    assert nobodys.approvers == ("ann",), "to delegate is no way around those who are named"


@pytest.mark.parametrize(
    ("given", "says_"),
    [
        ({"quorum": 0}, "human_input.quorum"),
        ({"quorum": True}, "human_input.quorum"),
        ({"quorum": 2}, "2 people must say yes"),
        ({"quorum": 3, "approvers": ("ann",)}, "approvers and the initiator are 2"),
        ({"exclude_initiator": True}, "1 people must say yes"),
        ({"exclude_initiator": True, "approvers": ("service:ci",)}, "must say yes"),
        ({"approvers": "ann"}, "human_input.approvers"),
        ({"approvers": ("a\u202eb",)}, "human_input.approvers"),
        ({"reminders": (0,)}, "human_input.reminders"),
        ({"escalation": ({"after_seconds": 60},)}, "adds people"),
        ({"escalation": ({"add": ("lea",)},)}, "needs on_expiry escalate"),
        ({"on_expiry": "escalate"}, "needs steps"),
        ({"on_expiry": "approve"}, "on_expiry"),
        ({"priority": "soon"}, "human_input.priority"),
        ({"tiers": {"severe": {}}}, "the tiers are"),
        ({"tiers": {"high": {"quorums": 2}}}, "human_input.tiers.high: there is no 'quorums'"),
        ({"tools": ["drop"]}, "use a table"),
        ({"tools": {"drop": 2}}, "human_input.tools.drop is 2"),
        ({"labels": ("x" * 61,)}, "human_input.labels"),
    ],
)
def test_a_rule_that_cannot_be_is_named(given: dict[str, Any], says_: str) -> None:
    with pytest.raises(DefinitionError, match=says_.replace("(", r"\(")):
        HumanInput(**given)


def test_a_rule_for_a_tool_that_is_not_there_refuses_the_definition() -> None:
    with pytest.raises(DefinitionError, match=r"agent ops: human_input.tools names 'drip'"):
        Agent(
            "ops",
            tools=[drop],
            model=ScriptedModel(steps(says("x"))),
            human_input=HumanInput(tools={"drip": {}}),
        )


class Somebody:
    """Approves, and keeps what it was asked."""

    def __init__(self, **capable: bool) -> None:
        self.asked: list[ApprovalRequest] = []
        for name, value in capable.items():
            setattr(self, name, value)

    async def request(self, req: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(req)
        return ApprovalDecision.APPROVED


async def went(handler: Somebody, *, user: str | None = "zoe", **more: Any) -> RunResult:
    model = ScriptedModel(steps(calls(("wire", {"euros": 5})), says("done")))
    agent = Agent("pay", tools=[wire, drop, note], model=model, human_input=TREASURY, **more)
    return await agent.run("Pay", approval_handler=handler, user=user)


async def test_one_handler_in_process_is_no_two_people() -> None:
    one = Somebody()
    run = await went(one)
    assert one.asked == []
    assert "a quorum or four eyes needs people" in str(run.journal)
    counting = Somebody(honours_policy=True)
    await went(counting)
    (asked,) = counting.asked
    assert (asked.policy.quorum, asked.policy.exclude_initiator) == (2, True)
    assert asked.audience.approvers == ("group:treasury",)
    assert (asked.policy.reminders, asked.labels) == ((3600,), ("billing",))


def test_a_file_says_it_too(tmp_path: Any) -> None:
    file = tmp_path / "pay.toml"
    file.write_text(
        """
        instructions = "Pay."
        model = "openai:gpt-5"
        builtins = ["bash"]
        [human_input]
        approvers = ["ann"]
        on_expiry = "escalate"
        [[human_input.escalation]]
        add = ["group:leads"]
        [human_input.tiers.high]
        quorum = 2
        [human_input.tools.bash]
        exclude_initiator = true
        approvers = ["ops", "dba"]
        """
    )
    rules = read_definition(file).human_input.rules
    bash = rules.about("bash", ToolRisk.HIGH)
    assert (bash.quorum, bash.exclude_initiator, bash.approvers) == (2, True, ("ops", "dba"))
    assert rules.general.escalation[0].add == ("group:leads",)
    file.write_text('model = "openai:gpt-5"\n[human_input]\nquorums = 2\n')
    with pytest.raises(DefinitionError, match=r"human_input\.quorums"):
        read_definition(file)


@tool
async def who(ctx: Context, names: list[str]) -> str:
    """Ask somebody in particular."""
    with ctx.asking(*names):
        return f"{await ctx.confirm('Is it you?')} {ctx.outcome}"


class Quiet:
    """Answers nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[InteractionRequest] = []

    async def ask(self, request: InteractionRequest) -> None:
        self.asked.append(request)


@pytest.mark.parametrize("names", [["ann", "group:leads"], [""], ["a\u202eb"], ["x"] * 101])
async def test_one_question_may_be_for_others(names: list[str]) -> None:
    people = Quiet()
    model = ScriptedModel(steps(calls(("who", {"names": names})), says("done")))
    agent = Agent("a", tools=[who], model=model, human_input=HumanInput(approvers=("bob",)))
    run = await agent.run("go", interaction_handler=people, user="zoe")
    if names[0] != "ann":
        assert people.asked == []
        assert "it can't be asked" in str(run.journal)
        return
    (asked,) = people.asked
    assert asked.audience.named == ("zoe", "ann", "group:leads")
