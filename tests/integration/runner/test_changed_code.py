"""A deploy under a run that waits: its prompt may change; of its tools a person sees what changed."""

from typing import Any

import pytest

from placet import Agent, Context, HumanInput, ScriptedModel, ToolRisk, tool
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says, steps
from placet.agents.tool import Tool
from placet.client import AsyncClient, Input, Run
from placet.domain.interaction import InputState, ReviewRequest
from placet.domain.run import RunStatus
from placet.errors import Invalid, NotAllowed
from placet.kernel.turns import ModelReply
from placet.process.platform import Buses, Databases
from placet_runner.rules.differences import described
from tests.integration.runner.agents import Ledger
from tests.integration.runner.family import asked, told
from tests.integration.test_invariants import let_expire
from tests.support.eventually import eventually
from tests.support.system import System, deploy, system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
SEND = ("send", {"to": "bob"})


def first(ledger: Ledger, description: str = "Send a letter.") -> Tool:
    async def send(ctx: Context, to: str) -> str:
        ledger.note(ctx, "send", to=to)
        return f"sent to {to}"

    send.__doc__ = description
    return tool(risk=ToolRisk.HIGH)(send)


def second(ledger: Ledger) -> Tool:
    async def send(ctx: Context, to: str, copies: int) -> str:
        """Send a letter."""
        ledger.note(ctx, "send", to=to, copies=copies)
        return f"sent {copies} to {to}"

    return tool(risk=ToolRisk.HIGH)(send)


def third(ledger: Ledger) -> Tool:
    async def send(ctx: Context, to: str, copies: int, urgent: bool = False) -> str:
        """Send a letter."""
        ledger.note(ctx, "send", to=to, copies=copies, urgent=urgent)
        return "sent"

    return tool(risk=ToolRisk.HIGH)(send)


def office(ledger: Ledger, *turns: Any, **parts: Any) -> Agent:
    replies = [calls(*turn) for turn in turns or ([SEND],)]
    model = ScriptedModel(steps(*replies, says("done")))
    return Agent("office", instructions="before", model=model, tools=[first(ledger)], **parts)


async def waits(placet: System, **options: Any) -> tuple[Run, Input]:
    run = await placet.client.agent("office").run("go", user="alice", **options)
    [waiting] = await asked(placet, run)
    return run, waiting


def review(each: Input) -> ReviewRequest:
    request = each.value.request
    assert isinstance(request, ReviewRequest)
    return request


async def changed(placet: System, ledger: Ledger) -> tuple[Run, Input]:
    """A run whose approved call meets another schema of its tool: it asks for a review."""
    agent = placet.runner.loaded.agents["office"]
    _, waiting = await waits(placet)
    deploy(agent, [second(ledger)])
    await placet.runner._schemas.keep(map(described, agent.toolbox.values()))
    run = await waiting.answer(True, from_="alice")
    assert (run.status, run.value.wait_reason) == (RunStatus.INPUT_REQUIRED, "review")
    [asks] = await asked(placet, run)
    return run, asks


async def test_cp_32_a_tool_that_a_deploy_adds_is_for_the_runs_after_it(parts: Parts) -> None:
    ledger = Ledger()
    offered: list[list[str]] = []

    def script(conversation: Conversation) -> ModelReply:
        offered.append([each.name for each in conversation.tools])
        return says("done") if conversation.turns[-1].role == "results" else calls(SEND)

    @tool
    def wipe() -> str:
        """Wipe everything."""
        return "wiped"

    agent = Agent("office", model=ScriptedModel(script), tools=[first(ledger)])
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet)
        deploy(agent, [first(ledger), wipe])
        run = await waiting.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        await placet.client.agent("office").start("again", user="alice")
        await eventually(lambda: len(offered) == 3)
    assert offered == [["send"], ["send"], ["send", "wipe"]]


async def test_cp_32_a_prompt_that_changed_changes_nothing_for_a_run_that_waits(
    parts: Parts,
) -> None:
    ledger = Ledger()
    agent = office(ledger)
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet)
        deploy(agent, instructions="after")
        run = await waiting.answer(True, from_="alice")
        assert (run.status, run.text) == (RunStatus.COMPLETED, "done")
        assert ledger.executions == [SEND]
        started = next(
            e
            for e in (await placet.image(run.id)).document["journal"]
            if e["type"] == "run.started"
        )
        assert started["instructions"] == "before", "it goes on with the prompt it began with"


