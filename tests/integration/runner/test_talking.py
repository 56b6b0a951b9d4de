"""Messages: between model calls, over open questions, to stages that do not listen, after the end."""

import asyncio

import pytest

from placet import Agent, InteractionPoint, ScriptedModel, Stage, tool
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says
from placet.domain.heritage import Birth, Heritage
from placet.domain.interaction import InputState
from placet.domain.run import Message, RunStatus
from placet.errors import Conflict, NotAllowed, NotFound
from placet.ids import derived_id
from placet.kernel.closing import SUPERSEDED
from placet.kernel.turns import ModelReply
from placet.messages import CommandName, RunCommand
from placet.process.platform import Buses, Databases
from placet_runner.ports import Image
from placet_runner.rules.runs import MAX_TRIES
from tests.integration.runner.agents import Ledger, tools
from tests.integration.runner.family import (
    DROP,
    LOOK,
    asked,
    child_id,
    deep,
    family,
    follow,
    plan,
    to,
    told,
)
from tests.integration.runner.test_family_ends import nothing_open, stopped_commands, sweep_now
from tests.integration.runner.test_messages import dead_with, publish
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
WIRE = ("wire", {"amount": 1})


def alone(ledger: Ledger, **parts: object) -> Agent:
    return Agent("ops", model=ScriptedModel(follow), tools=tools(ledger), **parts)  # type: ignore[arg-type]


async def heard(placet: System, run_id: str) -> list[str]:
    """What the run was told, in order."""
    journal = await placet.runner.runs.history(await placet.image(run_id))
    return [e["text"] for e in journal if e["type"] == "message.received"]


async def state(placet: System, input_id: str) -> str:
    return (await placet.client.input(input_id)).state


async def test_l99_a_message_that_nothing_live_takes_is_refused_and_changes_nothing(
    parts: Parts,
) -> None:
    async with system([alone(Ledger())], parts) as placet:
        run = await placet.client.agent("ops").run("hello", user="alice")
        assert run.status == RunStatus.COMPLETED
        for target in (run.id, run.agent_id):
            with pytest.raises(Conflict, match="no agent accepted the message"):
                await placet.client.agent(target).message("too late", user="alice")
        with pytest.raises(NotFound):
            await placet.client.agent("agt_" + "0" * 32).message("anybody?", user="alice")
        assert await heard(placet, run.id) == ["hello"]


@pytest.mark.parametrize("by", ["rest", "bus"])
async def test_c7_ap_36_cp_29_a_message_supersedes_what_waits_and_then_runs_in_the_same_run(
    parts: Parts, by: str
) -> None:
    ledger = Ledger()
    async with system([alone(ledger)], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP, WIRE], "never"), user="alice")
        first, second = await asked(placet, run, 2)
        words = "wait, use staging instead"
        if by == "rest":
            await placet.client.agent(run.agent_id).message(words, user="alice")
        else:
            said = Message(id="msg_1", text=words, sender="alice")
            command = RunCommand(command=CommandName.MESSAGE, run_id=run.id, message=said)
            await publish(placet, "placet-notifier", "placet.runs", "message", command)
        image = await placet.stands(run.id, "completed")
        assert image.document["text"] == f"heard {words}"
        for tool_name in ("drop", "wire"):
            [result] = told(image, tool_name)
            assert result["content"] == SUPERSEDED
            assert SUPERSEDED == "Not answered: the user sent a new message instead"
        for each in (first, second):
            assert await state(placet, each.id) == InputState.SUPERSEDED
            with pytest.raises(Conflict) as late:
                await each.settle("accept", True, from_="alice")
            assert late.value.body["input"]["state"] == "superseded"
        assert ledger.executions == []


async def test_an_answer_that_came_before_the_message_stands_and_is_applied(parts: Parts) -> None:
    ledger = Ledger()
    async with system([alone(ledger)], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP, WIRE], "never"), user="alice")
        first, _ = await asked(placet, run, 2)
        await first.settle("accept", True, from_="alice")
        await placet.client.agent(run.agent_id).message("hurry", user="alice")
        image = await placet.stands(run.id, "completed")
        assert ledger.executions == [DROP]
        assert [r["content"] for r in told(image, "wire")] == [SUPERSEDED]
        assert await heard(placet, run.id) == [plan([DROP, WIRE], "never"), "hurry"]


