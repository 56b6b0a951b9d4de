"""A run that is ended takes everything below it along, whatever was lost or late."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

import pytest

from placet.bus.port import Ack, Delivery
from placet.domain.heritage import Birth
from placet.domain.interaction import InputState
from placet.domain.label import Label
from placet.domain.run import RunStatus
from placet.errors import Conflict
from placet.messages import CommandName, RunCommand
from placet.process.platform import Buses, Databases
from placet_runner.consumers import RUNS_QUEUE
from placet_runner.ports import Image
from placet_runner.rules.families import start_entry
from placet_runner.rules.runs import MAX_TRIES
from tests.integration.runner.agents import Ledger
from tests.integration.runner.family import (
    DROP,
    asked,
    child_id,
    deep,
    family,
    plan,
    to,
    told,
)
from tests.integration.runner.test_messages import publish
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
PAST = datetime(2020, 1, 1, tzinfo=UTC)


def birth_of(image: Image, number: int = 0) -> Birth:
    return Birth.model_validate(image.waiting[number]["request"])


async def sweep_now(placet: System, run_id: str) -> None:
    """What the run waits for is asked again at the next sweep."""
    image = await placet.image(run_id)
    waiting = [entry | {"ask_again_at": PAST} for entry in image.waiting]
    await placet.runner.runs._runs.update(run_id, {}, {"$set": {"waiting": waiting, "due": PAST}})


async def stopped_commands(placet: System) -> Callable[[System], Awaitable[None]]:
    """Commands reach nobody from now on; what is returned loses them and goes on."""
    running = placet.runner._running
    await running.pop(RUNS_QUEUE).stop()

    async def lose(placet: System) -> None:
        dropped: list[str] = []

        async def drop(delivery: Delivery) -> Ack:
            dropped.append(delivery.key)
            return Ack()

        dropping = await placet.platform.bus("placet-runner").consume(RUNS_QUEUE, drop, prefetch=8)
        await eventually(lambda: dropped)
        await dropping.stop()
        running[RUNS_QUEUE] = await placet.platform.bus("placet-runner").consume(
            RUNS_QUEUE, placet.runner._consumers.on_command, prefetch=8
        )

    return lose


async def closed(placet: System, input_id: str) -> bool:
    return (await placet.client.input(input_id)).state == InputState.CANCELLED


async def test_l19_c8_ap_34_abort_of_the_root_ends_every_run_below_and_closes_every_input(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        down = deep("lower", "leaf", then=plan([DROP], "dropped"))
        text = plan([to(("middle", down), ("leaf", plan([DROP], "x")))], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        other = await placet.client.agent("leaf").run(plan([DROP], "x"), user="alice")
        waiting = await asked(placet, run, 2)
        ended = await run.abort()
        assert ended.status == RunStatus.CANCELLED
        for each in waiting:
            await placet.stands(each.value.request.run_id, "cancelled")
            await eventually(partial(closed, placet, each.id))
        await placet.stands(child_id(run.id), "cancelled")
        assert (await placet.image(other.id)).status == RunStatus.INPUT_REQUIRED
        assert (await placet.client.input(other.inputs[0].id)).state == InputState.PENDING
        assert ledger.executions == []


async def test_l20_ap_34_answering_below_an_aborted_root_revives_nothing(parts: Parts) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        text = deep("middle", "leaf", then=plan([DROP], "dropped"))
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        await run.abort()
        leaf = waiting.value.request.run_id
        await placet.stands(leaf, "cancelled")
        await eventually(lambda: closed(placet, waiting.id))
        with pytest.raises(Conflict) as late:
            await waiting.settle("accept", True, from_="alice")
        assert late.value.body["input"]["state"] == "cancelled"
        for run_id in (run.id, child_id(run.id), leaf):
            wake = RunCommand(command=CommandName.WAKE, run_id=run_id)
            await publish(placet, "placet-runner", "placet.runs", "wake", wake)
            assert (await placet.image(run_id)).status == RunStatus.CANCELLED
        assert ledger.executions == []


async def test_l20_a_yes_that_came_before_the_abort_reached_the_child_runs_nothing(
    parts: Parts,
) -> None:
    """The answer is kept and shown, and its call is not run."""
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        text = deep("middle", "leaf", then=plan([DROP], "dropped"))
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        queue = placet.runner._running.pop("placet.runner.resolutions")
        await queue.stop()
        await waiting.settle("accept", True, from_="alice")
        await run.abort()
        leaf = await placet.stands(waiting.value.request.run_id, "cancelled")
        resolution = (await placet.client.input(waiting.id)).resolution
        assert resolution is not None
        await placet.runner.replica.take_answer(resolution)
        after = await placet.image(leaf.id)
        assert (after.status, after.open) == (RunStatus.CANCELLED, [])
        assert ledger.executions == []


async def test_ap_35_a_child_whose_abort_comes_before_its_start_never_runs_and_asks_nobody(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        run = await placet.client.agent("root").run(
            plan([to(("leaf", plan([DROP], "x")))], "done"), user="alice"
        )
        await asked(placet, run)
        birth = birth_of(await placet.image(run.id))
        late = "run_" + "e" * 32
        stop = RunCommand(command=CommandName.ABORT, run_id=late, birth=birth)
        await publish(placet, "placet-runner", "placet.runs", "abort", stop)
        await placet.stands(late, "cancelled")
        for _ in range(3):
            start = RunCommand(command=CommandName.START, run_id=late, birth=birth)
            await publish(placet, "placet-runner", "placet.runs", "start", start)
        await publish(placet, "placet-runner", "placet.runs", "abort", stop)
        await placet.settled_outboxes(run.id)
        never = await placet.image(late)
        assert (never.status, never.waiting, never.seq) == (RunStatus.CANCELLED, [], 0)
        assert len((await placet.client.runs.get(run.id)).inputs) == 1


async def test_a_child_whose_start_was_lost_is_started_by_the_sweep(parts: Parts) -> None:
    async with system(family(Ledger()), parts, sweep_seconds=0.05, runner_slots=8) as placet:
        lost = await stopped_commands(placet)
        run = await placet.client.agent("root").start(plan([to(("leaf", "hello"))], "done"))
        await placet.stands(run.id, "input_required")
        await lost(placet)
        assert await placet.runner.runs.get(child_id(run.id)) is None
        await sweep_now(placet, run.id)
        await placet.stands(run.id, "completed")


async def test_an_abort_before_the_child_is_born_leaves_it_cancelled_for_good(parts: Parts) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts, sweep_seconds=0.05) as placet:
        lost = await stopped_commands(placet)
        text = plan([to(("leaf", plan([DROP], "x")))], "done")
        run = await placet.client.agent("root").start(text, user="alice")
        image = await placet.stands(run.id, "input_required")
        birth = birth_of(image)
        await run.abort()
        await lost(placet)
        await sweep_now(placet, run.id)
        await placet.stands(child_id(run.id), "cancelled")
        start = start_entry(child_id(run.id), "default", birth)
        placet.runner.relay.post(run.id, [start])
        await eventually(lambda: nothing_open(placet, run.id))
        assert (await placet.image(child_id(run.id))).status == RunStatus.CANCELLED
        assert ledger.executions == []


async def test_a_child_s_end_that_was_lost_is_told_again(parts: Parts) -> None:
    async with system(family(Ledger()), parts, sweep_seconds=0.05) as placet:
        text = plan([to(("leaf", plan([DROP], "told twice")))], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        lost = await stopped_commands(placet)
        await waiting.settle("accept", True, from_="alice")
        await placet.stands(child_id(run.id), "completed")
        await placet.settled_outboxes(child_id(run.id))
        await lost(placet)
        assert (await placet.image(run.id)).status == RunStatus.INPUT_REQUIRED
        await sweep_now(placet, run.id)
        image = await placet.stands(run.id, "completed")
        [result] = told(image)
        assert result["content"][0]["text"] == "told twice"


async def test_every_command_between_a_run_and_its_children_may_come_many_times(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system(family(ledger), parts) as placet:
        text = plan([to(("leaf", plan([DROP], "x")))], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        birth = birth_of(await placet.image(run.id))
        child = child_id(run.id)
        start = RunCommand(command=CommandName.START, run_id=child, birth=birth)
        for _ in range(4):
            await publish(placet, "placet-runner", "placet.runs", "start", start)
        ended = await waiting.answer(True, from_="alice")
        assert ended.status == RunStatus.COMPLETED
        for _ in range(4):  # it says its end again each time
            await publish(placet, "placet-runner", "placet.runs", "start", start)
        await placet.settled_outboxes(run.id)
        assert ledger.executions == [DROP]
        image = await placet.image(run.id)
        kinds = [entry["type"] for entry in image.document["journal"]]
        assert (kinds.count("child.ended"), kinds.count("run.completed")) == (1, 1)


async def test_a_root_that_fails_ends_the_runs_below_it(parts: Parts) -> None:
    async with system(family(Ledger()), parts) as placet:
        text = plan([to(("leaf", plan([DROP], "x")))], "done")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        doomed = {"$set": {"tries": MAX_TRIES, "wake": True}}
        await placet.runner.runs._runs.update(run.id, {}, doomed)
        await placet.runner.replica.take_up(run.id)
        image = await placet.stands(run.id, "failed")
        assert image.document["error"]["code"] == "crash_loop"
        await placet.stands(child_id(run.id), "cancelled")
        await eventually(lambda: closed(placet, waiting.id))
        await eventually(lambda: nothing_open(placet, run.id))


async def test_a_child_that_is_cancelled_alone_is_an_error_of_its_parent_that_carries_no_label(
    parts: Parts,
) -> None:
    async with system(family(Ledger()), parts) as placet:
        text = plan([to(("leaf", plan([DROP], "x")))], "went on")
        run = await placet.client.agent("root").run(text, user="alice")
        [waiting] = await asked(placet, run)
        child = await placet.client.runs.get(waiting.value.request.run_id)
        await child.abort()
        image = await placet.stands(run.id, "completed")
        [result] = told(image)
        assert result["outcome"] == "error"
        assert result["content"] == [{"agent": "leaf", "status": "cancelled", "text": "cancelled"}]
        assert result.get("label", Label.PUBLIC) == Label.PUBLIC


async def nothing_open(placet: System, run_id: str) -> bool:
    return not (await placet.image(run_id)).open
