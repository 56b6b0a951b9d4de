"""What the runner believes: messages of its own kind, from those who may send them, about what it asked."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from placet.bus.port import Outgoing
from placet.domain.interaction import InputState
from placet.domain.outcome import Outcome
from placet.domain.resolution import Resolution
from placet.domain.run import Message, RunStatus
from placet.ids import new_id
from placet.messages import CommandName, RunCommand
from placet.messages.wire import encode, name_of
from placet.process.platform import Buses, Databases
from tests.integration.runner.agents import Ledger, agent, once
from tests.support.eventually import eventually
from tests.support.system import System, deploy, system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
DROP: tuple[str, dict[str, object]] = ("drop", {"name": "staging"})


async def publish(placet: System, sender: str, exchange: str, key: str, message: BaseModel) -> None:
    bus = placet.platform.bus(sender)
    await bus.open()
    await bus.publish(Outgoing(exchange, key, name_of(message), encode(message), new_id("evt")))


def dead_with(placet: System, word: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return any(
            word in letter.reason for letter in await placet.platform.bus("placet-runner").dead()
        )

    return look


def yes(run_id: str, input_id: str, digest: str) -> Resolution:
    outcome = Outcome(state=InputState.ANSWERED, content=True, decision="approved", scope="once")
    at = datetime.now(UTC)
    return Resolution(input_id=input_id, run_id=run_id, digest=digest, outcome=outcome, at=at)


async def test_a_resolution_that_is_not_the_broker_s_is_refused_and_nothing_runs(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        forged = yes(run.id, run.inputs[0].id, run.inputs[0].value.request.digest)
        await publish(placet, "placet-notifier", "placet.resolutions", "resolution", forged)
        await eventually(dead_with(placet, "not by placet-broker"))
        assert ledger.executions == []
        assert (await placet.image(run.id)).status == RunStatus.INPUT_REQUIRED


async def test_a_resolution_of_another_digest_is_refused_and_nothing_runs(parts: Parts) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        other = yes(run.id, run.inputs[0].id, "sha256:" + "0" * 64)
        await publish(placet, "placet-broker", "placet.resolutions", "resolution", other)
        await eventually(dead_with(placet, "digest"))
        assert ledger.executions == []


async def test_a_resolution_of_an_unknown_run_is_a_dead_letter(parts: Parts) -> None:
    async with system([], parts) as placet:
        await publish(
            placet,
            "placet-broker",
            "placet.resolutions",
            "resolution",
            yes("run_none", "inp_none", ""),
        )
        await eventually(dead_with(placet, "run_none"))


async def test_a_message_over_the_bus_reaches_the_run_once(parts: Parts) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        said = Message(id="msg_once", text="stop that", sender="alice")
        command = RunCommand(command=CommandName.MESSAGE, run_id=run.id, message=said)
        for _ in range(3):
            await publish(placet, "placet-notifier", "placet.runs", "message", command)
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        heard = [e for e in image.document["journal"] if e["type"] == "message.received"]
        assert [e["text"] for e in heard] == ["go", "stop that"]
        assert ledger.executions == []


async def test_commands_in_any_order_and_number_end_the_run_once(parts: Parts) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        wake = RunCommand(command=CommandName.WAKE, run_id=run.id)
        abort = RunCommand(command=CommandName.ABORT, run_id=run.id, by="alice")
        start = RunCommand(command=CommandName.START, run_id=run.id)
        for command in (wake, abort, start, wake, abort):
            await publish(placet, "placet-runner", "placet.runs", command.command.value, command)
        image = await placet.stands(run.id, RunStatus.CANCELLED)
        ends = [e for e in image.document["journal"] if e["type"] == "run.cancelled"]
        assert len(ends) == 1
        assert ledger.executions == []


async def test_a_lost_request_is_asked_again_and_a_lost_close_too(parts: Parts) -> None:
    """The sweeps: what a lost queue swallowed comes again from the run's document."""
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts, sweep_seconds=0.1) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await placet.settled_outboxes(run.id)
        await eventually(lambda: placet.client.input(run.inputs[0].id))
        await placet.broker.interactions.collection.delete(run.inputs[0].id, {})
        past = datetime(2020, 1, 1, tzinfo=UTC)
        image = await placet.image(run.id)
        waiting = [e | {"ask_again_at": past} for e in image.waiting]
        collection = placet.runner.runs._runs
        await collection.update(run.id, {}, {"$set": {"waiting": waiting, "due": past}})
        run = await run.refresh()
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert len(ledger.executions) == 1


async def test_a_question_about_a_tool_that_is_gone_is_withdrawn(parts: Parts) -> None:
    ledger = Ledger()
    both = agent(ledger, *once(DROP, ("wire", {"amount": 1})))
    async with system([both], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        deploy(both, [tool for name, tool in both.toolbox.items() if name != "drop"])
        await placet.client.agent(run.agent_id).message("hurry", user="alice", mode="queue")
        dropping, wiring = run.inputs
        await wiring.settle("accept", True, from_="alice")
        await dropping.settle("accept", True, from_="alice")
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        told = {
            e["result"]["tool"]: e["result"]
            for e in image.document["journal"]
            if e["type"] == "tool.finished"
        }
        assert told["drop"]["outcome"] == "refused"
        assert "does not exist any more" in told["drop"]["content"]
        assert ledger.executions == [("wire", {"amount": 1})]