async def test_a_queued_message_keeps_the_inputs_and_is_read_after_them(parts: Parts) -> None:
    ledger = Ledger()
    async with system([alone(ledger)], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "never"), user="alice")
        [waiting] = await asked(placet, run)
        for word in ("one", "two"):
            await placet.client.agent(run.agent_id).message(word, user="alice", mode="queue")
        assert await state(placet, waiting.id) == InputState.PENDING
        run = await waiting.answer(True, from_="alice")
        assert (run.status, run.text) == (RunStatus.COMPLETED, "heard two")
        assert ledger.executions == [DROP]
        assert (await heard(placet, run.id))[1:] == ["one", "two"]


async def test_a_message_steers_a_run_between_two_model_calls(parts: Parts) -> None:
    held, go = asyncio.Event(), asyncio.Event()

    @tool
    async def hold() -> str:
        """Work for a while."""
        held.set()
        await go.wait()
        return "held"

    worker = Agent("ops", model=ScriptedModel(follow), tools=[hold])
    async with system([worker], parts) as placet:
        run = await placet.client.agent("ops").start(plan([("hold", {})], "never"), user="alice")
        await held.wait()
        await placet.client.agent(run.agent_id).message("turn left", user="alice")
        go.set()
        run = await run.wait()
        assert (run.status, run.text) == (RunStatus.COMPLETED, "heard turn left")
        assert [r["outcome"] for r in told(await placet.image(run.id), "hold")] == ["ok"]


POINT = InteractionPoint(name="check", prompt="Is it fine?")


async def test_a_message_over_a_point_joins_the_stage_runs_again_and_the_point_asks_anew(
    parts: Parts,
) -> None:
    stage = Stage(name="write", mode="interactive_points", interaction_points=[POINT])
    async with system([alone(Ledger(), stages=[stage])], parts) as placet:
        run = await placet.client.agent("ops").run("a text", user="alice")
        [first] = await asked(placet, run)
        assert run.value.wait_reason == "interaction_point"
        await placet.client.agent(run.agent_id).message("shorter", user="alice")

        async def asks_anew() -> bool:
            inputs = (await placet.client.runs.get(run.id)).inputs
            return len(inputs) == 1 and inputs[0].id != first.id

        await eventually(asks_anew)
        [again] = await asked(placet, run)
        assert again.value.request.body == "heard shorter"
        assert await state(placet, first.id) == InputState.SUPERSEDED
        run = await again.answer(True, from_="alice")
        assert (run.status, run.text) == (RunStatus.COMPLETED, "heard shorter")


def two_stages(ledger: Ledger) -> Agent:
    """A stage that does not listen, and one that does."""
    return alone(
        ledger, stages=[Stage(name="deaf", accepts_messages=False), Stage(name="listening")]
    )


async def test_l100_a_stage_that_takes_no_messages_holds_them_in_order_for_one_that_does(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([two_stages(ledger)], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "deaf is done"), user="alice")
        [waiting] = await asked(placet, run)
        for word in ("one", "two"):
            await placet.client.agent(run.agent_id).message(word, user="alice")
        assert await state(placet, waiting.id) == InputState.PENDING, "nothing is superseded"
        run = await waiting.answer(True, from_="alice")
        assert (run.status, ledger.executions) == (RunStatus.COMPLETED, [DROP])
        journal = await placet.runner.runs.history(await placet.image(run.id))
        order = [
            e.get("text") or e.get("stage")
            for e in journal
            if e["type"] in ("message.received", "stage.entered")
        ]
        assert order[1:] == ["listening", "one", "two"]


def deaf(ledger: Ledger) -> Agent:
    return alone(ledger, stages=[Stage(name="deaf", accepts_messages=False)])


async def runs_of(placet: System, agent_id: str) -> list[str]:
    """The agent's runs that ended, oldest first."""
    found = await placet.client.runs.list(agent=agent_id)
    return [run.id for run in reversed(found) if run.status == RunStatus.COMPLETED]


