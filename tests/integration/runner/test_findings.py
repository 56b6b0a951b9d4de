"""Faults that a reading of the code found: each was a lost run, a lost answer or a double effect."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says, steps
from placet.domain.run import RunStatus
from placet.errors import Conflict
from placet.kernel.turns import ModelReply
from placet_runner.rules.runs import LONG_TAIL, MOST_UNREAD
from tests.integration.runner.agents import Ledger, agent, once
from tests.integration.runner.book import NOW
from tests.support.eventually import eventually
from tests.support.system import system

pytestmark = pytest.mark.integration
DROP: tuple[str, dict[str, object]] = ("drop", {"name": "staging"})


def results(journal: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry["result"] for entry in journal if entry["type"] == "tool.finished"]


async def test_a_run_of_an_agent_that_is_not_loaded_here_waits_and_is_not_used_up() -> None:
    ledger = Ledger()
    ops = agent(ledger, *once(DROP))
    async with system([ops], sweep_seconds=0.05) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await eventually(lambda: placet.client.input(run.inputs[0].id))
        loaded = placet.runner.loaded.agents
        del loaded["ops"]
        await run.inputs[0].settle("accept", True, from_="alice")
        await asyncio.sleep(0.5)
        image = await placet.image(run.id)
        assert (image.document["tries"], len(image.settled)) == (0, 1)
        loaded["ops"] = ops
        await placet.runner.runs.postpone(run.id, NOW - NOW)
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert len(ledger.executions) == 1


async def test_the_sweep_leaves_a_flood_of_queued_runs_alone_once_it_has_woken_them() -> None:
    block = asyncio.Event()

    @tool
    async def hold(ctx: Context) -> str:
        """Hold the slot."""
        await block.wait()
        return "held"

    busy = Agent(
        "busy", model=ScriptedModel(steps(calls(("hold", {})), says("done"))), tools=[hold]
    )
    async with system([busy], runner_slots=1, sweep_seconds=0.02) as placet:
        runs = [await placet.client.agent("busy").start("go") for _ in range(30)]
        hub = placet.platform.bus("placet-runner")._server  # type: ignore[attr-defined]
        await asyncio.sleep(1)
        assert len(hub.queues["placet.runner.runs"].items) < 3 * len(runs)
        block.set()
        for run in runs:
            await placet.stands(run.id, RunStatus.COMPLETED)


async def test_a_replica_whose_slots_are_all_taken_stops_in_time() -> None:
    block = asyncio.Event()

    @tool(retry="safe")
    async def hold(ctx: Context) -> str:
        """Hold the slot."""
        await block.wait()
        return "held"

    busy = Agent(
        "busy", model=ScriptedModel(steps(calls(("hold", {})), says("done"))), tools=[hold]
    )
    async with system([busy], runner_slots=1, grace_seconds=0.2) as placet:
        for _ in range(3):
            await placet.client.agent("busy").start("go")
        await asyncio.sleep(0.2)
        async with asyncio.timeout(5):
            await placet.runner.stop()


async def test_the_same_key_with_another_input_is_a_conflict() -> None:
    async with system([agent(Ledger(), says("done"))]) as placet:
        await placet.client.agent("ops").start("go", key="k1")
        with pytest.raises(Conflict):
            await placet.client.agent("ops").start("something else", key="k1")


async def test_a_retried_input_of_a_busy_agent_is_one_message_also_after_its_run_ended() -> None:
    ledger = Ledger()
    async with system([agent(ledger, calls(DROP), says("one"), says("two"))]) as placet:
        first = await placet.client.agent("ops").run("go", user="alice")
        again = placet.client.agent(first.agent_id)
        told = await again.start("wait", user="alice", key="k")
        retried = await again.start("wait", user="alice", key="k")
        assert told.id == retried.id == first.id
        image = await placet.stands(first.id, RunStatus.COMPLETED)
        assert (await again.start("wait", user="alice", key="k")).id == first.id
        heard = [e["text"] for e in image.document["journal"] if e["type"] == "message.received"]
        assert heard == ["go", "wait"]


async def test_an_agent_whose_next_run_was_announced_and_never_made_goes_on() -> None:
    async with system([agent(Ledger(), says("done"))]) as placet:
        first = await placet.client.agent("ops").run("go", user="alice")
        agents = placet.runner.talk.agents
        assert await agents.set_current(
            "default", first.agent_id, first.id, "run_" + "f" * 32, first.id
        )
        second = await placet.client.agent(first.agent_id).run("again", user="alice")
        assert second.status == RunStatus.COMPLETED
        third = await placet.client.agent(first.agent_id).run("once more", user="alice")
        assert len({first.id, second.id, third.id}) == 3


@pytest.mark.parametrize(
    "value", [2**70, "\ud800", {"a\x00b": 1}, "x" * 300_000, {"$set": 1, "a.b": 2}]
)
async def test_a_result_that_no_store_keeps_is_told_to_the_model_and_never_runs_again(
    value: Any,
) -> None:
    ran = []

    @tool
    async def odd(ctx: Context) -> Any:
        """Return it."""
        ran.append(1)
        return value

    model = ScriptedModel(steps(calls(("odd", {})), says("done")))
    async with system([Agent("odd", model=model, tools=[odd])]) as placet:
        run = await placet.client.agent("odd").run("go")
        assert run.status == RunStatus.COMPLETED
        assert len(ran) == 1


async def test_a_tool_that_exits_or_cancels_itself_ends_nothing_but_its_call() -> None:
    @tool
    async def leaves(ctx: Context) -> str:
        """Exit."""
        raise SystemExit(2)

    @tool
    async def cancels(ctx: Context) -> str:
        """Cancel."""
        raise asyncio.CancelledError

    @tool
    async def suicide(ctx: Context) -> str:
        """Cancel the task that runs it."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
        return "?"

    wanted = calls(("leaves", {}), ("cancels", {}), ("suicide", {}))
    model = ScriptedModel(steps(wanted, says("done")))
    async with system([Agent("odd", model=model, tools=[leaves, cancels, suicide])]) as placet:
        run = await placet.client.agent("odd").run("go")
        assert run.status == RunStatus.COMPLETED
        assert [
            r["outcome"] for r in results((await placet.image(run.id)).document["journal"])
        ] == ["error"] * 3


