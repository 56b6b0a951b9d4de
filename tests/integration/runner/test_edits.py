"""An approver may change the arguments where the agent allows it: checked, judged again, and told."""

from collections.abc import Mapping
from typing import Any

import pytest

from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps
from placet.domain.run import RunStatus
from placet.errors import Invalid
from placet_runner.ports import Image
from tests.support.system import system

pytestmark = pytest.mark.integration


class Bank:
    """What was paid."""

    def __init__(self) -> None:
        self.paid: list[int] = []


def tier(args: Mapping[str, Any]) -> ToolRisk:
    return ToolRisk.CRITICAL if args["amount"] > 100 else ToolRisk.HIGH


def payer(bank: Bank, *amounts: int, **parts: Any) -> Agent:
    @tool(risk=tier)
    async def pay(ctx: Context, amount: int) -> str:
        """Pay."""
        bank.paid.append(amount)
        return f"paid {amount}"

    turns = [calls(("pay", {"amount": amount})) for amount in amounts]
    model = ScriptedModel(steps(*turns, says("done")))
    return Agent("ops", model=model, tools=[pay], **({"edits": True} | parts))


def edit(amount: Any, **more: Any) -> dict[str, Any]:
    return {"decision": "approved", "args": {"amount": amount}} | more


def told(image: Image) -> list[Any]:
    finished = [e["result"] for e in image.document["journal"] if e["type"] == "tool.finished"]
    return [result["content"] for result in finished]


async def test_the_changed_call_runs_and_the_model_is_told_what_ran() -> None:
    bank = Bank()
    async with system([payer(bank, 50)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(20), from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert bank.paid == [20]
        [result] = told(await placet.image(run.id))
        assert result["ran_with"] == {"amount": 20}
        assert result["result"] == "paid 20"


async def test_arguments_that_do_not_fit_are_refused_by_field_and_the_question_stays() -> None:
    bank = Bank()
    async with system([payer(bank, 50)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        with pytest.raises(Invalid) as refused:
            await run.inputs[0].answer(edit("much"), from_="alice")
        assert [error.pointer for error in refused.value.errors] == ["/args/amount"]
        odds: list[Any] = [[], "x", 3]
        for odd in odds:
            with pytest.raises(Invalid):
                await run.inputs[0].answer({"decision": "approved", "args": odd}, from_="alice")
        run = await run.inputs[0].answer(True, from_="alice")
        assert bank.paid == [50]


async def test_an_agent_that_does_not_allow_edits_refuses_them() -> None:
    bank = Bank()
    async with system([payer(bank, 50, edits=False)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        with pytest.raises(Invalid, match="can't be edited"):
            await run.inputs[0].answer(edit(20), from_="alice")


async def test_a_changed_call_of_a_higher_tier_is_asked_about_again() -> None:
    bank = Bank()
    async with system([payer(bank, 50)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        first = run.inputs[0]
        run = await first.answer(edit(500), from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert bank.paid == []
        [again] = run.inputs
        assert again.id != first.id
        request = again.value.request
        assert (request.risk, request.call.args) == (ToolRisk.CRITICAL, {"amount": 500})  # type: ignore[union-attr]
        run = await again.answer(True, from_="alice")
        assert bank.paid == [500]


async def test_a_denial_of_the_changed_call_stands() -> None:
    bank = Bank()
    async with system([payer(bank, 50)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(500), from_="alice")
        run = await run.inputs[0].decline(from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert bank.paid == []


async def test_a_scope_that_comes_with_a_change_grants_the_changed_call() -> None:
    bank = Bank()
    async with system([payer(bank, 50, 20, 50)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(20, scope="run"), from_="alice")
        assert bank.paid == [20, 20], "the second turn asks for exactly the granted call"
        assert run.status == RunStatus.INPUT_REQUIRED, "the first one was not what was granted"


async def test_the_same_arguments_are_no_change() -> None:
    bank = Bank()
    async with system([payer(bank, 50, edits=False)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(50), from_="alice")
        assert bank.paid == [50]
        assert told(await placet.image(run.id)) == ["paid 50"]
