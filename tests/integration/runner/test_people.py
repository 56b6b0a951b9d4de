"""Whom a run asks: its rules travel with the question, hold below it, and count again when it starts."""

import pytest

from placet import Agent, Context, HumanInput, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps
from placet.domain.run import RunStatus
from placet.errors import NotAllowed
from tests.support.system import deploy, system

pytestmark = pytest.mark.integration

TWO = HumanInput(approvers=("ann", "bob"), tiers={"critical": {"quorum": 2}})
FOUR_EYES = HumanInput(approvers=("ann",), exclude_initiator=True)


class Bank:
    """An agent that sends money, and what was sent."""

    def __init__(self, human_input: HumanInput, **more: object) -> None:
        self.sent: list[int] = []

        @tool(risk=ToolRisk.CRITICAL)
        async def wire(ctx: Context, euros: int) -> str:
            """Send money."""
            self.sent.append(euros)
            return "sent"

        model = ScriptedModel(steps(calls(("wire", {"euros": 5})), says("done")))
        self.agent = Agent("bank", model=model, tools=[wire], human_input=human_input)


async def test_two_people_approve_a_call_of_a_run() -> None:
    bank = Bank(TWO)
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="zoe")
        run = await run.inputs[0].answer(True, from_="ann")
        assert (run.status, bank.sent) == (RunStatus.INPUT_REQUIRED, [])
        run = await run.inputs[0].answer(True, from_="bob")
        assert (run.status, bank.sent) == (RunStatus.COMPLETED, [5])


async def test_cp_36_who_started_a_run_does_not_approve_what_it_does() -> None:
    bank = Bank(FOUR_EYES)
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="zoe")
        with pytest.raises(NotAllowed) as refused:
            await run.inputs[0].answer(True, from_="zoe")
        assert refused.value.reason == "self_approval"
        assert bank.sent == []
        run = await run.inputs[0].decline("I was wrong", from_="zoe")
        assert (run.status, bank.sent) == (RunStatus.COMPLETED, [])


async def test_a_stricter_rule_that_came_meanwhile_asks_again() -> None:
    bank = Bank(HumanInput(approvers=("ann", "bob")))
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="zoe")
        first = run.inputs[0]
        deploy(bank.agent, human_input=TWO)
        run = await first.answer(True, from_="ann")
        assert (run.status, bank.sent) == (RunStatus.INPUT_REQUIRED, [])
        (again,) = run.inputs
        assert again.id != first.id
        assert again.value.request.policy.quorum == 2
        run = await again.answer(True, from_="ann")
        run = await again.answer(True, from_="bob")
        assert (run.status, bank.sent) == (RunStatus.COMPLETED, [5])


async def test_a_looser_rule_that_came_meanwhile_takes_what_was_asked() -> None:
    bank = Bank(TWO)
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="zoe")
        deploy(bank.agent, human_input=HumanInput(approvers=("ann", "bob")))
        waiting = run.inputs[0]
        run = await waiting.answer(True, from_="ann")
        assert run.status == RunStatus.INPUT_REQUIRED, "the question is as it was put"
        run = await waiting.answer(True, from_="bob")
        assert (run.status, bank.sent) == (RunStatus.COMPLETED, [5])


async def test_ap_92_a_run_below_needs_as_many_as_the_one_above_it() -> None:
    bank = Bank(HumanInput())
    task = {"agent": "bank", "message": "Pay"}
    model = ScriptedModel(steps(calls(("delegate", {"tasks": [task]})), says("all done")))
    boss = Agent("boss", model=model, delegates=[bank.agent], human_input=TWO)
    async with system([boss, bank.agent]) as placet:
        run = await placet.client.agent("boss").run("Go", user="zoe")
        (asked,) = run.inputs
        request = asked.value.request
        assert (request.path, request.policy.quorum) == (("boss", "bank"), 2)
        assert request.audience.approvers == ("ann", "bob"), "else nobody could meet it"
        run = await asked.answer(True, from_="zoe")
        assert bank.sent == []
        run = await asked.answer(True, from_="ann")
        assert (run.status, bank.sent) == (RunStatus.COMPLETED, [5])