async def test_what_is_held_at_completion_begins_the_next_run_in_order_and_once(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([deaf(ledger)], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "done"), user="alice")
        [waiting] = await asked(placet, run)
        for word in ("one", "two"):
            await placet.client.agent(run.agent_id).message(word, user="alice")
        run = await waiting.answer(True, from_="alice")
        assert (run.status, run.text, run.undelivered) == (RunStatus.COMPLETED, "done", ())
        first, second = await eventually(lambda: two(placet, run.agent_id))
        assert first == run.id
        assert await heard(placet, second) == ["one", "two"]
        birth = next_birth(await placet.image(second), run.id, waiting.value.request.agent_id)
        again = RunCommand(command=CommandName.START, run_id=second, birth=birth)
        for _ in range(3):
            await publish(placet, "placet-runner", "placet.runs", "start", again)
        third = await placet.client.agent(run.agent_id).run("three", user="alice")
        for _ in range(3):
            await publish(placet, "placet-runner", "placet.runs", "start", again)
        fourth = await placet.client.agent(run.agent_id).run("four", user="alice")
        assert await runs_of(placet, run.agent_id) == [run.id, second, third.id, fourth.id]
        for run_id, words in ((second, ["one", "two"]), (third.id, ["three"])):
            assert await heard(placet, run_id) == words
        assert (await placet.image(fourth.id)).document["after_run_id"] == third.id


async def test_what_is_held_goes_to_a_run_that_somebody_started_first_and_to_no_other(
    parts: Parts,
) -> None:
    """The start of the next turn is late: a person's own comes before it, and may have ended."""
    ledger = Ledger()
    async with system([deaf(ledger)], parts) as placet:
        agent = placet.client.agent
        run = await agent("ops").run("one", user="alice")
        held = Message(id="msg_held", text="held", sender="alice")
        birth = Birth(
            agent="ops", agent_id=run.agent_id, messages=(held,), initiator="alice",
            after_run_id=run.id,
        )  # fmt: skip
        late = derived_id("run", run.id, "next")
        start = RunCommand(command=CommandName.START, run_id=late, birth=birth)
        busy = await agent(run.agent_id).run(plan([DROP], "busy is done"), user="alice")
        [waiting] = await asked(placet, busy)
        for _ in range(3):
            await publish(placet, "placet-runner", "placet.runs", "start", start)
        await eventually(lambda: in_inbox(placet, busy.id, "msg_held"))
        await waiting.settle("accept", True, from_="alice")
        *_, last = await eventually(lambda: three(placet, run.agent_id))
        assert await heard(placet, last) == ["held"]
        for _ in range(3):
            await publish(placet, "placet-runner", "placet.runs", "start", start)
        after = await agent(run.agent_id).run("after", user="alice")
        assert await runs_of(placet, run.agent_id) == [run.id, busy.id, last, after.id]


async def test_a_next_turn_whose_start_was_lost_is_begun_by_the_sweep(parts: Parts) -> None:
    async with system([deaf(Ledger())], parts, sweep_seconds=0.05) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "done"), user="alice")
        [waiting] = await asked(placet, run)
        await placet.client.agent(run.agent_id).message("held", user="alice")
        lost = await stopped_commands(placet)
        await waiting.settle("accept", True, from_="alice")
        await placet.stands(run.id, "completed")
        await placet.settled_outboxes(run.id)
        await lost(placet)
        assert await runs_of(placet, run.agent_id) == [run.id]
        await sweep_now(placet, run.id)
        _, second = await eventually(lambda: two(placet, run.agent_id))
        assert await heard(placet, second) == ["held"]
        await eventually(lambda: nothing_open(placet, run.id))
        assert (await placet.image(run.id)).document["due"] is None


async def test_a_next_turn_whose_id_was_buried_is_not_lost(parts: Parts) -> None:
    """Its writer announced it and died; a person's start came in between, and has ended too."""
    async with system([alone(Ledger())], parts) as placet:
        talk, agent = placet.runner.talk, placet.client.agent
        run = await agent("ops").run("one", user="alice")
        held = Message(id="msg_held", text="held", sender="alice")
        late = derived_id("run", run.id, "next")
        assert await talk.agents.set_current("default", run.agent_id, run.id, late, run.id)
        between = await agent(run.agent_id).run("between", user="alice")
        assert between.status == RunStatus.COMPLETED
        for _ in range(2):
            made = await talk.turn("default", run.agent_id, late, (held,), Heritage(), after=run.id)
            await placet.stands(made.id, "completed")
        assert await heard(placet, made.id) == ["held"]
        last = await agent(run.agent_id).run("last", user="alice")
        assert await runs_of(placet, run.agent_id) == [run.id, between.id, made.id, last.id]


