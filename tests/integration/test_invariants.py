"""The invariants, by number, on SQLite in one process and on MongoDB and RabbitMQ."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from placet.agents.scripted import calls, says
from placet.bus.port import Ack, Delivery, Outgoing
from placet.domain.interaction import InputState
from placet.domain.resolution import Resolution
from placet.domain.run import RunStatus
from placet.errors import Conflict, NotAllowed
from placet.ids import new_id
from placet.kernel import fold, read_entry
from placet.messages import AnswerMessage
from placet.messages.wire import encode, name_of
from placet.process.platform import Buses, Databases
from placet_runner.ports import Image
from tests.integration.runner.agents import Ledger, agent, once
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
DROP: tuple[str, dict[str, object]] = ("drop", {"name": "staging"})


async def test_invariant_1_a_question_is_stored_before_anyone_hears_of_it(parts: Parts) -> None:
    heard: list[str] = []
    async with system([agent(Ledger(), *once(DROP))], parts) as placet:
        bus = placet.platform.bus("placet-notifier")
        await bus.open()

        async def hear(delivery: Delivery) -> Ack:
            if delivery.key.endswith("input.requested"):
                body = delivery.body.decode()
                found = await placet.client.inbox("pending")
                heard.extend(i.id for i in found if i.id in body)
            return Ack()

        listening = await bus.consume("placet.notifier.events", hear, prefetch=8)
        run = await placet.client.agent("ops").run("go", user="alice")
        await eventually(lambda: heard)
        assert heard == [run.inputs[0].id]
        await listening.stop()


async def test_invariant_2_no_gated_call_runs_without_a_valid_yes_of_somebody_allowed(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        with pytest.raises(NotAllowed):
            await known(placet, run.inputs[0].id, from_="mallory")
        assert ledger.executions == []
        run = await run.inputs[0].answer(True, from_="alice")
        (done,) = [e for e in await journal(placet, run.id) if e["type"] == "input.resolved"]
        assert done["resolution"]["by"]["id"] == "alice"


async def test_invariant_3_an_interaction_settles_once_and_every_later_answer_learns_how(
    parts: Parts,
) -> None:
    async with system([agent(Ledger(), *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        waiting = run.inputs[0]
        await eventually(lambda: pending(placet, waiting.id))

        async def answer(yes: bool) -> str:
            try:
                await waiting.settle("accept", yes, from_="alice")
            except Conflict as late:
                settled = late.body["input"]
                assert settled["state"] in ("answered", "declined")
                return "late"
            return "yes" if yes else "no"

        said = await asyncio.gather(*(answer(bool(n % 2)) for n in range(20)))
        assert len({word for word in said if word != "late"}) == 1, (
            "yes and no did not both settle it"
        )


async def test_invariant_4_a_settled_answer_reaches_its_run_although_no_message_did(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts, sweep_seconds=0.1) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await eventually(lambda: pending(placet, run.inputs[0].id))
        queue = placet.runner._running.pop("placet.runner.resolutions")
        await queue.stop()
        await run.inputs[0].settle("accept", True, from_="alice")
        image = await placet.image(run.id)
        await placet.runner.runs.record_answer(run.id, await resolution(placet, run.inputs[0].id))
        assert image.status == RunStatus.INPUT_REQUIRED
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert len(ledger.executions) == 1


async def test_invariant_5_an_approved_call_takes_effect_once_although_its_yes_comes_five_times(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("wire", {"amount": 7})))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(True, from_="alice")
        (asked,) = [e for e in await journal(placet, run.id) if e["type"] == "input.opened"]
        settled = await resolution(placet, asked["input_id"])
        for _ in range(5):
            await placet.runner.replica.take_answer(settled)
        assert ledger.executions == [("wire", {"amount": 7})]
        assert run.status == RunStatus.COMPLETED


async def test_invariant_6_every_model_call_has_one_reply_and_every_tool_call_one_result_in_order(
    parts: Parts,
) -> None:
    turn = calls(DROP, ("look", {}), ("wire", {"amount": 1}), ("fails", {}), ("nothing", {}))
    async with system([agent(Ledger(), turn, says("done"))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        first, second = run.inputs
        await eventually(lambda: pending(placet, second.id))
        await second.settle("decline", from_="alice")
        run = await first.answer(True, from_="alice")
        state = fold(map(read_entry, await journal(placet, run.id)))
        results = next(turn for turn in state.turns if turn.role == "results")
        assert [r.call_id for r in results.results] == [f"call_1_{n}" for n in range(1, 6)]
        assert [r.outcome for r in results.results] == ["ok", "ok", "denied", "error", "refused"]


async def test_invariant_7_a_finished_step_never_runs_again(parts: Parts) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("look", {}), DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert ledger.executions == [("look", {"at": "here"})]
        await run.inputs[0].answer(True, from_="alice")
        assert [name for name, _ in ledger.executions] == ["look", "drop"]


async def test_invariant_8_no_write_with_an_older_epoch_succeeds(parts: Parts) -> None:
    async with system([agent(Ledger(), *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        old = await placet.image(run.id)
        await run.inputs[0].answer(True, from_="alice")
        zombie = Image(old.document | {"lease": {"op": "op_zombie"}})
        assert await placet.runner.runs.park(zombie) is None
        assert await placet.runner.runs.renew(zombie) is None


async def test_invariant_9_a_suspended_run_holds_nothing(parts: Parts) -> None:
    async with system([agent(Ledger(), *once(DROP))], parts) as placet:
        ops = placet.client.agent("ops")
        await asyncio.gather(
            *(ops.run("go", user="alice") for _ in range(20))
        )  # channels open once
        await eventually(lambda: quiet(placet))
        tasks = len(asyncio.all_tasks())
        runs = [await ops.run("go", user="alice") for _ in range(20)]
        await eventually(lambda: quiet(placet))
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks + 2)
        for run in runs:
            assert (await placet.image(run.id)).lease_op is None
        assert placet.runner.replica._holders == {}


async def test_invariant_10_silence_is_no_yes_and_nobodys_no(parts: Parts) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await eventually(lambda: pending(placet, run.inputs[0].id))
        await let_expire(placet, run.inputs[0].id)
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        (done,) = [e for e in image.document["journal"] if e["type"] == "input.resolved"]
        assert done["resolution"]["outcome"]["state"] == "expired"
        assert done["resolution"].get("by") is None
        told = next(e for e in image.document["journal"] if e["type"] == "tool.finished")
        assert told["result"]["content"] == "Not run: nobody answered in time."
        assert ledger.executions == []


async def test_invariant_11_what_can_not_be_handled_is_a_dead_letter_with_its_reason(
    parts: Parts,
) -> None:
    async with system([agent(Ledger(), says("done"))], parts) as placet:
        bus = placet.platform.bus("placet-broker")
        await bus.publish(
            Outgoing(
                "placet.resolutions",
                "resolution",
                "placet.resolution.v1",
                b"no json",
                new_id("evt"),
            )
        )

        async def dead() -> bool:
            return any("json" in letter.reason.lower() for letter in await bus.dead())

        await eventually(dead)


async def test_invariant_12_who_answered_comes_from_the_credential_not_from_the_body(
    parts: Parts,
) -> None:
    async with system([agent(Ledger(), *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        await eventually(lambda: pending(placet, run.inputs[0].id))
        forged = AnswerMessage(input_id=run.inputs[0].id, content=True, id="forged")
        await placet.platform.bus("placet-runner").publish(
            Outgoing("placet.answers", "answer", name_of(forged), encode(forged), new_id("evt"))
        )
        bus = placet.platform.bus("placet-broker")

        async def refused() -> bool:
            return any(letter.queue == "placet.broker.answers" for letter in await bus.dead())

        await eventually(refused)
        assert (await placet.client.input(run.inputs[0].id)).state == InputState.PENDING


async def journal(placet: System, run_id: str) -> list[dict[str, Any]]:
    return await placet.runner.runs.history(await placet.image(run_id))


async def pending(placet: System, input_id: str) -> bool:
    """Whether the question has reached the broker."""
    return any(each.id == input_id for each in await placet.client.inbox("pending"))


async def resolution(placet: System, input_id: str) -> Resolution:
    """How an input ended, as the broker tells it."""
    found = (await placet.client.input(input_id)).resolution
    assert found is not None
    return found


async def let_expire(placet: System, input_id: str) -> None:
    """Move a deadline into the past; the broker's own timer does the rest."""
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    past = {"expires_at": long_ago, "next_at": long_ago, "due": long_ago}
    await placet.broker.interactions.collection.update(input_id, {}, {"$set": past})


async def quiet(placet: System) -> bool:
    """Whether everything that was to be said has been said."""
    runs = await placet.runner.runs.list(
        "default", status=None, agent_id=None, before=None, limit=100
    )
    return not any(run.document["outbox"] for run in runs)


async def known(placet: System, input_id: str, from_: str) -> None:
    await eventually(lambda: pending(placet, input_id))
    await (await placet.client.input(input_id)).settle("accept", True, from_=from_)
