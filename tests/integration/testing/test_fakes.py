"""The fakes that people test their own agents with."""

from datetime import timedelta

import pytest

from placet import Agent, Context, InteractionPoint, Stage, ToolRisk, tool
from placet.errors import Conflict, Invalid
from placet.testing import FakePerson, ScriptedModel, calls, embedded, says, steps

pytestmark = pytest.mark.integration

DROP = ("drop_database", {"name": "staging"})


class Database:
    """What the tool works on."""

    def __init__(self) -> None:
        self.dropped: list[str] = []

    def agent(self, *replies: object, **fields: object) -> Agent:
        @tool(risk=ToolRisk.CRITICAL)
        def drop_database(name: str) -> str:
            """Drop a database."""
            self.dropped.append(name)
            return f"dropped {name}"

        @tool
        async def ask_region(ctx: Context) -> str:
            """Ask for a region."""
            return await ctx.ask_text("Which region?") or "none"

        script = steps(*replies) if replies else steps(calls(DROP), says("Done."))  # type: ignore[arg-type]
        tools = [drop_database, ask_region]
        return Agent("ops", model=ScriptedModel(script), tools=tools, **fields)  # type: ignore[arg-type]


async def test_a_person_who_approves_lets_the_call_run_in_both_runtimes() -> None:
    here, there = Database(), Database()
    person = FakePerson("alice")
    person.on(tool="drop_database").approves()
    result = await here.agent().run("go", approval_handler=person, user="alice")
    assert (result.status, here.dropped) == ("completed", ["staging"])
    async with embedded(there.agent(), person=person) as placet:
        run = await placet.run("ops", "go")
        assert (run.status, there.dropped) == ("completed", ["staging"])
    assert [each.kind for each in person.asked] == ["tool_approval"] * 2


async def test_a_person_who_denies_gives_the_reason_to_the_model() -> None:
    database, person = Database(), FakePerson()
    person.on(tool="drop_database").denies("not on a Friday")
    async with embedded(database.agent(), person=person) as placet:
        run = await placet.run("ops", "go")
        told = [e for e in await placet.client.runs.journal(run.id) if e["type"] == "tool.finished"]
    assert told[0]["result"]["content"] == "Denied by alice: not on a Friday"
    assert database.dropped == []


async def test_a_person_who_never_answers_leaves_the_run_waiting_until_the_deadline_has_passed() -> (
    None
):
    database, person = Database(), FakePerson()
    person.on().never()
    async with embedded(database.agent(), person=person) as placet:
        run = await placet.run("ops", "go")
        assert run.status == "input_required"
        run = await placet.turn(run, timedelta(days=6))
        assert run.status == "input_required"
        run = await placet.turn(run, timedelta(days=2))
        assert run.status == "completed"
    assert database.dropped == []


async def test_a_person_who_is_late_answers_once_the_clock_was_turned() -> None:
    database, person = Database(), FakePerson()
    person.on(tool="drop_database").approves().late(timedelta(hours=3))
    async with embedded(database.agent(), person=person) as placet:
        run = await placet.run("ops", "go")
        assert run.status == "input_required"
        placet.clock.turn(timedelta(hours=3))
        run = await placet.go_on(run)
        assert (run.status, database.dropped) == ("completed", ["staging"])


async def test_a_wrong_answer_is_refused_and_the_next_one_counts() -> None:
    database, person = Database(), FakePerson()
    person.on(tool="drop_database").answers("sure").answers(True)
    async with embedded(database.agent(), person=person) as placet:
        assert (await placet.run("ops", "go")).status == "completed"
    assert [type(each.problem) for each in person.replies] == [Invalid, type(None)]


async def test_a_second_answer_learns_that_the_first_one_stands() -> None:
    database, person = Database(), FakePerson()
    person.on(tool="drop_database").answers(True).answers(True).answers(False)
    async with embedded(database.agent(), person=person) as placet:
        assert (await placet.run("ops", "go")).status == "completed"
    assert [type(each.problem) for each in person.replies] == [type(None), type(None), Conflict]
    assert database.dropped == ["staging"]