async def test_a_replica_that_stops_while_a_tool_asks_leaves_the_question_and_no_review() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("sure", {"what": "go"})))]) as placet:
        started = await placet.client.agent("ops").start("go", user="alice")
        await placet.runner.replica.stop(5)
        image = await placet.image(started.id)
        assert all(entry["kind"] != "review" for entry in image.waiting)


async def test_an_aborted_run_says_which_answers_it_had_applied() -> None:
    block = asyncio.Event()

    @tool(risk=ToolRisk.CRITICAL)
    async def slow(ctx: Context) -> str:
        """Run long."""
        await block.wait()
        return "late"

    model = ScriptedModel(steps(calls(("slow", {})), says("done")))
    async with system([Agent("slow", model=model, tools=[slow])]) as placet:
        run = await placet.client.agent("slow").run("go", user="alice")
        waiting = run.inputs[0]
        await waiting.settle("accept", True, from_="alice")

        async def running() -> bool:
            return "tool.started" in str((await placet.image(run.id)).document["journal"])

        await eventually(running)
        await run.abort()

        async def applied() -> bool:
            return (await placet.client.input(waiting.id)).value.applied

        await eventually(applied)


async def test_an_inbox_that_is_full_refuses_and_says_so() -> None:
    async with system([agent(Ledger(), *once(DROP))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        target = placet.client.agent(run.agent_id)
        for number in range(MOST_UNREAD):
            await target.message(f"{number}", mode="queue", user="alice")
        with pytest.raises(Conflict, match="unread"):
            await target.message("one more", mode="queue", user="alice")


async def test_a_long_history_of_large_results_fits_its_documents() -> None:
    @tool
    async def large(ctx: Context) -> str:
        """Return much."""
        return "x" * 200_000

    def script(conversation: Conversation) -> ModelReply:
        done = sum(turn.role == "results" for turn in conversation.turns)
        return calls(("large", {})) if done < LONG_TAIL else says("done")

    wide = Agent("wide", model=ScriptedModel(script), tools=[large], max_steps=LONG_TAIL + 2)
    async with system([wide]) as placet:
        run = await placet.client.agent("wide").run("go")
        assert run.status == RunStatus.COMPLETED
        assert (
            len(results(await placet.runner.runs.history(await placet.image(run.id)))) == LONG_TAIL
        )
