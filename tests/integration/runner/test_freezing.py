"""A freeze: no covered call starts while it holds, nothing is lost, and all is checked again after it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from placet import Agent, Context, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps
from placet.client import Run
from placet.domain.freeze import Freeze
from placet.domain.run import RunStatus
from placet.errors import Invalid, NotAllowed, NotFound, Unavailable
from placet.kernel.journal import ToolStarted
from placet.process.auth import ALL_SCOPES, Scope
from placet.process.platform import Buses, Databases
from placet_runner.ports import Freezes, Image, Step
from placet_runner.wiring import Runner
from tests.integration.runner.agents import Ledger, agent, once, tools
from tests.integration.runner.family import (
    DROP,
    LOOK,
    Wanted,
    asked,
    child_id,
    deep,
    family,
    plan,
    told,
)
from tests.integration.runner.test_talking import alone
from tests.support.eventually import eventually
from tests.support.system import System, deploy, on_disk, system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]
WIRE: Wanted = ("wire", {"amount": 7})


async def freeze(placet: System, *tools: str, agent: str | None = None) -> Freeze:
    return await placet.client.freezes.make("an incident", agent=agent, tools=tools)


async def waits_frozen(placet: System, run_id: str, *freezes: Freeze) -> Image:
    """The run once it is parked and waits for these freezes, and holds nothing."""

    async def look() -> Image | None:
        try:
            run = await placet.client.runs.get(run_id)
        except NotFound:
            return None  # a run below another that has not begun
        image = await placet.image(run_id)
        found = {each.id for each in run.value.frozen_by}
        parked = image.status == RunStatus.INPUT_REQUIRED and image.lease_op is None
        return image if parked and found == {each.id for each in freezes} else None

    found: Image = await eventually(look)
    return found


def what_ran(ledger: Ledger) -> list[str]:
    return [name for name, _ in ledger.executions]


async def test_an_approved_call_waits_while_it_is_frozen_and_runs_by_its_yes_afterwards(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        [waiting] = await asked(placet, run)
        stop = await freeze(placet, "drop")
        run = await waiting.answer(True, from_="alice")
        assert (run.status, run.value.wait_reasons) == (RunStatus.INPUT_REQUIRED, ("frozen",))
        await waits_frozen(placet, run.id, stop)
        assert (ledger.executions, run.inputs) == ([], ())
        assert (await placet.client.input(waiting.id)).state == "answered"
        await placet.client.freezes.lift(stop.id)
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [DROP]
        noted = [e for e in image.document["journal"] if e["type"] == "calls.frozen"]
        assert [(e["freeze_id"], e.get("lifted", False)) for e in noted] == [
            (stop.id, False),
            (stop.id, True),
        ]


async def test_a_call_that_nobody_need_approve_waits_too_and_the_model_is_asked_all_the_same(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))], parts) as placet:
        stop = await freeze(placet)
        run = await placet.client.agent("ops").run("go", user="alice")
        image = await waits_frozen(placet, run.id, stop)
        assert (image.document["steps"], ledger.executions) == (1, [])
        await placet.client.freezes.lift(stop.id)
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [LOOK]


async def test_a_deny_that_came_under_the_freeze_wins_over_the_yes_before_it() -> None:
    ledger = Ledger()
    made = agent(ledger, *once(DROP))
    async with system([made]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        stop = await freeze(placet, "drop")
        await run.inputs[0].answer(True, from_="alice")
        await waits_frozen(placet, run.id, stop)
        deploy(made, tool_permissions={"drop": "deny"})
        await placet.client.freezes.lift(stop.id)
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        [refused] = told(image, "drop")
        assert refused["content"].startswith("policy_changed")
        assert ledger.executions == []


async def test_siblings_that_it_does_not_cover_run_and_their_answers_are_acted_on(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP, LOOK, WIRE))], parts) as placet:
        stop = await freeze(placet, "drop")
        run = await placet.client.agent("ops").run("go", user="alice")
        drop, wire = await asked(placet, run, 2)
        await drop.settle("accept", True, from_="alice")
        await wire.settle("accept", True, from_="alice")
        await eventually(lambda: what_ran(ledger) == ["look", "wire"])
        await waits_frozen(placet, run.id, stop)
        await placet.client.freezes.lift(stop.id)
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert what_ran(ledger) == ["look", "wire", "drop"]


async def test_an_answer_to_a_sibling_is_acted_on_although_the_run_is_parked_frozen() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK, WIRE))]) as placet:
        stop = await freeze(placet, "look")
        run = await placet.client.agent("ops").run("go", user="alice")
        [wire] = await asked(placet, run)
        await waits_frozen(placet, run.id, stop)
        assert (await placet.client.runs.get(run.id)).value.wait_reasons == (
            "tool_approval",
            "frozen",
        )
        await wire.settle("accept", True, from_="alice")
        await eventually(lambda: what_ran(ledger) == ["wire"])
        await waits_frozen(placet, run.id, stop)


async def test_of_two_freezes_over_one_call_both_must_be_lifted(parts: Parts) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))], parts, sweep_seconds=0.05) as placet:
        every, one = await freeze(placet, agent="ops"), await freeze(placet, "look")
        run = await placet.client.agent("ops").run("go", user="alice")
        await waits_frozen(placet, run.id, every, one)
        await placet.client.freezes.lift(every.id)
        await waits_frozen(placet, run.id, one)
        assert ledger.executions == []
        await placet.client.freezes.lift(one.id)
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [LOOK]


async def test_of_two_freezes_over_two_calls_the_lifted_one_frees_its_own() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK, WIRE))], sweep_seconds=0.05) as placet:
        look, wire = await freeze(placet, "look"), await freeze(placet, "wire")
        run = await placet.client.agent("ops").run("go", user="alice")
        await run.inputs[0].answer(True, from_="alice")
        await waits_frozen(placet, run.id, look, wire)
        await placet.client.freezes.lift(look.id)
        await waits_frozen(placet, run.id, wire)
        assert what_ran(ledger) == ["look"]


@pytest.mark.parametrize("named", ["bash", "shell"])
async def test_bash_and_shell_are_one_tool_to_it(named: str) -> None:
    ran = list[str]()

    @tool(name="bash")
    async def shell(command: str) -> str:
        """Run a line."""
        ran.append(command)
        return "ok"

    model = ScriptedModel(steps(calls(("bash", {"command": "ls"})), says("done")))
    ops = Agent("ops", model=model, tools=[shell], tool_permissions={"bash": "allow"})
    async with system([ops]) as placet:
        stop = await freeze(placet, named)
        run = await placet.client.agent("ops").run("go", user="alice")
        await waits_frozen(placet, run.id, stop)
        assert ran == []


@pytest.mark.parametrize("whose", ["definition", "agent"])
async def test_a_freeze_of_one_above_covers_the_runs_below_it_and_no_other(whose: str) -> None:
    ledger = Ledger()
    async with system(family(ledger)) as placet:
        text = deep("middle", "leaf", then=plan([LOOK], "looked"))
        run = await placet.client.agent("root").start(plan("hello"), user="alice")
        name = "middle" if whose == "definition" else run.agent_id
        stop = await freeze(placet, "look", agent=name)
        other = await placet.client.agent("leaf").run(plan([LOOK], "looked"), user="alice")
        assert (other.status, what_ran(ledger)) == (RunStatus.COMPLETED, ["look"])
        if whose == "definition":
            run = await placet.client.agent("root").start(text, user="alice")
        else:
            await placet.client.runs.wait(run.id)
            run = await placet.client.agent(run.agent_id).start(text, user="alice")
        middle = child_id(run.id)
        await waits_frozen(placet, child_id(middle), stop)
        assert (await placet.client.runs.get(run.id)).value.wait_reasons == ("children",)
        await placet.client.freezes.lift(stop.id)
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert what_ran(ledger) == ["look", "look"]


async def test_delegating_is_a_call_that_can_be_frozen() -> None:
    async with system(family(Ledger())) as placet:
        stop = await freeze(placet, "delegate")
        run = await placet.client.agent("root").run(deep("leaf", then=plan("hello")), user="alice")
        await waits_frozen(placet, run.id, stop)
        with pytest.raises(NotFound):
            await placet.client.runs.get(child_id(run.id))
        await placet.client.freezes.lift(stop.id)
        await placet.stands(run.id, RunStatus.COMPLETED)


async def test_a_call_that_runs_already_runs_on() -> None:
    ledger, began, go = Ledger(), asyncio.Event(), asyncio.Event()

    @tool
    async def slow(ctx: Context) -> str:
        """Take a while."""
        began.set()
        await go.wait()
        return "over"

    model = ScriptedModel(steps(calls(("slow", {})), calls(LOOK), says("done")))
    async with system([Agent("ops", model=model, tools=[*tools(ledger), slow])]) as placet:
        run = await placet.client.agent("ops").start("go", user="alice")
        await began.wait()
        stop = await freeze(placet)
        go.set()
        image = await waits_frozen(placet, run.id, stop)
        assert [r["outcome"] for r in told(image, "slow")] == ["ok"]
        assert (image.document["steps"], ledger.executions) == (2, [])


# --- what ends it


async def test_a_message_overtakes_frozen_calls_and_is_read_while_the_freeze_holds(
    parts: Parts,
) -> None:
    ledger = Ledger()
    async with system([alone(ledger)], parts) as placet:
        stop = await freeze(placet)
        run = await placet.client.agent("ops").run(plan([DROP, LOOK], "x"), user="alice")
        [waiting] = await asked(placet, run)
        await waits_frozen(placet, run.id, stop)
        await placet.client.agent(run.id).message("never mind", user="alice")
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        ended = (image.document["text"], image.waiting, ledger.executions)
        assert ended == ("heard never mind", [], [])
        assert [r["outcome"] for name in ("drop", "look") for r in told(image, name)] == [
            "superseded",
            "superseded",
        ]
        assert (await placet.client.input(waiting.id)).state == "superseded"


async def test_a_message_that_queues_waits_for_the_frozen_call() -> None:
    ledger = Ledger()
    async with system([alone(ledger)]) as placet:
        stop = await freeze(placet)
        run = await placet.client.agent("ops").run(plan([LOOK], "looked"), user="alice")
        await placet.client.agent(run.id).message("and then", mode="queue", user="alice")
        image = await waits_frozen(placet, run.id, stop)
        assert len(image.inbox) == 1
        await placet.client.freezes.lift(stop.id)
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [LOOK]


async def test_a_message_to_a_root_overtakes_the_frozen_call_of_a_run_below_it() -> None:
    ledger = Ledger()
    async with system(family(ledger)) as placet:
        stop = await freeze(placet, "look")
        text = deep("leaf", then=plan([LOOK], "looked"))
        run = await placet.client.agent("root").run(text, user="alice")
        await waits_frozen(placet, child_id(run.id), stop)
        await placet.client.agent(run.id).message("never mind", user="alice")
        image = await placet.stands(run.id, RunStatus.COMPLETED)
        assert (image.document["text"], ledger.executions) == ("heard never mind", [])


async def test_an_abort_ends_a_frozen_run_and_leaves_nothing_to_wait_for(parts: Parts) -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))], parts) as placet:
        stop = await freeze(placet)
        run = await placet.client.agent("ops").run("go", user="alice")
        await waits_frozen(placet, run.id, stop)
        ended = await placet.client.agent(run.id).abort()
        assert (ended.status, ended.value.frozen_by) == (RunStatus.CANCELLED, ())
        await placet.settled_outboxes(run.id)
        image = await placet.image(run.id)
        assert (image.waiting, image.document["due"]) == ([], None)
        await placet.client.freezes.lift(stop.id)
        assert ledger.executions == []


async def test_a_denial_under_the_freeze_closes_the_call_without_waiting_for_its_end() -> None:
    async with system([agent(Ledger(), *once(DROP))]) as placet:
        await freeze(placet)
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].decline("no", from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert (await placet.image(run.id)).waiting == []


# --- kills, lost queues, takeovers


async def test_after_a_kill_with_every_queue_lost_the_lift_is_found_by_any_replica(
    tmp_path: Any,
) -> None:
    ledger = Ledger()
    ops = agent(ledger, *once(LOOK))
    async with system([ops], on_disk(tmp_path)) as placet:
        stop = await freeze(placet)
        run = await placet.client.agent("ops").run("go", user="alice")
        await waits_frozen(placet, run.id, stop)
        await placet.runner.stop()
        await placet.client.freezes.lift(stop.id)
        assert (await placet.image(run.id)).status == RunStatus.INPUT_REQUIRED
    async with system([ops], on_disk(tmp_path), sweep_seconds=0.05) as placet:
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [LOOK]


async def test_a_lift_whose_wake_was_lost_is_taken_up_by_the_sweep() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))], sweep_seconds=0.05) as placet:
        stop = await freeze(placet)
        run = await placet.client.agent("ops").run("go", user="alice")
        await waits_frozen(placet, run.id, stop)
        await placet.runner._sweeping.stop()
        lifted = await placet.client.freezes.lift(stop.id)
        recorded = await placet.runner.runs.record_lift(run.id, lifted)
        assert recorded is not None
        assert recorded.wake
        assert recorded.document["outbox"][-1]["key"] == "wake"
        assert await placet.runner.runs.record_lift(run.id, lifted) is None, "once"
        past = {"outbox": [], "due": datetime(2020, 1, 1, tzinfo=UTC)}
        await placet.runner.runs._runs.update(run.id, {}, {"$set": past})
        placet.runner._sweeping._task = None
        placet.runner._sweeping.start()
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [LOOK]


async def test_a_freeze_that_is_there_no_more_after_a_restore_holds_nothing_back() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))], sweep_seconds=0.05) as placet:
        stop = await freeze(placet)
        run = await placet.client.agent("ops").run("go", user="alice")
        await waits_frozen(placet, run.id, stop)
        assert await placet.broker.freezes._freezes.delete(stop.id, {})
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [LOOK]


async def test_a_call_that_may_be_tried_again_is_not_while_it_is_frozen(parts: Parts) -> None:
    """Its first try is in doubt, so no message closes it either."""
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts, sweep_seconds=0.05) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        [waiting] = await asked(placet, run)
        stop = await freeze(placet)
        await waiting.answer(True, from_="alice")
        image = await waits_frozen(placet, run.id, stop)
        started = Step(entries=[ToolStarted(call_id="call_1_1", key="k", attempt=1)])
        await placet.runner._sweeping.stop()
        await placet.runner.runs._runs.update(run.id, {}, {"$set": {"wake": True}})
        held = await placet.runner.runs.claim(image.id, "gone", "op_gone")
        assert held is not None
        assert await placet.runner.runs.take_over(held, started)
        past = datetime(2020, 1, 1, tzinfo=UTC)
        await placet.runner.runs._runs.update(
            run.id, {}, {"$set": {"lease.until": past, "due": past}}
        )
        placet.runner._sweeping._task = None
        placet.runner._sweeping.start()
        await waits_frozen(placet, run.id, stop)
        await placet.client.agent(run.id).message("never mind", user="alice")
        await waits_frozen(placet, run.id, stop)
        assert ledger.executions == []
        await placet.client.freezes.lift(stop.id)
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [DROP]


async def test_a_lift_at_the_very_time_of_the_dispatch_is_never_missed() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))], sweep_seconds=0.05) as placet:

        async def one(number: int) -> Run:
            stop = await freeze(placet, agent="ops")
            start = placet.client.agent("ops").start("go", user=f"user{number}")
            run, _ = await asyncio.gather(start, placet.client.freezes.lift(stop.id))
            return run

        runs = await asyncio.gather(*map(one, range(100)))
        for run in runs:
            await placet.stands(run.id, RunStatus.COMPLETED)
        assert len(ledger.executions) == 100
        assert len(ledger.effects) == 100


async def test_no_call_starts_after_its_freeze_was_confirmed(parts: Parts) -> None:
    """But one whose start was being written just then: it ran already, as far as anybody can tell."""
    ledger = Ledger()
    async with system([agent(ledger, *once(DROP))], parts) as placet:
        runs = [await placet.client.agent("ops").run(f"go {n}", user="alice") for n in range(10)]
        stop = await freeze(placet)
        for run in runs:
            [waiting] = await asked(placet, run)
            await waiting.settle("accept", True, from_="alice")
        for run in runs:
            await waits_frozen(placet, run.id, stop)
        assert ledger.executions == []


class Away:
    """Freezes that can't be read for a while."""

    def __init__(self, inner: Freezes) -> None:
        self.inner, self.tries, self.away = inner, 0, True

    async def active(self, namespace: str) -> Sequence[Freeze]:
        self.tries += 1
        if self.away:
            raise Unavailable("the database is away")
        return await self.inner.active(namespace)

    async def active_ids(self) -> Sequence[str]:
        return await self.inner.active_ids()

    async def get_many(self, ids: Sequence[str]) -> Mapping[str, Freeze]:
        return await self.inner.get_many(ids)


