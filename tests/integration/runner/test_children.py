"""Child runs: what they do, what their parent is told, and whose list their questions are in."""

import pytest

from placet import HumanInput
from placet.agents.delegating import DEEPEST, MOST_CHILDREN, MOST_TASKS
from placet.domain.run import RunStatus
from placet.errors import Conflict
from placet.process.platform import Buses, Databases
from tests.integration.runner.agents import Ledger
from tests.integration.runner.family import (
    DROP,
    LOOK,
    asked,
    child_id,
    deep,
    family,
    plan,
    to,
    told,
)
from tests.integration.test_invariants import let_expire
from tests.support.system import system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
STOPS = HumanInput(on_expiry="stop")


async def test_a_child_does_the_task_and_the_parent_goes_on_with_what_it_said(parts: Parts) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        task = plan([LOOK], "it is fine")
        run = await placet.client.agent("root").run(plan([to(("leaf", task))], "all done"))
        assert (run.status, run.text) == (RunStatus.COMPLETED, "all done")
        [result] = told(await placet.image(run.id))
        assert result["outcome"] == "ok"
        assert result["content"] == [{"agent": "leaf", "status": "completed", "text": "it is fine"}]
        child = await placet.client.runs.get(child_id(run.id))
        assert child.value.parent_run_id == child.value.root_run_id == run.id
        assert child.value.path == ("root", "leaf")


async def test_several_children_work_at_once_and_their_results_are_in_the_order_of_the_tasks(
    parts: Parts,
) -> None:
    async with system(family(Ledger()), parts) as placet:
        tasks = [("leaf", plan([DROP], "first")), ("lower", "second"), ("leaf", plan("third"))]
        run = await placet.client.agent("root").run(plan([to(*tasks)], "done"), user="alice")
        [waiting] = await asked(placet, run)
        await placet.stands(child_id(run.id, number=2), "completed")
        run = await waiting.answer(True, from_="alice")
        assert (run.id, run.status) == (run.id, RunStatus.COMPLETED)
        [result] = told(await placet.image(run.id))
        assert [each["text"] for each in result["content"]] == ["first", "heard second", "third"]


async def test_two_delegating_calls_of_one_turn_and_a_plain_one_have_one_result_each_in_order(
    parts: Parts,
) -> None:
    async with system(family(Ledger()), parts) as placet:
        turn = [to(("leaf", "one")), LOOK, to(("lower", "two"))]
        run = await placet.client.agent("root").run(plan(turn, "done"))
        image = await placet.image(run.id)
        ended = [e["result"] for e in image.document["journal"] if e["type"] == "tool.finished"]
        assert sorted(each["call_id"] for each in ended) == ["call_1_1", "call_1_2", "call_1_3"]
        assert run.status == RunStatus.COMPLETED


async def test_a_child_that_fails_is_a_tool_error_that_names_it(parts: Parts) -> None:
    agents = family(Ledger(), leaf={"max_steps": 1})
    async with system(agents, parts) as placet:
        tasks = [("leaf", plan([LOOK], "never")), ("lower", "fine")]
        run = await placet.client.agent("root").run(plan([to(*tasks)], "done"))
        assert run.status == RunStatus.COMPLETED
        [result] = told(await placet.image(run.id))
        assert result["outcome"] == "error"
        failed, fine = result["content"]
        assert (failed["agent"], failed["status"]) == ("leaf", "failed")
        assert "1 model calls" in failed["text"]
        assert fine == {"agent": "lower", "status": "completed", "text": "heard fine"}