async def test_cp_32_a_tool_with_another_schema_is_a_review_that_shows_the_difference(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([office(ledger)], parts) as placet:
        _, asks = await changed(placet, ledger)
        request = review(asks)
        assert request.outcomes == ("accept", "fail")
        assert '+    "copies": {' in (request.difference or "")
        assert ledger.executions == [], "what was approved was another tool"


async def test_cp_32_another_description_alone_is_a_review_too(parts: Parts) -> None:
    ledger = Ledger()
    agent = office(ledger)
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet)
        deploy(agent, [first(ledger, "Send a letter, and burn it.")])
        run = await waiting.answer(True, from_="alice")
        [asks] = await asked(placet, run)
        difference = review(asks).difference or ""
        assert "-Send a letter." in difference
        assert "+Send a letter, and burn it." in difference
        run = await asks.answer({"outcome": "accept"}, from_="alice")
        [again] = await asked(placet, run)
        run = await again.answer(True, from_="alice")
        assert (run.status, ledger.executions) == (RunStatus.COMPLETED, [SEND])


async def test_cp_32_accepting_brings_arguments_that_fit_and_asks_for_approval_anew(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([office(ledger)], parts) as placet:
        _, asks = await changed(placet, ledger)
        for bad in ({"to": "bob"}, {"to": "bob", "copies": "two"}, {"to": "bob", "more": 1}):
            with pytest.raises(Invalid) as unfit:
                await asks.settle("accept", {"outcome": "accept", "args": bad}, from_="alice")
            assert unfit.value.errors
        with pytest.raises(Invalid):
            await asks.settle("accept", {"outcome": "rerun"}, from_="alice")
        args = {"to": "bob", "copies": 2}
        run = await asks.answer({"outcome": "accept", "args": args}, from_="alice")
        [approval] = await asked(placet, run)
        assert approval.value.request.call.args == args  # type: ignore[union-attr]
        assert ledger.executions == []
        run = await approval.answer(True, from_="alice")
        assert (run.status, ledger.executions) == (RunStatus.COMPLETED, [("send", args)])
        [result] = told(await placet.image(run.id), "send")
        assert "copies" in str(result), "the model is told what ran"


async def test_cp_32_accepting_arguments_that_do_not_fit_any_more_is_told_to_the_model(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([office(ledger)], parts) as placet:
        _, asks = await changed(placet, ledger)
        run = await asks.answer({"outcome": "accept"}, from_="alice")
        assert run.status == RunStatus.COMPLETED
        [result] = told(await placet.image(run.id), "send")
        assert result["outcome"] == "error"
        assert ledger.executions == []


@pytest.mark.parametrize("how", ["fail", "decline", "expired"])
async def test_cp_32_a_review_that_nobody_accepts_fails_the_run(parts: Parts, how: str) -> None:
    ledger = Ledger()
    async with system([office(ledger)], parts) as placet:
        run, asks = await changed(placet, ledger)
        if how == "fail":
            await asks.settle("accept", {"outcome": "fail"}, from_="alice")
        elif how == "decline":
            await asks.settle("decline", from_="alice")
        else:
            await let_expire(placet, asks.id)
        image = await placet.stands(run.id, "failed")
        assert image.document["error"]["code"] == "definition_changed"
        assert ledger.executions == []


async def test_cp_32_an_unattended_run_asks_nobody_and_fails(parts: Parts) -> None:
    ledger = Ledger()
    agent = office(ledger)
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet, unattended="ask")
        deploy(agent, [second(ledger)])
        run = await waiting.answer(True, from_="alice")
        assert run.status == RunStatus.FAILED
        assert run.error is not None
        assert run.error.code == "definition_changed"


async def test_cp_32_a_second_deploy_meanwhile_asks_once_more_with_its_own_difference(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([office(ledger)], parts) as placet:
        agent = placet.runner.loaded.agents["office"]
        _, asks = await changed(placet, ledger)
        deploy(agent, [third(ledger)])
        await placet.runner._schemas.keep(map(described, agent.toolbox.values()))
        args = {"to": "bob", "copies": 2}
        run = await asks.answer({"outcome": "accept", "args": args}, from_="alice")
        waiting = await asked(placet, run)
        assert waiting[0].id != asks.id
        assert '+    "urgent": {' in (review(waiting[0]).difference or "")
        assert '+    "copies": {' not in (review(waiting[0]).difference or "")
        run = await waiting[0].answer({"outcome": "accept"}, from_="alice")
        [approval] = await asked(placet, run)
        run = await approval.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert ledger.executions == [("send", args | {"urgent": False})]


async def test_cp_32_a_deploy_that_is_taken_back_needs_no_review(parts: Parts) -> None:
    ledger = Ledger()
    agent = office(ledger)
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet)
        deploy(agent, [second(ledger)])
        deploy(agent, [first(ledger)])
        run = await waiting.answer(True, from_="alice")
        assert (run.status, ledger.executions) == (RunStatus.COMPLETED, [SEND])


async def test_cp_32_acceptance_ends_what_was_granted_for_the_tool_as_it_was(parts: Parts) -> None:
    ledger = Ledger()
    other = ("send", {"to": "eve"})
    agent = office(ledger, [SEND], [("ask", {})], [other])

    @tool
    async def ask(ctx: Context) -> str:
        """Wait for a person."""
        return "yes" if await ctx.confirm("Go on?") else "no"

    agent.tools = [first(ledger), ask]
    deploy(agent, agent.tools)
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet)
        granted = {"decision": "approved", "scope": "run", "grant": "named"}
        run = await waiting.answer(granted, from_="alice")
        [confirm] = await asked(placet, run)
        deploy(agent, [first(ledger, "Send it to all."), ask])
        run = await confirm.answer(True, from_="alice")
        [asks] = await asked(placet, run)
        assert asks.kind == "tool_approval", "a grant for the tool as it was covers nothing"
        assert ledger.executions == [SEND]


