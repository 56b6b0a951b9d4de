"""What a run has from the runs above it: their rules, their refusals, their taint; never their grants."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from placet import Agent, Context, HumanInput, InteractionPoint, Stage, ToolRisk, tool
from placet.agents.operator import Limits, Operator, Tables, UnattendedTable
from placet.bus.inprocess import Hub
from placet.clock import SystemClock
from placet.domain.audience import Audience
from placet.domain.interaction import InputState
from placet.domain.label import Label
from placet.domain.run import RunStatus
from placet.errors import DefinitionError, NotAllowed
from placet.process.platform import Buses, Databases
from placet.store.sqlite import SQLiteDatabase
from tests.integration.runner.agents import Ledger
from tests.integration.runner.family import (
    DROP,
    LOOK,
    Wanted,
    asked,
    child_id,
    deep,
    family,
    plan,
    to,
    told,
)
from tests.support.system import system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]


@pytest.mark.parametrize(
    "rules",
    [
        {"tool_permissions": {"drop": "deny"}},
        {"stages": [Stage(name="plan", tool_permissions={"drop": "deny"})]},
        {"operator": Operator(Tables(tool_permissions={"drop": "deny"}))},
    ],
    ids=["agent", "stage", "operator"],
)
@pytest.mark.parametrize("path", [("leaf",), ("middle", "lower", "leaf")], ids=len)
async def test_ap_92_a_deny_of_any_run_above_holds_for_every_run_below(
    rules: dict[str, Any], path: Sequence[str]
) -> None:
    ledger = Ledger()
    async with system(family(ledger, root=rules)) as placet:
        text = deep(*path, then=plan([DROP], "told"))
        run = await placet.client.agent("root").run(text, user="alice")
        assert run.status == RunStatus.COMPLETED
        [refused] = told(await placet.image(lowest(run.id, path)), "drop")
        assert refused["outcome"] == "refused"
        assert ledger.executions == []


@pytest.mark.parametrize(
    "rules", [{"tool_permissions": {"drop": "deny"}}, {"allowed_tools": ["*", "!drop"]}], ids=str
)
async def test_ap_92_a_definition_may_deny_what_only_those_below_it_have(
    rules: dict[str, Any],
) -> None:
    ledger = Ledger()
    *_, leaf = family(ledger, leaf={"allowed_tools": ["*"]})
    leaf.delegates = ()
    leaf.__dict__.pop("toolbox")
    top = Agent("top", model=leaf.model, delegates=[leaf], **rules)
    async with system([top, leaf]) as placet:
        run = await placet.client.agent("top").run(plan([to(("leaf", plan([DROP], "x")))], "done"))
        assert ledger.executions == []
        asks = "!drop" in str(rules)
        assert run.status == (RunStatus.INPUT_REQUIRED if asks else RunStatus.COMPLETED)
    for other in ({"tool_permissions": {"drop": "ask"}}, {"allowed_tools": ["drop"]}):
        with pytest.raises(DefinitionError, match="drop"):
            Agent("top", model=leaf.model, delegates=[leaf], **other)


@pytest.mark.parametrize(
    "rules",
    [
        {"allowed_tools": ["*", "!look"]},
        {"operator": Operator(Tables(limits=Limits(always_ask=["look"])))},
        {"approval_required_risk": ToolRisk.SAFE},
    ],
    ids=["negated", "always_ask", "threshold"],
)
async def test_ap_92_what_asks_each_time_and_the_threshold_of_a_run_above_hold_below(
    rules: dict[str, Any],
) -> None:
    ledger = Ledger()
    leaf = {"allowed_tools": ["*"]}
    async with system(family(ledger, middle=rules, leaf=leaf)) as placet:
        text = deep("middle", "lower", "leaf", then=plan([LOOK], "told"))
        run = await placet.client.agent("root").run(text, user="alice")
        waiting = await asked(placet, run)
        while waiting and waiting[0].value.request.call.tool == "delegate":  # type: ignore[union-attr]
            run = await waiting[0].answer(True, from_="alice")
            waiting = list(run.inputs)
        assert ledger.executions == []
        run = await waiting[0].answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert ledger.executions == [LOOK]


async def test_ap_92_what_a_person_refused_above_is_answered_from_that_below(parts: Parts) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        text = plan([DROP], [to(("leaf", plan([DROP], "told")))], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        run = await waiting.decline("never", from_="alice")
        assert run.status == RunStatus.COMPLETED, "nobody was asked a second time"
        [refused] = told(await placet.image(child_id(run.id, "call_2_1")), "drop")
        assert (refused["outcome"], "never" in refused["content"]) == ("denied", True)
        assert ledger.executions == []


async def test_ap_96_a_grant_of_a_run_covers_neither_its_children_nor_its_parent_nor_another_run(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        text = plan([DROP], [to(("leaf", plan([DROP], "x")))], [DROP], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        [first] = await asked(placet, run)
        granted = {"decision": "approved", "scope": "run", "grant": "named"}
        run = await first.answer(granted, from_="alice")
        [below] = await asked(placet, run)
        assert below.value.request.path == ("root", "leaf")
        run = await below.answer(granted, from_="alice")
        assert run.status == RunStatus.COMPLETED, "the root's own grant covers its second call"
        other = await placet.client.agent("root").run(plan([DROP], "x"), user="alice")
        assert len(other.inputs) == 1
        text = plan([to(("leaf", plan([DROP], "x")))], [DROP], "done")
        third = await placet.client.agent("root").run(text, user="alice")
        [below] = await asked(placet, third)
        third = await below.answer(granted, from_="alice")
        assert [each.value.request.path for each in third.inputs] == [("root",)]


def keepers() -> list[Any]:
    @tool(read_only=True, outbound=False, label=Label.PRIVATE)
    async def salaries(ctx: Context) -> str:
        """Read what nobody outside may see."""
        return "4000"

    @tool
    async def post(ctx: Context, text: str) -> str:
        """Send it somewhere."""
        return "sent"

    return [salaries, post]


READ: Wanted = ("salaries", {})
POST: Wanted = ("post", {"text": "x"})


def guarded(*names: str) -> list[Agent]:
    """The family with something to keep and a way out, and the taint gate of these."""
    agents = family(Ledger(), **{name: {"taint": True} for name in names})
    for each in agents:
        each.tools = keepers()
        each.__dict__.pop("toolbox", None)
    return agents


@pytest.mark.parametrize("gate", ["leaf", "root"])
async def test_ap_92_taint_goes_down_and_the_gate_of_any_run_above_stands_below(
    parts: Parts, gate: str
) -> None:
    async with system(guarded(gate), parts) as placet:
        text = plan([READ], [to(("leaf", plan([POST], "x")))], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        assert waiting.value.request.path == ("root", "leaf")
        run = await waiting.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED


async def test_taint_comes_back_with_what_a_child_says_however_deep_it_was_read(
    parts: Parts,
) -> None:
    async with system(guarded("root"), parts) as placet:
        below = deep("middle", "leaf", then=plan([READ], "it is 4000"))
        text = plan(json_turn(below), [POST], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        assert waiting.value.request.path == ("root",)
        [result] = told(await placet.image(run.id))
        assert result["label"] == Label.PRIVATE


async def test_ap_93_a_child_s_ask_goes_to_the_owner_or_is_denied_and_never_runs_unasked(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        text = deep("middle", "leaf", then=plan([DROP], "x"))
        root = placet.client.agent("root")
        run = await root.run(text, user="alice", unattended="deny")
        assert run.status == RunStatus.COMPLETED
        assert ledger.executions == []
        leaf = await placet.client.runs.get(lowest(run.id, ("middle", "leaf")))
        assert leaf.value.unattended == "deny"
        run = await root.run(text, user="alice")
        [waiting] = await asked(placet, run)
        assert waiting.value.request.path[-1] == "leaf"


async def test_yolo_lets_a_child_s_call_run_and_no_deny_of_its_parents(parts: Parts) -> None:
    ledger = Ledger()
    agents = family(ledger, middle={"tool_permissions": {"wire": "deny"}})
    async with system(agents, parts, prepare=lets_go) as placet:
        text = deep("middle", "leaf", then=plan([DROP, ("wire", {"amount": 1})], "x"))
        run = await placet.client.agent("root").run(text, user="alice", unattended="allow")
        assert run.status == RunStatus.COMPLETED
        assert ledger.executions == [DROP]


POINT = InteractionPoint(name="check", prompt="Is it fine?", unattended="ask")
CHECKED = {
    "stages": [Stage(name="write", mode="interactive_points", interaction_points=[POINT])],
}


def durable(folder: Path) -> Parts:
    """Databases in files, and a bus that has lost everything."""
    clock = SystemClock()
    return lambda name: SQLiteDatabase(str(folder / f"{name}.db"), clock=clock), Hub(
        clock=clock
    ).bus


async def test_ap_94_l92_the_whole_tree_is_unattended_also_after_a_restart_but_a_point_that_asks_opens(
    tmp_path: Path,
) -> None:
    ledger = Ledger()
    agents = family(ledger, leaf=CHECKED)
    async with system(agents, durable(tmp_path)) as placet:
        root = placet.client.agent("root")
        below = deep("middle", "leaf", then=plan("a text", [DROP], "done"))
        text = plan(json_turn(below), [DROP], "all done")
        run = await root.run(text, user="alice", unattended="deny")
        [waiting] = await asked(placet, run)
        assert waiting.value.request.path == ("root", "middle", "leaf")
        assert run.value.wait_reason == "children"
        attended = await root.run(plan([to(("middle", plan([DROP], "x")))], "x"), user="alice")
        await asked(placet, attended)
    async with system(
        family(ledger, leaf=CHECKED), durable(tmp_path), sweep_seconds=0.05
    ) as placet:
        [again] = await asked(placet, await placet.client.runs.get(run.id))
        assert again.id == waiting.id
        run = await again.answer(True, from_="alice")
        assert (run.status, ledger.executions) == (RunStatus.COMPLETED, [])
        other = await placet.client.runs.get(attended.id)
        [still] = other.inputs
        assert still.state == InputState.PENDING
        assert other.value.unattended is None
        other = await still.answer(True, from_="alice")
        assert (other.status, ledger.executions) == (RunStatus.COMPLETED, [DROP])


def json_turn(text: str) -> list[Any]:
    """The one turn of calls in which a plan begins."""
    turn: list[Any] = json.loads(text)[0]
    return turn


def lowest(run_id: str, path: Sequence[str]) -> str:
    for _ in path:
        run_id = child_id(run_id)
    return run_id


def lets_go(runner: Any) -> None:
    runner.loaded.operator.tables.unattended.__dict__["allow"] = True


BOSS = HumanInput(approvers=("boss",))
DELEGATED: dict[str, dict[str, Any]] = {
    "middle": {"human_input": BOSS},
    "leaf": {"approval_required_risk": ToolRisk.SAFE},
}


async def test_to_delegate_is_no_way_around_the_approvers_of_a_run_that_nobody_started() -> None:
    ledger = Ledger()
    async with system(family(ledger, **DELEGATED)) as placet:
        run = await placet.client.agent("root").start(
            deep("middle", "leaf", then=plan([DROP], "x"))
        )
        [waiting] = await asked(placet, run)
        assert waiting.value.request.audience == Audience(approvers=("boss",))
        with pytest.raises(NotAllowed):
            await waiting.accept(True, from_="anybody")
        await waiting.answer(True, from_="boss")
        assert len(ledger.executions) == 1


async def test_who_started_the_root_answers_below_it_whomever_a_run_between_names() -> None:
    async with system(family(Ledger(), **DELEGATED)) as placet:
        task = deep("middle", "leaf", then=plan([DROP], "x"))
        run = await placet.client.agent("root").start(task, user="alice")
        [waiting] = await asked(placet, run)
        assert waiting.value.request.audience == Audience(initiator="alice")


async def test_what_needs_the_approvers_of_a_run_above_is_not_let_go_below_it() -> None:
    ledger = Ledger()
    letting_go = Operator(Tables(unattended=UnattendedTable(allow=True)))
    async with system(family(ledger, **DELEGATED), operator=letting_go) as placet:
        body = {"input": deep("middle", "leaf", then=plan([DROP], "x")), "unattended": "allow"}
        started = await placet.client.transport.post("/v1/agents/root/runs", body)
        await asked(placet, await placet.client.runs.get(started["id"]))
        assert ledger.executions == []
