"""What an attack on the gate found, each as it was tried."""

from collections.abc import Mapping
from typing import Any

import pytest

from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps
from placet.domain.label import Label
from placet.domain.run import RunStatus
from placet.kernel.turns import ModelReply
from tests.support.system import deploy, system

pytestmark = pytest.mark.integration

Wanted = tuple[str, dict[str, object]]
SECRET: Wanted = ("secret", {})


def tier(args: Mapping[str, Any]) -> ToolRisk:
    amount = args["amount"]
    if amount >= 1000:
        return ToolRisk.CRITICAL
    return ToolRisk.HIGH if amount >= 10 else ToolRisk.SAFE


class Desk:
    """What was paid, and the agents that pay."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.version = "1"

    def agent(self, *turns: ModelReply, **parts: Any) -> Agent:
        @tool(risk=tier)
        async def pay(ctx: Context, amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        @tool(risk=ToolRisk.HIGH, fingerprint=lambda _: self.version)
        async def row(ctx: Context, amount: int) -> str:
            """Change a row."""
            self.paid.append(amount)
            return "changed"

        @tool(outbound=False, label=Label.PRIVATE)
        async def secret(ctx: Context) -> str:
            """Read what is nobody's business."""
            return "s3cret"

        @tool(outbound=False, label=Label.PRIVATE)
        async def leaks(ctx: Context) -> str:
            """Fail with what it read."""
            raise RuntimeError("SSN 123-45-6789")

        @tool
        async def confirming(ctx: Context) -> str:
            """Ask, then act."""
            if await ctx.confirm("Really?"):
                self.paid.append(-1)
            return "done"

        model = ScriptedModel(steps(*turns, says("done")))
        return Agent("ops", model=model, tools=[pay, row, secret, leaks, confirming], **parts)


def pays(*amounts: int, name: str = "pay") -> ModelReply:
    wanted: list[Wanted] = [(name, {"amount": amount}) for amount in amounts]
    return calls(*wanted)


def edit(amount: int, **more: Any) -> dict[str, Any]:
    return {"decision": "approved", "scope": "run", "args": {"amount": amount}} | more


async def test_the_scope_of_an_edit_covers_exactly_the_changed_call() -> None:
    desk = Desk()
    async with system([desk.agent(pays(20), pays(9000), edits=True)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(5), from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED, "another amount asks"
        assert desk.paid == [5]
        [grant] = await placet.client.runs.grants(run.id)
        assert grant.exact


async def test_an_edit_that_is_asked_about_again_grants_nothing_yet() -> None:
    desk = Desk()
    agent = desk.agent(pays(20), pays(6000), edits=True)
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(5000, grant="named"), from_="alice")
        assert await placet.client.runs.grants(run.id) == []
        run = await run.inputs[0].decline(from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED, "the larger payment asks as well"
        assert desk.paid == []


async def test_an_edit_raises_no_clearance_and_its_data_are_asked_about() -> None:
    desk = Desk()
    turn = calls(("pay", {"amount": 20}), SECRET)
    async with system([desk.agent(turn, pays(3), edits=True, taint=True)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(5), from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert "private data" in str(run.inputs[0].value.request.context["reason"])
        assert await placet.client.runs.grants(run.id) == []
        run = await run.inputs[0].decline(from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED, "the next one would send it too"
        assert desk.paid == []


async def test_an_error_keeps_the_label_of_its_tool() -> None:
    desk = Desk()
    async with system([desk.agent(calls(("leaks", {})), pays(3), taint=True)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert run.value.wait_reasons == ("taint_gate",)
        assert desk.paid == []


async def test_a_rule_that_asks_and_came_meanwhile_holds_for_a_call_that_waits_in_its_own_ask() -> (
    None
):
    desk = Desk()
    agent = desk.agent(calls(("confirming", {})))
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        deploy(agent, tool_permissions={"confirming": "ask"})
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert run.inputs[0].kind == "tool_approval"
        assert desk.paid == []
        run = await run.inputs[0].answer(True, from_="alice")
        assert desk.paid == [-1]


async def test_a_grant_given_with_a_yes_that_did_not_count_is_gone_with_it() -> None:
    desk = Desk()
    async with system([desk.agent(pays(1, name="row"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        desk.version = "2"
        run = await run.inputs[0].answer({"decision": "approved", "scope": "run"}, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        run = await run.inputs[0].decline(from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert desk.paid == []


async def test_a_resource_that_never_stands_still_is_not_asked_about_for_ever() -> None:
    desk = Desk()
    async with system([desk.agent(pays(1, name="row"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        asked = 0
        while run.status == RunStatus.INPUT_REQUIRED:
            asked += 1
            desk.version = f"{asked} and on"
            run = await run.inputs[0].answer(True, from_="alice")
        assert asked == 4
        assert desk.paid == []


async def test_an_edit_is_not_taken_for_a_change_of_the_resource() -> None:
    desk = Desk()
    async with system([desk.agent(pays(1, name="row"), edits=True)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(edit(2), from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert desk.paid == [2]


async def test_a_skipped_call_is_not_asked_about_for_ever() -> None:
    desk = Desk()
    async with system([desk.agent(*[pays(20)] * 12)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        asked = 0
        while run.status == RunStatus.INPUT_REQUIRED:
            asked += 1
            run = await run.inputs[0].answer({"decision": "skipped"}, from_="alice")
        assert asked == 4
        assert run.status == RunStatus.FAILED
        assert run.error
        assert run.error.code == "denied_loop"
