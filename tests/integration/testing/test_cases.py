"""Cases that approval systems got wrong, each as a person would meet it, in the durable runtime."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from placet import Agent, Context, RiskVerdict, ToolRisk, tool
from placet.agents import classifying
from placet.agents.models import Conversation
from placet.errors import Invalid
from placet.kernel.turns import ModelReply
from placet.testing import Embedded, FakePerson, ScriptedModel, calls, embedded, says, steps

pytestmark = pytest.mark.integration


class Ledger:
    """What tools did."""

    def __init__(self) -> None:
        self.done: list[tuple[str, dict[str, Any]]] = []

    def agent(self, *wanted: tuple[str, dict[str, Any]], **fields: Any) -> Agent:
        """An agent that makes these calls in one turn, and then says what came of them."""

        @tool(risk=ToolRisk.CRITICAL)
        def drop(name: str) -> str:
            """Drop a database."""
            self.done.append(("drop", {"name": name}))
            return f"dropped {name}"

        @tool
        def look(at: str) -> str:
            """Look at something."""
            self.done.append(("look", {"at": at}))
            return f"saw {at}"

        @tool
        async def token(ctx: Context, number: int) -> str:
            """Ask for a token."""
            mine = f"only the tool knows {number}"
            given = await ctx.ask_text(f"Token {number}?")
            self.done.append(("token", {"number": number, "given": given, "length": len(mine)}))
            return f"{number}: {given}"

        @tool
        def fails() -> str:
            """Fail."""
            raise ValueError("broken")

        script = steps(calls(*wanted), says("Done."))
        fields = {"model": ScriptedModel(script), **fields}
        return Agent("ops", tools=[drop, look, token, fails], **fields)


async def results(placet: Embedded, run_id: str) -> list[dict[str, Any]]:
    """The results that the model was told, in the order of the journal."""
    journal = await placet.client.runs.journal(run_id)
    return [entry["result"] for entry in journal if entry["type"] == "tool.finished"]


async def test_ap15_each_of_several_parallel_questions_has_an_id_of_its_own() -> None:
    ledger, person = Ledger(), FakePerson()
    person.on().never()
    asking = [("token", {"number": n}) for n in range(10)] + [("drop", {"name": "a"})] * 2
    async with embedded(ledger.agent(*asking), person=person) as placet:
        run = await placet.run("ops", "go")
    assert len({each.id for each in run.inputs}) == 12


async def test_ap17_cp23_every_call_of_a_turn_has_exactly_one_result_in_the_models_order() -> None:
    """Approved, denied, free, failing, and one that nobody answered in time."""
    ledger, person = Ledger(), FakePerson()
    person.on(matches=lambda r: r.message.endswith("yes?") or "yes" in str(r)).approves()
    person.on(matches=lambda r: "nope" in str(r)).denies()
    person.on().never()
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("drop", {"name": "yes"}),
        ("drop", {"name": "nope"}),
        ("look", {"at": "here"}),
        ("fails", {}),
        ("drop", {"name": "silence"}),
    ]
    seen: list[Conversation] = []

    def script(conversation: Conversation) -> ModelReply:
        seen.append(conversation)
        return calls(*wanted) if len(seen) == 1 else says("Done.")

    agent = ledger.agent(model=ScriptedModel(script))
    async with embedded(agent, person=person) as placet:
        run = await placet.run("ops", "go")
        assert [each.message for each in run.inputs] != []
        run = await placet.turn(run, timedelta(days=8))
        assert run.status == "completed"
    told = seen[-1].turns[-1]
    assert told.role == "results"
    assert [(each.call_id, each.outcome.value) for each in told.results] == [
        ("call_1_1", "ok"),
        ("call_1_2", "denied"),
        ("call_1_3", "ok"),
        ("call_1_4", "error"),
        ("call_1_5", "expired"),
    ]


async def test_ap25_a_hook_that_is_late_has_not_decided_and_nothing_has_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(classifying, "SECONDS", 0.05)
    ledger, person = Ledger(), FakePerson()
    person.on().never()
    judged: list[str] = []

    async def slow(call: Any) -> RiskVerdict:
        judged.append(str(call))
        if len(judged) == 2:
            await asyncio.Event().wait()
        return RiskVerdict(requires_human_in_the_loop=False)

    wanted = [("look", {"at": "one"}), ("look", {"at": "two"})]
    agent = ledger.agent(*wanted, classifier=slow)
    async with embedded(agent, person=person) as placet:
        run = await placet.run("ops", "go")
        assert [each.value.request.call.args for each in run.inputs] == [{"at": "two"}]  # type: ignore[union-attr]
    assert ledger.done == [("look", {"at": "one"})]


async def test_cp04_an_edit_changes_no_tool() -> None:
    ledger, person = Ledger(), FakePerson()
    person.on(tool="drop").answers(
        {"decision": "approved", "args": {"at": "here"}, "tool": "look"}
    ).answers({"decision": "approved", "call": {"tool": "look", "args": {"at": "here"}}})
    agent = ledger.agent(("drop", {"name": "a"}), edits=True)
    async with embedded(agent, person=person) as placet:
        run = await placet.run("ops", "go")
        assert run.status == "input_required"
    assert [type(each.problem) for each in person.replies] == [Invalid, Invalid]
    assert ledger.done == []


async def test_cp05_what_a_hook_does_to_the_arguments_is_neither_shown_nor_run() -> None:
    ran: list[int] = []

    def rewriting(args: Mapping[str, Any]) -> bool:
        args["amount"] = 50  # type: ignore[index]
        return True

    @tool(needs_approval=rewriting)
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return f"paid {amount}"

    person = FakePerson()
    person.on(tool="pay").approves()
    model = ScriptedModel(steps(calls(("pay", {"amount": 100})), says("Done.")))
    async with embedded(Agent("payer", model=model, tools=[pay]), person=person) as placet:
        await placet.run("payer", "go")
    assert [each.call.args for each in person.asked] == [{"amount": 100}]  # type: ignore[union-attr]
    assert ran == [100]


@pytest.mark.parametrize("handler", ["raises", "says nothing", "none"])
async def test_cp08_a_handler_that_fails_runs_nothing(handler: str) -> None:
    ledger = Ledger()

    async def raises(_: object) -> bool:
        raise RuntimeError("away")

    async def says_nothing(_: object) -> None:
        return None

    asks = {"raises": raises, "says nothing": says_nothing, "none": None}[handler]
    try:
        result = await ledger.agent(("drop", {"name": "a"})).run("go", approval_handler=asks)
    except RuntimeError:
        result = None
    assert result is None or result.status == "completed"
    assert ledger.done == []


async def test_cp08_no_answer_for_ten_times_the_deadline_runs_nothing() -> None:
    ledger, person = Ledger(), FakePerson()
    person.on().never()
    async with embedded(ledger.agent(("drop", {"name": "a"})), person=person) as placet:
        run = await placet.run("ops", "go")
        run = await placet.turn(run, timedelta(days=70))
        assert run.status == "completed"
        assert [each["outcome"] for each in await results(placet, run.id)] == ["expired"]
    assert ledger.done == []


async def test_cp12_an_always_of_one_run_lets_no_call_of_another_run_through() -> None:
    ledger, person = Ledger(), FakePerson()
    person.on(tool="drop").approves("run")
    agent = ledger.agent(("drop", {"name": "a"}))
    async with embedded(agent, person=person) as placet:
        first = await placet.run("ops", "go")
        second = await placet.client.agent("ops").run("go", user="alice")
        assert (first.status, second.status) == ("completed", "input_required")
    assert len(ledger.done) == 1


async def test_c17_a_call_that_was_declined_with_a_reason_never_runs_and_the_model_hears_both() -> (
    None
):
    ledger, person = Ledger(), FakePerson()
    person.on(tool="drop").denies("the backup is missing")
    async with embedded(ledger.agent(("drop", {"name": "a"})), person=person) as placet:
        run = await placet.run("ops", "go")
        [told] = await results(placet, run.id)
    assert (told["outcome"], told["content"]) == (
        "denied",
        "Denied by alice: the backup is missing",
    )
    assert ledger.done == []


async def test_c20_what_a_tool_knows_when_it_asks_goes_nowhere_but_into_its_question() -> None:
    """A tool has no state that travels: it runs again, so there is none to seal or to leak."""
    ledger, person = Ledger(), FakePerson()
    person.on(kind="free_text").answers("abc")
    async with embedded(ledger.agent(("token", {"number": 7})), person=person) as placet:
        run = await placet.run("ops", "go")
        shown = str(await placet.client.runs.journal(run.id))
        shown += str([each.value.model_dump() for each in await placet.client.inbox(None)])
    assert "only the tool knows" not in shown
    assert ledger.done == [("token", {"number": 7, "given": "abc", "length": 21})]


async def test_c32_no_question_stands_longer_than_thirty_days_unless_the_operator_says_for_ever() -> (
    None
):
    ledger, person = Ledger(), FakePerson()
    person.on().never()
    async with embedded(ledger.agent(("drop", {"name": "a"})), person=person) as placet:
        run = await placet.run("ops", "go")
        [waiting] = run.inputs
        latest = placet.clock.now() + timedelta(days=30)
        with pytest.raises(Invalid, match="30 days"):
            await waiting.extend(latest + timedelta(seconds=1), from_="alice")
        extended = await waiting.extend(latest, from_="alice")
        assert extended.value.request.expires_at == latest
