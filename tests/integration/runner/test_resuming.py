"""Between an answer and what it sets going: nothing is lost and nothing is done twice."""

import asyncio
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from placet import Agent, Context, ScriptedModel, tool
from placet.agents.loading import Loaded
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says, steps
from placet.domain.interaction import InputState
from placet.domain.run import RunStatus
from placet.errors import ModelError
from placet.kernel import fold, read_entry
from placet.kernel.journal import ToolStarted
from placet.kernel.turns import ModelReply
from placet.process.platform import Buses, Databases
from placet.process.settings import load
from placet_runner.ports import Step
from placet_runner.settings import RunnerSettings
from placet_runner.wiring import Runner
from tests.integration.runner.agents import Ledger, agent, once, tools
from tests.integration.runner.family import DROP, LOOK, Wanted, asked, plan, told
from tests.integration.runner.test_talking import alone
from tests.integration.test_invariants import let_expire, resolution
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
WIRE: Wanted = ("wire", {"amount": 7})


async def test_c2_a_question_stands_for_seven_days_unless_somebody_says_otherwise(
    parts: Parts,
) -> None:
    async with system([alone(Ledger())], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "x"), user="alice")
        [waiting] = await asked(placet, run)
        request = waiting.value.request
        assert request.expires_at == request.requested_at + timedelta(days=7)


async def test_c39_ap_33_a_crash_just_as_the_resume_starts_is_a_review_and_never_a_second_run(
    parts: Parts,
) -> None:
    """The answer and the intent are stored, and their writer is gone."""
    ledger = Ledger()
    async with system([agent(ledger, *once(WIRE))], parts, sweep_seconds=0.05) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        [waiting] = await asked(placet, run)
        await placet.runner._running.pop("placet.runner.resolutions").stop()
        await waiting.settle("accept", True, from_="alice")
        image, settled = await placet.image(run.id), await resolution(placet, waiting.id)
        call_id = image.waiting[0]["call"]
        answered = [
            {"type": "input.resolved", "input_id": waiting.id, "resolution": settled.model_dump()}
        ]
        intent = ToolStarted(call_id=call_id, key="k", attempt=1)
        step = Step(entries=[read_entry(answered[0]), intent])
        assert await placet.runner.runs.resume(image, settled, step, "gone", "op_gone")
        past = {
            "lease.until": datetime(2020, 1, 1, tzinfo=UTC),
            "due": datetime(2020, 1, 1, tzinfo=UTC),
        }
        await placet.runner.runs._runs.update(run.id, {}, {"$set": past})
        [asks] = await asked(placet, run)
        assert (asks.kind, ledger.executions) == ("review", [])
        assert (await placet.client.input(waiting.id)).state == InputState.ANSWERED


async def test_cp_14_a_model_that_fails_after_the_tool_ran_is_asked_again_and_the_tool_is_not(
    parts: Parts,
) -> None:
    ledger, failures = Ledger(), [ModelError("500", transient=True)]

    def script(conversation: Conversation) -> ModelReply:
        if conversation.turns[-1].role != "results":
            return calls(DROP)
        if failures:
            raise failures.pop()
        return says("done")

    flaky = Agent("ops", model=ScriptedModel(script), tools=tools(ledger))
    async with system([flaky], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        [waiting] = await asked(placet, run)
        run = await waiting.answer(True, from_="alice")
        assert (run.status, failures, ledger.executions) == (RunStatus.COMPLETED, [], [DROP])
        assert (await placet.client.input(waiting.id)).state == InputState.ANSWERED


async def test_cp_15_an_answer_that_three_replicas_get_five_times_at_once_runs_the_call_once(
    parts: Parts,
) -> None:
    ledger = Ledger()
    ops = agent(ledger, *once(WIRE))
    async with system([ops], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        [waiting] = await asked(placet, run)
        await placet.runner._running.pop("placet.runner.resolutions").stop()
        await waiting.settle("accept", True, from_="alice")
        settled = await resolution(placet, waiting.id)
        others = [
            Runner(placet.platform, load(RunnerSettings), Loaded(agents={"ops": ops}))
            for _ in range(2)
        ]
        replicas = [each.replica for each in (placet.runner, *others)]
        await asyncio.gather(*(each.take_answer(settled) for each in replicas * 5))
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [WIRE]
        for each in others:
            await each.replica.stop(1)
            await each.relay.drain()


async def test_cp_21_finished_siblings_never_run_again_however_often_the_run_resumes(
    parts: Parts,
) -> None:
    ledger = Ledger()
    sure: Wanted = ("sure", {"what": "go on"})
    async with system(
        [agent(ledger, *once(LOOK, ("look", {"at": "there"}), DROP, sure))], parts
    ) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        while run.inputs:
            first, *_ = await asked(placet, run, len(run.inputs))
            run = await first.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        names = [name for name, _ in ledger.executions]
        assert (names.count("look"), names.count("drop"), names.count("sure")) == (2, 1, 1)


async def test_cp_23_whatever_becomes_of_the_calls_of_a_turn_each_has_one_result_in_order(
    parts: Parts,
) -> None:
    turn: list[Wanted] = [DROP, WIRE, LOOK, ("fails", {}), ("drop", {"name": "late"})]
    async with system([agent(Ledger(), *once(*turn))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        approve, deny, expire = await asked(placet, run, 3)
        await let_expire(placet, expire.id)
        await deny.settle("decline", from_="alice")
        run = await approve.answer(True, from_="alice")
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        state = fold(map(read_entry, await placet.runner.runs.history(image)))
        [results] = [turn for turn in state.turns if turn.role == "results"]
        assert [(r.call_id, str(r.outcome)) for r in results.results] == [
            ("call_1_1", "ok"),
            ("call_1_2", "denied"),
            ("call_1_3", "ok"),
            ("call_1_4", "error"),
            ("call_1_5", "expired"),
        ]


async def test_cp_24_an_answer_before_the_run_has_parked_is_not_missed(parts: Parts) -> None:
    ledger, go = Ledger(), asyncio.Event()

    @tool
    async def hold(ctx: Context) -> str:
        """Keep the run in hand."""
        await go.wait()
        return "held"

    model = ScriptedModel(steps(calls(DROP, ("hold", {})), says("done")))
    ops = Agent("ops", model=model, tools=[*tools(ledger), hold])
    async with system([ops], parts) as placet:
        run = await placet.client.agent("ops").start("go", user="alice")
        [waiting] = await asked(placet, run)
        assert (await placet.image(run.id)).lease_op is not None, "it has not parked"
        await waiting.settle("accept", True, from_="alice")
        await eventually(lambda: recorded(placet, run.id))
        go.set()
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert [r["outcome"] for r in told(await placet.image(run.id), "drop")] == ["ok"]


async def test_cp_28_no_timeout_of_a_tool_runs_while_a_person_thinks(parts: Parts) -> None:
    @tool(timeout=timedelta(seconds=0.5))
    async def slow(ctx: Context) -> str:
        """Ask, and act."""
        return "did it" if await ctx.confirm("Really?") else "left it"

    ops = Agent("ops", model=ScriptedModel(steps(calls(("slow", {})), says("done"))), tools=[slow])
    async with system([ops], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        [waiting] = await asked(placet, run)
        later = anyio.current_time() + 0.6
        await eventually(lambda: anyio.current_time() > later)
        run = await waiting.answer(True, from_="alice")
        assert [r["content"] for r in told(await placet.image(run.id), "slow")] == ["did it"]


async def recorded(placet: System, run_id: str) -> bool:
    return bool((await placet.image(run_id)).settled)
