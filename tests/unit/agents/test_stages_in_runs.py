"""What a stage changes for the model and for the gate, in a run of this process."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from placet import Agent, Context, Stage, ToolRisk, tool
from placet.agents.inprocess import RunResult
from placet.agents.operator import Operator, Tables
from placet.agents.scripted import calls, says
from placet.agents.tool import Tool
from placet.domain.interaction import ApprovalRequest
from placet.domain.label import Label
from placet.kernel import fold
from placet.kernel.journal import GrantGiven, RegionReplaced, StageEntered
from placet.kernel.state import State
from tests.support.desk import Desk, told
from tests.support.watched import Watched, point

pytestmark = pytest.mark.unit


@tool
async def look(at: str = "here") -> str:
    """Look at something."""
    return f"saw {at}"


@tool(risk=ToolRisk.HIGH)
async def drop(name: str) -> str:
    """Drop a database."""
    return f"dropped {name}"


TOOLS: Sequence[Tool] = (look, drop)


class Gatekeeper:
    """Decides each call the same way, and keeps what it was asked."""

    def __init__(self, decision: bool = True) -> None:
        self.decision = decision
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> bool:
        self.asked.append(request)
        return self.decision


def two(model: Any, first: Mapping[str, Any], second: Mapping[str, Any], **parts: Any) -> Agent:
    """An agent of two stages."""
    stages = [Stage(name="one", **first), Stage(name="two", **second)]
    return Agent("ops", model=model, tools=TOOLS, stages=stages, **parts)


async def went(agent: Agent, gatekeeper: Gatekeeper, **how: Any) -> RunResult:
    return await agent.run("go", approval_handler=gatekeeper, user="alice", **how)


async def test_a_stage_adds_its_instructions_to_the_agents_while_it_lasts() -> None:
    model = Watched(says("a"), says("b"))
    agent = two(model, {"instructions": "Plan."}, {}, instructions="You are ops.")
    await went(agent, Gatekeeper())
    assert [c.instructions for c in model.seen] == ["You are ops.\n\nPlan.", "You are ops."]


async def test_a_stage_may_have_a_model_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = Watched(says("a"), says("b")), Watched(says("x"), says("y"))
    known = {"test:other": other}
    for place in ("staging", "situation"):
        monkeypatch.setattr(
            f"placet.agents.{place}.resolve_model", lambda named: known.get(named, named)
        )
    run = await went(two(own, {}, {"model": "test:other"}), Gatekeeper())
    assert (len(own.seen), len(other.seen), run.text) == (1, 1, "y")


async def test_the_model_is_offered_what_the_stage_has_and_any_other_call_is_refused() -> None:
    model = Watched(
        says("a"), calls(("drop", {"name": "x"}), ("look", {}), ("fly", {})), says("done")
    )
    agent = two(model, {"available_tools": ["drop"]}, {"available_tools": ["look"]})
    gatekeeper = Gatekeeper()
    run = await went(agent, gatekeeper)
    assert [[t.name for t in c.tools] for c in model.seen] == [["drop"], ["look"], ["look"]]
    assert told(run) == [
        ("refused", "The tool 'drop' is not offered here."),
        ("refused", "There is no tool 'fly'."),
        ("ok", "saw here"),
    ]
    assert gatekeeper.asked == []


async def test_a_stage_that_offers_nothing_offers_nothing() -> None:
    model = Watched(says("a"), says("b"))
    await went(two(model, {"available_tools": []}, {}), Gatekeeper())
    assert [len(c.tools) for c in model.seen] == [0, 2]


@pytest.mark.parametrize(
    ("agent_says", "stage_says", "outcome", "asks"),
    [
        ({"look": "deny"}, {"look": "allow"}, "refused", 0),
        ({"look": "allow"}, {"look": "deny"}, "refused", 0),
        ({"look": "allow"}, {"look": "ask"}, "ok", 1),
        ({"look": "ask"}, {"look": "allow"}, "ok", 0),
        ({}, {"look": "ask"}, "ok", 1),
    ],
)
async def test_a_stages_permissions_stand_before_the_agents_and_a_deny_wins_anywhere(
    agent_says: dict[str, str], stage_says: dict[str, str], outcome: str, asks: int
) -> None:
    model = Watched(calls(("look", {})), says("a"), says("b"))
    agent = two(model, {"tool_permissions": stage_says}, {}, tool_permissions=agent_says)
    gatekeeper = Gatekeeper()
    run = await went(agent, gatekeeper)
    assert (told(run)[0][0], len(gatekeeper.asked)) == (outcome, asks)


async def test_a_stages_permissions_end_with_it() -> None:
    model = Watched(calls(("look", {})), says("a"), calls(("look", {})), says("b"))
    run = await went(two(model, {"tool_permissions": {"look": "deny"}}, {}), Gatekeeper())
    assert [outcome for outcome, _ in told(run)] == ["refused", "ok"]


@pytest.mark.parametrize("word", ["deny", "ask"])
async def test_the_operators_word_bounds_a_stages(word: str) -> None:
    model = Watched(calls(("look", {})), says("a"), says("b"))
    operator = Operator(Tables(tool_permissions={"look": word}))
    agent = two(model, {"tool_permissions": {"look": "allow"}}, {}).under(operator)
    gatekeeper = Gatekeeper(decision=False)
    run = await went(agent, gatekeeper)
    assert told(run)[0][0] == ("refused" if word == "deny" else "denied")


# --- L28: grants of a stage


def grants_after(*stages: str) -> list[str]:
    """The scopes that hold after a grant for the stage and one for the run, and these stages."""
    state = State()
    for scope in ("stage", "run"):
        grant = {
            "id": f"grt_{scope}",
            "tool": "drop",
            "scope": scope,
            "stage": "one",
            "at": "2026-01-01T00:00:00Z",
            "input_id": "inp_1",
        }
        state.stage.name = "one"
        state.apply(GrantGiven.model_validate({"grant": grant}))
    for stage in stages:
        state.apply(StageEntered(stage=stage))
    return [grant.scope for grant in state.grants]


def test_l28_a_grant_for_the_stage_ends_where_another_stage_comes_between() -> None:
    assert grants_after() == ["stage", "run"]
    assert grants_after("one") == ["stage", "run"], "the same stage again keeps it"
    assert grants_after("two") == ["run"]
    assert grants_after("two", "one") == ["run"], "it does not come back"


# --- taint


def test_a_region_carries_its_label_and_the_taint_falls_when_a_public_text_replaces_it() -> None:
    private = RegionReplaced(region="plan", text="a", label=Label.PRIVATE)
    public = RegionReplaced(region="plan", text="b")
    assert fold([private]).taint is Label.PRIVATE
    assert fold([private, public]).taint is Label.PUBLIC


async def test_a_region_is_as_private_as_what_the_model_was_told() -> None:
    @tool
    async def payroll(ctx: Context) -> str:
        """Read what is private."""
        ctx.label(Label.PRIVATE)
        return "salaries"

    model = Watched(calls(("payroll", {})), says("the plan"), says("built"))
    plan = Stage(
        name="plan",
        mode="interactive_points",
        interaction_points=(point(document_region="plan"),),
    )
    agent = Agent("ops", model=model, tools=[payroll], stages=[plan, Stage(name="build")])
    run = await agent.run("go", interaction_handler=Desk("Approve"), user="alice")
    (region,) = [e for e in run.journal if e.type == "region.replaced"]
    assert region.label is Label.PRIVATE


# --- what the questions of a later stage say


async def test_a_question_says_what_the_user_wanted_also_in_a_later_stage() -> None:
    model = Watched(says("a"), calls(("drop", {"name": "x"})), says("done"))
    gatekeeper = Gatekeeper()
    await went(two(model, {}, {}), gatekeeper)
    (request,) = gatekeeper.asked
    assert (request.stage, request.context["user_message"]) == ("two", "go")