@pytest.mark.parametrize("how", ["abort", "failure"])
async def test_what_is_held_when_a_run_is_aborted_or_fails_is_returned_as_undelivered(
    parts: Parts, how: str
) -> None:
    async with system([deaf(Ledger())], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "done"), user="alice")
        await asked(placet, run)
        await placet.client.agent(run.agent_id).message("one", user="alice")
        if how == "abort":
            run = await run.abort()
        else:
            await eventually(lambda: parked(placet, run.id))
            doomed = {"$set": {"tries": MAX_TRIES, "wake": True}}
            await placet.runner.runs._runs.update(run.id, {}, doomed)
            await placet.runner.replica.take_up(run.id)
            await placet.stands(run.id, "failed")
        run = await run.refresh()
        assert [message.text for message in run.undelivered] == ["one"]
        assert await runs_of(placet, run.agent_id) == []


async def test_a_second_run_goes_on_with_the_conversation_and_an_agent_works_on_one_at_a_time(
    parts: Parts,
) -> None:
    def counts(conversation: Conversation) -> ModelReply:
        said = [turn.text for turn in conversation.turns if turn.role == "user"]
        if said[-1] == "ask":
            done = conversation.turns[-1].role == "results"
            return says("|".join(said)) if done else calls(DROP)
        return says("|".join(said))

    ledger = Ledger()
    worker = Agent("ops", model=ScriptedModel(counts), tools=tools(ledger))
    async with system([worker], parts) as placet:
        first = await placet.client.agent("ops").run("one", user="alice")
        agent = placet.client.agent(first.agent_id)
        second = await agent.run("ask", user="alice")
        assert second.status == RunStatus.INPUT_REQUIRED
        third = await agent.start("instead", user="alice")
        assert third.id == second.id, "a busy agent gets it as a message"
        await placet.stands(second.id, "completed")
        fourth = await agent.run("four", user="alice")
        assert fourth.text == "one|ask|instead|four"
        assert ledger.executions == []
        other = await placet.client.agent("ops").run("alone", user="alice")
        assert (other.text, other.agent_id != first.agent_id) == ("alone", True)


async def test_the_same_key_after_later_runs_is_the_same_run_and_moves_nothing(
    parts: Parts,
) -> None:
    async with system([alone(Ledger())], parts) as placet:
        first = await placet.client.agent("ops").run("one", user="alice")
        agent = placet.client.agent(first.agent_id)
        second = await agent.run("two", user="alice", key="k")
        third = await agent.run("three", user="alice")
        again = await agent.run("two", user="alice", key="k")
        assert again.id == second.id
        fourth = await agent.run("four", user="alice")
        assert (await placet.image(fourth.id)).document["after_run_id"] == third.id
        with pytest.raises(Conflict):
            await agent.start("another text", user="alice", key="k")


async def test_cp_18_an_approved_call_does_not_run_again_in_later_turns(parts: Parts) -> None:
    ledger = Ledger()
    async with system([alone(ledger)], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "done"), user="alice")
        [waiting] = await asked(placet, run)
        run = await waiting.answer(True, from_="alice")
        for word in ("one", "two", "three"):
            later = await placet.client.agent(run.agent_id).run(word, user="alice")
            assert later.status == RunStatus.COMPLETED
        assert ledger.executions == [DROP]


async def test_a_message_by_somebody_else_ends_grants_and_later_inputs_are_for_the_sender(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([alone(ledger)], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], [WIRE], "never"), user="alice")
        [waiting] = await asked(placet, run)
        granted = {"decision": "approved", "scope": "run", "grant": "named"}
        run = await waiting.answer(granted, from_="alice")
        [wiring] = await asked(placet, run)
        await placet.client.agent(run.agent_id).message(plan([DROP], "bob is done"), user="bob")
        await eventually(lambda: placet_asks_bob(placet, run.id))
        [again] = await asked(placet, run)
        assert again.value.request.audience.initiator == "bob"
        assert await state(placet, wiring.id) == InputState.SUPERSEDED
        with pytest.raises(NotAllowed):
            await again.settle("accept", True, from_="alice")
        run = await again.answer(True, from_="bob")
        assert (run.text, ledger.executions) == ("bob is done", [DROP, DROP])