async def test_cp_32_a_review_is_for_its_approvers_or_the_scope_and_is_in_the_audit_history(
    parts: Parts,
) -> None:
    ledger = Ledger()
    agent = office(ledger, human_input=HumanInput(approvers=("carol",)))
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet)
        deploy(agent, [second(ledger)])
        run = await waiting.answer(True, from_="alice")
        [asks] = await asked(placet, run)
        answers = {"outcome": "accept", "args": {"to": "bob", "copies": 1}}
        async with await person(placet, "alice") as alice:
            with pytest.raises(NotAllowed):
                await (await alice.input(asks.id)).settle("accept", answers)
        async with await person(placet, "carol") as carol:
            settled = await (await carol.input(asks.id)).settle("accept", answers)
        assert settled.state == InputState.ANSWERED
        record = await placet.broker.interactions.get(asks.id)
        assert record is not None
        words = [entry["what"] for entry in record.history]
        assert words[0] == "opened"
        assert any("carol" in str(entry) for entry in record.history)


async def test_cp_32_tool_gone_its_ask_is_withdrawn_and_the_model_is_told(parts: Parts) -> None:
    ledger = Ledger()
    two = office(ledger, [SEND, ("wipe", {})])

    @tool(risk=ToolRisk.HIGH)
    async def wipe(ctx: Context) -> str:
        """Wipe it."""
        ledger.note(ctx, "wipe")
        return "wiped"

    deploy(two, [first(ledger), wipe])
    async with system([two], parts) as placet:
        run = await placet.client.agent("office").run("go", user="alice")
        sending, wiping = await asked(placet, run, 2)
        deploy(two, [wipe])
        granted = {"decision": "approved", "scope": "run", "grant": "named"}
        await wiping.settle("accept", granted, from_="alice")  # somebody looks at the run
        await eventually(lambda: withdrawn(placet, sending.id))
        image = await placet.stands(run.id, "completed")
        [result] = told(image, "send")
        assert result["outcome"] == "withdrawn"
        assert "tool_gone" in result["content"]
        resolution = (await placet.client.input(sending.id)).resolution
        assert resolution is not None
        assert resolution.outcome.reason == "tool_gone"
        assert ledger.executions == [("wipe", {})]


async def test_an_edit_of_a_call_whose_tool_has_changed_meanwhile_is_reviewed_before_it_is_judged(
    parts: Parts,
) -> None:
    ledger = Ledger()
    agent = office(ledger, edits=True)
    async with system([agent], parts) as placet:
        _, waiting = await waits(placet)
        deploy(agent, [second(ledger)])
        edit = {"decision": "approved", "args": {"to": "eve"}}
        run = await waiting.answer(edit, from_="alice")
        [asks] = await asked(placet, run)
        assert review(asks).call.args == {"to": "eve"}
        args = {"to": "eve", "copies": 1}
        run = await asks.answer({"outcome": "accept", "args": args}, from_="alice")
        [approval] = await asked(placet, run)
        run = await approval.answer(True, from_="alice")
        assert (run.status, ledger.executions) == (RunStatus.COMPLETED, [("send", args)])


async def withdrawn(placet: System, input_id: str) -> bool:
    return (await placet.client.input(input_id)).state == InputState.WITHDRAWN


async def person(placet: System, name: str) -> AsyncClient:
    """The client of somebody who may answer inputs."""
    key, _ = await placet.platform.auth.keys.create(
        namespace="default", name=name, person=name, scopes=("inputs:read", "inputs:answer")
    )
    return AsyncClient("http://127.0.0.1", key, transport=placet.client.transport._http._transport)
