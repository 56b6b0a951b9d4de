"""Grants: a yes for more than one call, what it covers, what it never does, and taking it back."""

import asyncio
from typing import Any

import pytest

from placet import Agent
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says, steps
from placet.client import Run
from placet.domain.run import RunStatus
from placet.errors import Conflict, NotFound
from placet.kernel.turns import ModelReply
from tests.integration.runner.agents import Ledger, agent, tools
from tests.integration.runner.book import NOW, Book, answer, must
from tests.integration.runner.test_loop import results
from tests.integration.runner.test_rows import intent
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration

NAMED = {"decision": "approved", "scope": "run", "grant": "named"}
EXACT = {"decision": "approved", "scope": "run"}


def wires(*amounts: int) -> ModelReply:
    wanted: list[tuple[str, dict[str, object]]] = [("wire", {"amount": a}) for a in amounts]
    return calls(*wanted)


def wired(ledger: Ledger) -> list[Any]:
    return [args["amount"] for tool, args in ledger.executions if tool == "wire"]


async def standing(placet: System, run: Run) -> Run:
    """The run once it stands still."""
    return await placet.client.runs.wait(run.id)


async def test_a_named_grant_covers_later_calls_of_the_run_and_counts_them() -> None:
    ledger = Ledger()
    async with system([agent(ledger, wires(1), wires(2), says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(NAMED, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert wired(ledger) == [1, 2]
        [grant] = await placet.client.runs.grants(run.id)
        assert (grant.scope, grant.uses, grant.by and grant.by.id) == ("run", 1, "alice")


async def test_a_grant_for_a_risky_tool_covers_exactly_that_call_unless_it_is_said_to_be_named() -> (
    None
):
    ledger = Ledger()
    async with system([agent(ledger, wires(1), wires(1), wires(2), says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.inputs[0].value.request.options[2] == "Allow exactly this call for this run"  # type: ignore[union-attr]
        run = await run.inputs[0].answer(EXACT, from_="alice")
        assert wired(ledger) == [1, 1]
        assert run.status == RunStatus.INPUT_REQUIRED, "another amount asks"


async def test_once_grants_nothing() -> None:
    ledger = Ledger()
    async with system([agent(ledger, wires(1), wires(1), says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert await placet.client.runs.grants(run.id) == []


async def test_ap23_a_grant_releases_the_siblings_that_it_covers_and_no_other() -> None:
    ledger = Ledger()
    five: list[tuple[str, dict[str, object]]] = [("wire", {"amount": 5})] * 5
    turn = calls(*five, ("drop", {"name": "staging"}))
    async with system([agent(ledger, turn, says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert len(run.inputs) == 6
        await run.inputs[0].settle("accept", EXACT, from_="alice")

        async def released() -> bool:
            image = await placet.image(run.id)
            return len(ledger.executions) == 5 and len(image.open) == 1

        await eventually(released)
        run = await standing(placet, run)
        [left] = run.inputs
        assert left.value.request.call.tool == "drop"  # type: ignore[union-attr]
        assert wired(ledger) == [5] * 5
        run = await left.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        outcomes = dict(results(await placet.image(run.id)))
        assert list(outcomes.values()) == ["ok"] * 6


async def test_a_sibling_that_was_denied_first_does_not_run_when_a_grant_would_cover_it() -> None:
    ledger = Ledger()
    async with system([agent(ledger, wires(5, 5), says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await run.inputs[1].settle("decline", from_="alice")
        run = await run.inputs[0].answer(EXACT, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert wired(ledger) == [5]
        assert dict(results(await placet.image(run.id))) == {"call_1_1": "ok", "call_1_2": "denied"}


async def test_ap96_a_grant_of_one_run_is_no_grant_of_another() -> None:
    ledger = Ledger()
    async with system([agent(ledger, wires(1), says("done"))]) as placet:
        ops = placet.client.agent("ops")
        run = await ops.run("go", user="alice")
        await run.inputs[0].answer(NAMED, from_="alice")
        again = await ops.run("go", user="alice")
        assert again.status == RunStatus.INPUT_REQUIRED


async def test_a_revoked_grant_covers_nothing_any_more_and_says_who_took_it_back() -> None:
    ledger = Ledger()
    turns = [wires(1), wires(2), calls(("drop", {"name": "x"})), wires(3), says("done")]
    async with system([agent(ledger, *turns)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(NAMED, from_="alice")
        [grant] = await placet.client.runs.grants(run.id)
        taken = await placet.client.runs.revoke_grant(run.id, grant.id)
        assert taken.revoked_at is not None
        assert taken == await placet.client.runs.revoke_grant(run.id, grant.id), "again is harmless"
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED, "the third transfer asks again"
        assert wired(ledger)[:2] == [1, 2]


async def test_a_grant_that_is_taken_back_while_the_model_thinks_does_not_cover_what_it_then_wants() -> (
    None
):
    ledger, model = Ledger(), Thinking(wires(1), wires(2), says("done"))
    async with system([Agent("ops", model=model, tools=tools(ledger))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await run.inputs[0].settle("accept", NAMED, from_="alice")
        await model.thinking.wait()
        [grant] = await placet.client.runs.grants(run.id)
        await placet.client.runs.revoke_grant(run.id, grant.id)
        model.may_reply.set()
        run = await standing(placet, run)
        assert wired(ledger) == [1]
        assert run.status == RunStatus.INPUT_REQUIRED, "it asks again"


async def test_a_grant_that_is_taken_back_before_a_sibling_starts_does_not_start_it(
    book: Book,
) -> None:
    parked = await book.parked()
    read = await book.now(parked)
    await book.runs.revoke(parked.id, "grt_1", "alice", NOW)
    assert await book.runs.resume(read, answer(parked), intent(), "here", "op_2") is None
    again = await book.now(parked)
    must(await book.runs.resume(again, answer(parked), intent(), "here", "op_3"))


class Thinking:
    """A model whose second reply takes until it may come."""

    name = "thinking"

    def __init__(self, *replies: ModelReply) -> None:
        self._script = steps(*replies)
        self.thinking, self.may_reply = asyncio.Event(), asyncio.Event()

    async def reply(self, conversation: Conversation) -> ModelReply:
        if any(turn.role == "model" for turn in conversation.turns):
            self.thinking.set()
            await self.may_reply.wait()
        return self._script(conversation)


async def test_what_can_not_be_revoked_is_named() -> None:
    async with system([agent(Ledger(), wires(1), says("done"))]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        with pytest.raises(NotFound, match="no grant 'grt_x'"):
            await placet.client.runs.revoke_grant(run.id, "grt_x")
        with pytest.raises(NotFound):
            await placet.client.runs.grants("run_x")
        run = await run.inputs[0].answer(NAMED, from_="alice")
        [grant] = await placet.client.runs.grants(run.id)
        with pytest.raises(Conflict, match="has ended"):
            await placet.client.runs.revoke_grant(run.id, grant.id)