async def test_nothing_starts_while_it_is_not_known_what_is_frozen() -> None:
    ledger, found = Ledger(), list[Away]()

    def prepare(runner: Runner) -> None:
        hand = runner.replica._hand
        found.append(Away(hand.freezes))
        runner.replica._hand = replace(hand, freezes=found[0])

    async with system([agent(ledger, *once(LOOK))], prepare=prepare) as placet:
        run = await placet.client.agent("ops").start("go", user="alice")
        await eventually(lambda: found[0].tries > 1)
        assert ((await placet.image(run.id)).status, ledger.executions) == ("running", [])
        found[0].away = False
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert ledger.executions == [LOOK]


# --- who may, and whose


async def test_a_freeze_of_one_namespace_reaches_no_other() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))]) as placet:
        elsewhere, _ = await placet.broker.freezes.freeze(
            "elsewhere", agent=None, tools=(), reason="theirs", by="eve"
        )
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.status == RunStatus.COMPLETED
        assert await placet.client.freezes.list(active=None) == []
        with pytest.raises(NotFound):
            await placet.client.freezes.lift(elsewhere.id)
        assert (await placet.broker.freezes.get("elsewhere", elsewhere.id)).active


async def test_only_whoever_has_the_scope_freezes_and_whoever_reads_runs_sees_it() -> None:
    async with (
        system([agent(Ledger(), *once(LOOK))]) as placet,
        placet.client_with(ALL_SCOPES - {Scope.FREEZE}) as other,
        placet.client_with({Scope.RUNS_WRITE}) as blind,
    ):
        stop = await freeze(placet, "look")
        with pytest.raises(NotAllowed, match="freeze"):
            await other.freezes.make("mine")
        with pytest.raises(NotAllowed, match="freeze"):
            await other.freezes.lift(stop.id)
        assert await other.freezes.list() == [stop]
        with pytest.raises(NotAllowed, match="runs:read"):
            await blind.freezes.list()


