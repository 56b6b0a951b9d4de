"""Attempts to do with one person's word what takes two, through what was allowed before or who spoke last."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from placet import Agent, Context, HumanInput, HumanInTheLoop, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps
from placet.client import Run
from placet.domain.run import RunStatus
from placet.errors import NotAllowed
from tests.support.eventually import eventually
from tests.support.system import System, deploy, system

pytestmark = pytest.mark.integration

ONE = HumanInput(approvers=("ann", "bob"))
TWO = HumanInput(approvers=("ann", "bob"), quorum=2)
FROM_CRITICAL = HumanInput(approvers=("ann", "bob"), tiers={"critical": {"quorum": 2}})
FOUR_EYES = HumanInput(approvers=("ann", "bob", "zoe"), exclude_initiator=True)
FOR_THE_RUN = {"decision": "approved", "scope": "run", "grant": "named"}


def tier(args: Mapping[str, Any]) -> ToolRisk:
    return ToolRisk.CRITICAL if args["euros"] > 10 else ToolRisk.HIGH


class Bank:
    """An agent that sends what it is told to, a sum for each model turn; more than ten is critical."""

    def __init__(self, human_input: HumanInput, *sums: int, trust: bool = False) -> None:
        self.sent: list[int] = []
        self.then: Callable[[], None] = lambda: None
        """What happens while the money is sent."""

        @tool(risk=tier)
        async def wire(ctx: Context, euros: int) -> str:
            """Send money."""
            self.sent.append(euros)
            self.then()
            return "sent"

        script = [calls(("wire", {"euros": euros})) for euros in sums]
        self.agent = Agent(
            "bank",
            model=ScriptedModel(steps(*script, says("done"))),
            tools=[wire],
            human_input=human_input,
            interventions=[HumanInTheLoop(enable_trust=True)] if trust else [],
        )


async def test_trust_of_one_person_does_not_reach_a_tier_that_takes_two() -> None:
    bank = Bank(FROM_CRITICAL, 5, 6, 5000, trust=True)
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="ann")
        run = await run.inputs[0].answer("trust", from_="ann")
        assert (run.status, bank.sent) == (RunStatus.INPUT_REQUIRED, [5, 6])
        asked = run.inputs[0].value.request
        assert (asked.policy.quorum, getattr(asked, "trust", None)) == (2, False)
        run = await run.inputs[0].answer(True, from_="ann")
        run = await run.inputs[0].answer(True, from_="bob")
        assert (run.status, bank.sent) == (RunStatus.COMPLETED, [5, 6, 5000])


@pytest.mark.parametrize(("trust", "answer"), [(True, "trust"), (False, FOR_THE_RUN)])
async def test_what_one_person_allowed_ends_where_a_rule_comes_to_take_two(
    trust: bool, answer: object
) -> None:
    bank = Bank(ONE, 5, 6, trust=trust)
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="ann")
        bank.then = lambda: deploy(bank.agent, human_input=TWO)
        run = await run.inputs[0].answer(answer, from_="ann")
        assert (run.status, bank.sent) == (RunStatus.INPUT_REQUIRED, [5])
        assert run.inputs[0].value.request.policy.quorum == 2


async def test_what_two_people_granted_holds_for_calls_that_take_two() -> None:
    bank = Bank(TWO, 5, 6)
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="zoe")
        run = await run.inputs[0].answer(FOR_THE_RUN, from_="ann")
        run = await run.inputs[0].answer(FOR_THE_RUN, from_="bob")
        assert (run.status, bank.sent) == (RunStatus.COMPLETED, [5, 6])


async def stands_asking(placet: System, run: Run, initiator: str) -> Run:
    """The run, once it asks for this person."""

    async def look() -> Run | None:
        found = await placet.client.runs.get(run.id)
        asked = [each.value.request.audience.initiator for each in found.inputs]
        return found if asked == [initiator] else None

    found: Run = await eventually(look)
    return found


async def test_who_started_a_run_does_not_approve_it_after_somebody_else_spoke() -> None:
    bank = Bank(FOUR_EYES, 5, 5)
    async with system([bank.agent]) as placet:
        run = await placet.client.agent("bank").run("Pay", user="zoe")
        await placet.client.agent(run.agent_id).message("How is it going?", user="bob")
        run = await stands_asking(placet, run, "bob")
        for author in ("zoe", "bob"):
            with pytest.raises(NotAllowed) as refused:
                await run.inputs[0].answer(True, from_=author)
            assert (refused.value.reason, bank.sent) == ("self_approval", [])
        run = await run.inputs[0].answer(True, from_="ann")
        assert bank.sent == [5]


async def test_who_started_a_run_does_not_approve_what_is_done_below_it_either() -> None:
    bank = Bank(FOUR_EYES, 5)
    task = {"agent": "bank", "message": "Pay"}
    asks = calls(("ask_user_text", {"question": "How much?"}))
    model = ScriptedModel(steps(asks, calls(("delegate", {"tasks": [task]})), says("all done")))
    boss = Agent("boss", model=model, delegates=[bank.agent], builtins=["ask_user_text"])
    async with system([boss, bank.agent]) as placet:
        run = await placet.client.agent("boss").run("Go", user="zoe")
        await placet.client.agent(run.agent_id).message("How is it going?", user="bob")
        run = await stands_asking(placet, run, "bob")
        assert run.inputs[0].value.request.path == ("boss", "bank")
        with pytest.raises(NotAllowed) as refused:
            await run.inputs[0].answer(True, from_="zoe")
        assert (refused.value.reason, bank.sent) == ("self_approval", [])