async def test_a_message_to_a_root_closes_what_its_children_ask_and_then_runs_in_the_root(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        below = deep("leaf", then=plan([DROP], [LOOK], "went on"))
        text = plan([to(("middle", below), ("lower", plan([DROP], "too"))), WIRE], "never")
        run = await placet.client.agent("root").run(text, user="alice")
        waiting = await asked(placet, run, 3)
        await placet.client.agent(run.agent_id).message("stop that", user="alice")
        image = await placet.stands(run.id, "completed")
        assert image.document["text"] == "heard stop that"
        for each in waiting:
            assert await state(placet, each.id) == InputState.SUPERSEDED
        [result] = told(image)
        assert [each["text"] for each in result["content"]] == ["leaf is done", "too"]
        leaf = await placet.image(child_id(child_id(run.id)))
        assert [r["content"] for r in told(leaf, "drop")] == [SUPERSEDED]
        assert ledger.executions == [LOOK], "the children went on, and nothing that asked ran"
        assert [r["content"] for r in told(image, "wire")] == [SUPERSEDED]


async def test_a_queued_message_leaves_what_children_ask_open(parts: Parts) -> None:
    async with system(family(Ledger()), parts) as placet:
        text = plan([to(("leaf", plan([DROP], "x")))], "never")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        await placet.client.agent(run.agent_id).message("later", user="alice", mode="queue")
        run = await waiting.answer(True, from_="alice")
        assert (run.status, run.text) == (RunStatus.COMPLETED, "heard later")


async def test_a_hush_that_was_lost_is_told_again_by_the_sweep(parts: Parts) -> None:
    async with system(family(Ledger()), parts, sweep_seconds=0.05) as placet:
        text = plan([to(("leaf", plan([DROP], "x")))], "never")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        lost = await stopped_commands(placet)
        await placet.client.agent(run.agent_id).message("stop that", user="alice")
        await placet.settled_outboxes(run.id)
        await lost(placet)
        assert await state(placet, waiting.id) == InputState.PENDING
        await sweep_now(placet, run.id)
        image = await placet.stands(run.id, "completed")
        assert image.document["text"] == "heard stop that"


async def test_nobody_but_runners_tells_a_run_to_be_quiet(parts: Parts) -> None:
    async with system([alone(Ledger())], parts) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "x"), user="alice")
        [waiting] = await asked(placet, run)
        hush = Message(id="msg_1", text="", mode="hush")
        command = RunCommand(command=CommandName.MESSAGE, run_id=run.id, message=hush)
        await publish(placet, "placet-notifier", "placet.runs", "message", command)
        await eventually(dead_with(placet, "hush"))
        assert await state(placet, waiting.id) == InputState.PENDING


async def parked(placet: System, run_id: str) -> bool:
    image = await placet.image(run_id)
    return image.lease_op is None and not image.wake


async def two(placet: System, agent_id: str) -> list[str] | None:
    found = await runs_of(placet, agent_id)
    return found if len(found) == 2 else None


async def three(placet: System, agent_id: str) -> list[str] | None:
    found = await runs_of(placet, agent_id)
    return found if len(found) == 3 else None


async def in_inbox(placet: System, run_id: str, message_id: str) -> bool:
    return message_id in [each["id"] for each in (await placet.image(run_id)).inbox]


async def placet_asks_bob(placet: System, run_id: str) -> bool:
    inputs = (await placet.client.runs.get(run_id)).inputs
    return [each.value.request.audience.initiator for each in inputs] == ["bob"]


def next_birth(image: Image, after: str, agent_id: str) -> Birth:
    """What the next turn was made from, as the run before it said."""
    said = [e for e in image.document["journal"] if e["type"] == "message.received"]
    messages = tuple(Message(id=e["id"], text=e["text"], sender=e["sender"]) for e in said)
    return Birth(
        agent="ops", agent_id=agent_id, messages=messages, initiator="alice", after_run_id=after
    )