async def test_a_freeze_is_its_own_audit_record() -> None:
    async with system([agent(Ledger(), *once(LOOK))]) as placet:
        stop = await freeze(placet, "look", "look", "drop", agent="ops")
        assert (stop.by, stop.reason, stop.tools) == (
            "service:test",
            "an incident",
            ("look", "drop"),
        )
        lifted = await placet.client.freezes.lift(stop.id)
        assert (lifted.active, lifted.lifted_by) == (False, "service:test")
        assert await placet.client.freezes.lift(stop.id) == lifted, "again is fine"
        assert await placet.client.freezes.list() == []
        assert await placet.client.freezes.list(active=None) == [lifted]
        assert await placet.client.freezes.list(active=False) == [lifted]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"reason": ""},
        {"reason": "  "},
        {"reason": "x" * 1001},
        {"reason": "x", "tools": ["a\u200bb"]},
        {"reason": "x", "tools": [""]},
        {"reason": "x", "tools": ["t"] * 101},
        {"reason": "x", "agent": ""},
        {"reason": "x", "until": "tomorrow"},
    ],
)
async def test_a_freeze_that_does_not_fit_is_refused(body: dict[str, Any]) -> None:
    async with system([agent(Ledger(), says("done"))]) as placet:
        with pytest.raises(Invalid):
            await placet.client.transport.post("/v1/freezes", body)
        assert await placet.client.freezes.list() == []


async def test_a_freeze_of_a_tool_that_there_is_not_covers_nothing() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(LOOK))]) as placet:
        await freeze(placet, "lookk")
        run = await placet.client.agent("ops").run("go", user="alice")
        assert (run.status, ledger.executions) == (RunStatus.COMPLETED, [LOOK])


async def test_freezes_are_listed_page_by_page() -> None:
    async with system([agent(Ledger(), says("done"))]) as placet:
        made = [(await freeze(placet, f"t{n}")).id for n in range(5)]
        found, cursor = list[str](), None
        while True:
            page = await placet.client.transport.get("/v1/freezes", limit=2, cursor=cursor)
            found += [each["id"] for each in page["items"]]
            if (cursor := page["next_cursor"]) is None:
                break
        assert sorted(found) == sorted(made)
