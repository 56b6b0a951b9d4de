"""The loop, end to end in one process: a run suspends, a person answers, it goes on from there."""

import pytest

from placet.agents.scripted import calls, says
from placet.domain.run import RunStatus
from placet.errors import Conflict, Invalid, NotFound
from placet_runner.ports import Image
from tests.integration.runner.agents import Ledger, agent, once
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration


def types(image: Image) -> list[str]:
    return [entry["type"] for entry in image.document["journal"]]


def results(image: Image) -> list[tuple[str, str]]:
    """Outcome by call, in the order in which they were written."""
    finished = [e["result"] for e in image.document["journal"] if e["type"] == "tool.finished"]
    return [(r["call_id"], r["outcome"]) for r in finished]


async def test_an_approved_call_runs_once_with_exactly_its_arguments() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("drop", {"name": "staging"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert ledger.executions == [], "nothing runs before the decision"
        run = await run.inputs[0].answer(True, from_="alice")
        assert (run.status, run.text) == (RunStatus.COMPLETED, "done")
        assert ledger.executions == [("drop", {"name": "staging"})]


async def test_a_denied_call_never_runs_and_the_model_hears_who_and_why() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("drop", {"name": "staging"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].decline("not today", from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert ledger.executions == []
        told = [
            e
            for e in (await placet.image(run.id)).document["journal"]
            if e["type"] == "tool.finished"
        ]
        assert told[0]["result"]["content"] == "Denied by alice: not today"


async def test_a_skipped_call_is_told_from_a_denied_one() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("drop", {"name": "staging"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer({"decision": "skipped"}, from_="alice")
        assert results(await placet.image(run.id)) == [("call_1_1", "skipped")]


async def test_every_call_of_a_mixed_turn_has_exactly_one_result_in_order() -> None:
    ledger = Ledger()
    turn = calls(
        ("drop", {"name": "a"}),
        ("look", {}),
        ("drop", {"name": "b"}),
        ("fails", {}),
        ("drop", {"nom": 1}),
    )
    async with system([agent(ledger, turn, says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert [i.value.request.call.args for i in run.inputs] == [{"name": "a"}, {"name": "b"}]  # type: ignore[union-attr]
        first, second = run.inputs
        await second.settle("decline", from_="alice")
        run = await first.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert [name for name, _ in ledger.executions] == ["look", "drop"], (
            "a finished sibling ran once"
        )
        outcomes = dict(results(await placet.image(run.id)))
        assert outcomes == {
            "call_1_1": "ok",
            "call_1_2": "ok",
            "call_1_3": "denied",
            "call_1_4": "error",
            "call_1_5": "error",
        }
        assert len(results(await placet.image(run.id))) == 5


async def test_a_tool_asks_by_itself_and_runs_again_with_the_answer() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("sure", {"what": "go"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert (run.inputs[0].kind, run.inputs[0].message) == ("confirm", "Really go?")
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert ledger.executions == [("sure", {"said": True, "outcome": "answered"})]
        starts = [
            e
            for e in (await placet.image(run.id)).document["journal"]
            if e["type"] == "tool.started"
        ]
        assert [s["attempt"] for s in starts] == [1, 2]
        assert len({s["key"] for s in starts}) == 1, "every try has the same idempotency key"


async def test_a_declined_confirm_returns_false_and_says_which() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("sure", {"what": "go"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await run.inputs[0].decline(from_="alice")
        assert ledger.executions == [("sure", {"said": False, "outcome": "declined"})]


async def test_a_message_supersedes_what_waits_and_runs_in_the_same_run() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("drop", {"name": "staging"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        waiting = run.inputs[0]
        await placet.client.agent(run.agent_id).message("use production instead", user="alice")
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        closed = [e["result"] for e in image.document["journal"] if e["type"] == "tool.finished"]
        assert closed[0]["content"] == "Not answered: the user sent a new message instead"
        assert [
            e["text"] for e in image.document["journal"] if e["type"] == "message.received"
        ] == [
            "go",
            "use production instead",
        ]
        assert ledger.executions == []
        with pytest.raises(Conflict) as late:
            await waiting.settle("accept", True, from_="alice")
        assert late.value.body["input"]["state"] == "superseded"


async def test_a_queued_message_keeps_what_waits_and_is_read_after_it() -> None:
    ledger = Ledger()
    async with system(
        [agent(ledger, calls(("drop", {"name": "x"})), says("a"), says("b"))]
    ) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await placet.client.agent(run.agent_id).message("and then?", mode="queue", user="alice")
        still = await run.refresh()
        assert still.status == RunStatus.INPUT_REQUIRED
        run = await still.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert "and then?" in str((await placet.image(run.id)).document["journal"])


async def test_an_abort_ends_the_run_and_closes_what_waits() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("drop", {"name": "staging"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        waiting = run.inputs[0]
        assert (await run.abort()).status == RunStatus.CANCELLED

        async def closed() -> bool:
            return (await placet.client.input(waiting.id)).state == "cancelled"

        await eventually(closed)
        with pytest.raises(Conflict):
            await waiting.settle("accept", True, from_="alice")
        assert ledger.executions == []

        async def noted() -> bool:
            return not (await placet.image(run.id)).open

        await eventually(noted)


async def test_a_message_to_nothing_live_is_a_conflict_that_says_so() -> None:
    ledger = Ledger()
    async with system([agent(ledger, says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go")
        with pytest.raises(Conflict, match="no agent accepted the message"):
            await placet.client.agent(run.agent_id).message("hello?")


async def test_the_next_run_of_an_agent_remembers_the_one_before() -> None:
    ledger = Ledger()
    async with system([agent(ledger, says("first"), says("second"))]) as placet:
        first = await placet.client.agent("ops").run("one", user="alice")
        second = await placet.client.agent(first.agent_id).run("two", user="alice")
        assert first.id != second.id
        assert (first.text, second.text) == ("first", "second")


async def test_the_same_key_is_the_same_run() -> None:
    ledger = Ledger()
    async with system([agent(ledger, says("done"))]) as placet:
        first = await placet.client.agent("ops").start("go", key="k1")
        again = await placet.client.agent("ops").start("go", key="k1")
        assert first.id == again.id


async def test_an_unknown_agent_run_or_input_is_named() -> None:
    async with system([]) as placet:
        with pytest.raises(NotFound, match="nobody"):
            await placet.client.agent("nobody").run("go")
        with pytest.raises(NotFound, match="run_x"):
            await placet.client.runs.get("run_x")
        with pytest.raises(NotFound):
            await placet.client.input("inp_" + "0" * 32)


async def test_content_that_does_not_fit_lists_the_fields_and_changes_nothing() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("drop", {"name": "staging"})))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        unfit: list[object] = [None, "", 0, "false", {}, "yes", 1]
        for content in unfit:
            with pytest.raises(Invalid) as refused:
                await run.inputs[0].settle("accept", content, from_="alice")
            assert refused.value.errors
        assert (await placet.client.input(run.inputs[0].id)).state == "pending"
        assert ledger.executions == []


async def test_a_model_that_fails_for_good_fails_the_run_with_its_message(
    placet_failing: System,
) -> None:
    run = await placet_failing.client.agent("broken").run("go")
    assert run.status == RunStatus.FAILED
    assert run.error is not None
    assert "no such key" in run.error.message


async def test_limits_on_steps_end_the_run() -> None:
    ledger = Ledger()
    endless = agent(ledger, calls(("look", {})), max_steps=3)
    async with system([endless]) as placet:
        run = await placet.client.agent("ops").run("go")
        assert run.error is not None
        assert run.error.code == "step_limit"
        assert len(ledger.executions) == 3
