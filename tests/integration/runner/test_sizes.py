"""What is large, or many: it is refused where it enters, and never keeps a run from going on."""

import pytest

from placet import Agent, Context, InteractionPoint, ScriptedModel, Stage, tool
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says
from placet.domain.run import RunStatus
from placet.errors import Invalid, TooLarge
from placet.kernel.turns import ModelReply
from placet.process.platform import Buses, Databases
from tests.integration.runner.agents import Ledger
from tests.integration.runner.family import DROP, asked, plan
from tests.integration.runner.test_talking import deaf, heard, two
from tests.support.eventually import eventually
from tests.support.system import system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]


def asking(tool_name: str, *asks: dict[str, str]) -> ScriptedModel:
    """Ask all of this at once, then be done."""

    def reply(conversation: Conversation) -> ModelReply:
        asked_already = any(turn.role == "model" for turn in conversation.turns)
        return says("done") if asked_already else calls(*((tool_name, each) for each in asks))

    return ScriptedModel(reply)


async def test_what_is_held_begins_the_next_run_however_large_it_is_in_all(parts: Parts) -> None:
    words = [f"{n} " + "\U0001f600" * 65_000 for n in range(12)]
    async with system([deaf(Ledger())], parts, sweep_seconds=0.05) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "done"), user="alice")
        [waiting] = await asked(placet, run)
        for word in words:
            await placet.client.agent(run.agent_id).message(word, user="alice")
        await waiting.answer(True, from_="alice")
        _, second = await eventually(lambda: two(placet, run.agent_id))
        assert await heard(placet, second) == words


async def test_a_question_that_no_message_holds_is_an_error_that_the_model_reads() -> None:
    @tool(read_only=True)
    async def show(ctx: Context) -> str:
        return str(await ctx.ask_text("Well?", body="\U0001f600" * 500_000))

    agent = Agent("ops", model=asking("show", {}), tools=[show])
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.status == RunStatus.COMPLETED
        [ended] = [
            e for e in await placet.client.runs.journal(run.id) if e["type"] == "tool.finished"
        ]
        assert "can't be asked" in ended["result"]["content"]


async def test_answers_that_a_run_could_not_hold_are_refused_and_others_taken() -> None:
    questions = [{"question": f"q{n}"} for n in range(32)]
    agent = Agent("ops", model=asking("ask_user_text", *questions), builtins=["ask_user_text"])
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        waiting = await asked(placet, run, len(questions))
        with pytest.raises(TooLarge, match="131072"):
            await waiting[0].settle("accept", "x" * 131_072, from_="alice")
        assert (await placet.client.input(waiting[0].id)).state == "pending"
        for each in waiting:
            await each.settle("accept", "x" * 130_900, from_="alice")
        await placet.stands(run.id, RunStatus.COMPLETED)


async def test_an_edited_text_that_could_not_be_shown_again_is_refused() -> None:
    point = InteractionPoint(
        name="p", prompt="So?", options=["Approve", "Edit"], edit_options=["Edit"]
    )
    stage = Stage(mode="interactive_points", interaction_points=[point])
    agent = Agent("ops", model=ScriptedModel(lambda _: says("text")), stages=[stage])
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer("Edit", from_="alice")
        for text in ("x" * 524_288, "\U0001f600" * 200_000):
            with pytest.raises(Invalid, match="524288"):
                await run.inputs[0].settle("accept", text, from_="alice")
        run = await run.inputs[0].answer("x" * 524_000, from_="alice")
        assert len(run.inputs[0].value.request.body or "") == 524_000
        run = await run.inputs[0].answer("Approve", from_="alice")
        assert run.status == RunStatus.COMPLETED


async def test_a_run_that_asks_more_than_it_can_hold_fails_at_once_and_says_why() -> None:
    @tool
    async def shows(ctx: Context, number: str) -> str:
        """Show a long text."""
        return str(await ctx.review_text(f"Text {number}", "x" * 520_000))

    agent = Agent(
        "ops", model=asking("shows", *({"number": str(n)} for n in range(32))), tools=[shows]
    )
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert (run.status, run.error and run.error.code) == (RunStatus.FAILED, "too_large")
        assert await placet.client.inbox("pending") == []


async def test_what_many_runs_below_say_fits_into_the_run_that_waits_for_them() -> None:
    told = {"tasks": [{"agent": "child", "message": "talk"}] * 8}
    child = Agent("child", model=ScriptedModel(lambda _: says("\U0001f600" * 120_000)))

    def reply(conversation: Conversation) -> ModelReply:
        turns = sum(turn.role == "model" for turn in conversation.turns)
        return says("done") if turns == 3 else calls(("delegate", told), ("delegate", told))

    root = Agent("root", model=ScriptedModel(reply), delegates=[child])
    async with system([root, child]) as placet:
        run = await placet.client.agent("root").run("go", user="alice")
        assert run.status == RunStatus.COMPLETED
        journal = await placet.client.runs.journal(run.id)
        [first, *_] = [e["result"]["content"] for e in journal if e["type"] == "tool.finished"]
        assert "32,768 characters" in str(first)


async def test_of_very_many_calls_in_one_turn_the_first_are_made_and_each_has_a_result() -> None:
    questions = [{"question": f"q{n}"} for n in range(40)]
    agent = Agent("ops", model=asking("ask_user_text", *questions), builtins=["ask_user_text"])
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        waiting = await asked(placet, run, 32)
        for each in waiting:
            await each.settle("accept", "yes", from_="alice")
        await placet.stands(run.id, RunStatus.COMPLETED)
        results = [
            e for e in await placet.client.runs.journal(run.id) if e["type"] == "tool.finished"
        ]
        assert len(results) == 32
        assert "at most 32 calls" in str(await placet.client.runs.journal(run.id))