async def test_a_question_without_a_rule_is_a_mistake_of_the_test() -> None:
    database, person = Database(), FakePerson()
    person.on(tool="send_mail").approves()
    async with embedded(database.agent(), person=person) as placet:
        with pytest.raises(AssertionError, match="no rule for the tool_approval"):
            await placet.run("ops", "go")


async def test_rules_go_by_kind_and_by_what_a_message_says() -> None:
    person = FakePerson()
    person.on(kind="free_text", says="region").answers("eu")
    person.on(kind="multiple_choice").answers("Approve")
    point = InteractionPoint(name="ok", prompt="All right?", options=["Approve", "Abort"])
    plan = Stage(name="plan", mode="interactive_points", interaction_points=[point])
    agent = Database().agent(calls(("ask_region", {})), says("eu it is"), stages=[plan])
    assert (await agent.run("go", interaction_handler=person)).text == "eu it is"
    async with embedded(agent, person=person) as placet:
        assert (await placet.run("ops", "go")).text == "eu it is"
    assert [each.kind for each in person.asked] == ["free_text", "multiple_choice"] * 2


@pytest.mark.parametrize("said", ["false", "denied"])
async def test_a_no_is_told_from_silence_in_both_runtimes(said: str) -> None:
    @tool
    async def sure(ctx: Context) -> str:
        """Ask whether."""
        yes = await ctx.confirm("Sure?")
        return f"{yes} {ctx.outcome}"

    def told(journal: list[dict[str, object]]) -> object:
        finished = next(e for e in journal if e["type"] == "tool.finished")
        return finished["result"]["content"]  # type: ignore[index]

    person = FakePerson("alice")
    rule = person.on(kind="confirm")
    rule.answers(False) if said == "false" else rule.denies()
    script = steps(calls(("sure", {})), says("Done."))
    agent = Agent("ops", model=ScriptedModel(script), tools=[sure])
    result = await agent.run("go", interaction_handler=person, user="alice")
    assert told([e.model_dump() for e in result.journal]) == "False declined"
    async with embedded(agent, person=person) as placet:
        run = await placet.run("ops", "go")
        assert told(await placet.client.runs.journal(run.id)) == "False declined"


async def test_a_person_who_declines_a_point_ends_the_run_in_both_runtimes() -> None:
    point = InteractionPoint(name="ok", prompt="All right?", options=["Approve", "Abort"])
    plan = Stage(name="plan", mode="interactive_points", interaction_points=[point])
    agent = Database().agent(says("the plan"), says("on"), stages=[plan, Stage(name="build")])
    person = FakePerson()
    person.on(kind="multiple_choice").denies()
    assert (await agent.run("go", interaction_handler=person)).status == "cancelled"
    async with embedded(agent, person=person) as placet:
        assert (await placet.run("ops", "go")).status == "cancelled"


async def test_a_yes_for_the_run_and_a_reason_count_in_both_runtimes() -> None:
    def made(database: Database) -> Agent:
        return database.agent(calls(DROP), calls(DROP), says("Done."))

    here, there, person = Database(), Database(), FakePerson("alice")
    rule = person.on(tool="drop_database").approves("run")
    await made(here).run("go", approval_handler=person, user="alice")
    assert (here.dropped, rule.uses) == (["staging"] * 2, 1)
    async with embedded(made(there), person=person) as placet:
        await placet.run("ops", "go")
    assert (there.dropped, rule.uses) == (["staging"] * 2, 2)

    nay = FakePerson("bob")
    nay.on(tool="drop_database").denies("not on a Friday")
    run = await Database().agent().run("go", approval_handler=nay, user="bob")
    [told] = [e.result.content for e in run.journal if e.type == "tool.finished"]
    assert told == "Denied by bob: not on a Friday"