async def test_cp_13_a_child_three_levels_deep_asks_once_in_the_root_s_list_with_its_path(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        text = deep("middle", "lower", "leaf", then=plan([DROP], "dropped"))
        run = await placet.client.agent("root").run(text, user="alice")
        assert run.value.wait_reason == "children"
        [waiting] = await asked(placet, run)
        request = waiting.value.request
        assert request.path == ("root", "middle", "lower", "leaf")
        assert (request.root_run_id, request.audience.initiator) == (run.id, "alice")
        [listed] = await placet.client.agent(run.agent_id).pending_inputs()
        assert listed.id == waiting.id
        [own] = await placet.client.agent(request.agent_id).pending_inputs()
        assert own.id == waiting.id
        ended = await waiting.answer(True, from_="alice")
        assert (ended.id, ended.status) == (run.id, RunStatus.COMPLETED)
        assert ledger.executions == [DROP]


async def test_cp_13_nobody_answers_a_child_is_told_and_the_parent_is_told_which_child(
    parts: Parts,
) -> None:
    ledger = Ledger()
    agents = family(ledger, leaf={"human_input": STOPS})
    async with system(agents, parts) as placet:
        tasks = [("leaf", plan([DROP], "never")), ("lower", plan([DROP], "went on"))]
        run = await placet.client.agent("root").run(plan([to(*tasks)], "done"), user="alice")
        for waiting in await asked(placet, run, 2):
            await let_expire(placet, waiting.id)
        await placet.stands(run.id, "completed")
        [result] = told(await placet.image(run.id))
        stopped, denied = result["content"]
        assert (stopped["agent"], stopped["status"]) == ("leaf", "failed")
        assert "nobody answered" in stopped["text"]
        assert denied == {"agent": "lower", "status": "completed", "text": "went on"}
        [heard] = told(await placet.image(child_id(run.id, number=1)), "drop")
        assert heard["content"] == "Not run: nobody answered in time."
        assert ledger.executions == []


async def test_runs_nest_no_deeper_than_the_limit_and_the_model_is_told_so(parts: Parts) -> None:
    names = ["leaf"] * (DEEPEST + 1)
    async with system(family(Ledger()), parts) as placet:
        run = await placet.client.agent("root").run(deep(*names, then="too deep"))
        assert run.status == RunStatus.COMPLETED
        lowest = run.id
        for _ in range(DEEPEST):
            lowest = child_id(lowest)
        [result] = told(await placet.image(lowest))
        assert result["outcome"] == "error"
        assert "deep already" in result["content"]
        assert await placet.runner.runs.get(child_id(lowest)) is None


async def test_one_call_starts_no_more_children_than_the_limit_and_no_unnamed_agent(
    parts: Parts,
) -> None:
    async with system(family(Ledger()), parts) as placet:
        many = to(*[("leaf", "x")] * (MOST_TASKS + 1))
        run = await placet.client.agent("root").run(plan([many, to(("stranger", "x"))], "done"))
        assert run.status == RunStatus.COMPLETED
        assert [r["outcome"] for r in told(await placet.image(run.id))] == ["error", "error"]
        assert await placet.runner.runs.get(child_id(run.id)) is None


async def test_one_run_waits_for_no_more_children_at_once_than_the_limit(parts: Parts) -> None:
    async with system(family(Ledger()), parts) as placet:
        turn = [to(*[("leaf", "x")] * MOST_TASKS)] * (MOST_CHILDREN // MOST_TASKS + 1)
        run = await placet.client.agent("root").run(plan(turn, "done"))
        *fitting, last = told(await placet.image(run.id))
        assert run.status == RunStatus.COMPLETED
        outcomes = sorted(each["outcome"] for each in (*fitting, last))
        assert outcomes == ["error"] + ["ok"] * (len(turn) - 1)


async def test_a_child_takes_no_message_of_its_own_and_the_refusal_names_the_root(
    parts: Parts,
) -> None:
    async with system(family(Ledger()), parts) as placet:
        text = deep("middle", "leaf", then=plan([DROP], "dropped"))
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        for target in (waiting.value.request.run_id, waiting.value.request.agent_id):
            with pytest.raises(Conflict, match=run.id):
                await placet.client.agent(target).message("hurry", user="alice")
        with pytest.raises(Conflict, match=run.id):
            await placet.client.agent(waiting.value.request.agent_id).start("more", user="alice")
        run = await waiting.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        with pytest.raises(Conflict, match=run.id):
            await placet.client.agent(waiting.value.request.agent_id).start("more", user="alice")


async def test_l25_a_run_that_waits_for_its_children_holds_no_slot(parts: Parts) -> None:
    async with system(family(Ledger()), parts, runner_slots=1) as placet:
        text = deep("middle", "lower", "leaf", then=plan([DROP], "dropped"))
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        other = await placet.client.agent("leaf").run("another batch", user="alice")
        assert other.status == RunStatus.COMPLETED
        run = await waiting.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED


async def test_l26_a_child_that_fails_stops_no_other_child_s_question(parts: Parts) -> None:
    agents = family(Ledger(), leaf={"max_steps": 1})
    async with system(agents, parts) as placet:
        tasks = [("leaf", plan([LOOK], "never")), ("lower", plan([DROP], "went on"))]
        run = await placet.client.agent("root").run(plan([to(*tasks)], "done"), user="alice")
        [waiting] = await asked(placet, run)
        await placet.stands(child_id(run.id), "failed")
        run = await waiting.answer(True, from_="alice")
        assert [e["status"] for e in told(await placet.image(run.id))[0]["content"]] == [
            "failed",
            "completed",
        ]
