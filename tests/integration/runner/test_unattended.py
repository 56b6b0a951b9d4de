"""Durable runs that nobody watches, and what a deadline does to a run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from placet import Agent, Context, HumanInput, ScriptedModel, Stage, tool
from placet.agents.operator import Limits, Operator, Tables, UnattendedTable
from placet.agents.scripted import calls, says
from placet.bus.port import Ack, Delivery, Settle
from placet.client import Run
from placet.domain.run import RunStatus
from placet.errors import Conflict, Invalid, NotAllowed
from placet.process.auth import ALL_SCOPES, Scope
from placet.testing.clock import HandClock
from tests.integration.runner.agents import Ledger, agent, once, tools
from tests.integration.runner.family import follow, plan
from tests.support.eventually import eventually
from tests.support.system import System, in_memory, on_disk, system
from tests.support.watched import Watched, point, staged

pytestmark = pytest.mark.integration

LETTING_GO = Operator(Tables(unattended=UnattendedTable(allow=True)))
WEEK = timedelta(days=7)


async def start(placet: System, word: str | None, name: str = "ops") -> Run:
    body = {"input": "go", "user": "alice", "unattended": word}
    begun = await placet.client.transport.post(f"/v1/agents/{name}/runs", body)
    return await placet.client.runs.wait(begun["id"])


async def told(placet: System, run: Run) -> list[tuple[str, Any]]:
    journal = await placet.client.runs.journal(run.id)
    ended = [e["result"] for e in journal if e["type"] == "tool.finished"]
    return [(result["outcome"], result["content"]) for result in ended]


# --- who may


async def test_allow_needs_the_operators_word() -> None:
    async with system([agent(Ledger(), *once(("drop", {"name": "x"})))]) as placet:
        with pytest.raises(NotAllowed, match=r"\[unattended\] allow = true"):
            await start(placet, "allow")
        assert await placet.client.runs.list() == []


async def test_allow_needs_the_scope() -> None:
    made = agent(Ledger(), *once(("drop", {"name": "x"})))
    body = {"input": "go", "user": "alice"}
    async with (
        system([made], operator=LETTING_GO) as placet,
        placet.client_with(ALL_SCOPES - {Scope.RUNS_UNATTENDED}) as other,
    ):
        with pytest.raises(NotAllowed, match="runs:unattended"):
            await other.transport.post("/v1/agents/ops/runs", body | {"unattended": "allow"})
        assert await placet.client.runs.list() == []
        for word in ("deny", "ask"):
            await other.transport.post("/v1/agents/ops/runs", body | {"unattended": word})


async def test_a_run_at_work_is_watched_as_it_was_started() -> None:
    async with system([agent(Ledger(), *once(("drop", {"name": "x"})))]) as placet:
        run = await start(placet, None)
        with pytest.raises(Conflict, match="at work, and for it somebody is there"):
            await start(placet, "deny", run.agent_id)
        assert [each.id for each in (await placet.client.runs.get(run.id)).inputs]
        told_of = await start(placet, None, run.agent_id)
        assert told_of.id == run.id


async def test_what_the_user_said_stands_beside_a_question_to_a_bounded_length() -> None:
    async with system([agent(Ledger(), *once(("drop", {"name": "x"})))]) as placet:
        run = await placet.client.agent("ops").run("é" * 60_000, user="alice")
        assert len(run.inputs[0].value.request.context["user_message"]) == 4000


@pytest.mark.parametrize("mode", ["queue", "supersede"])
async def test_a_run_that_lets_go_is_told_nothing_by_somebody_who_may_not_start_one(
    mode: str,
) -> None:
    ledger, gate = Ledger(), asyncio.Event()

    @tool(read_only=True)
    async def wait() -> str:
        await gate.wait()
        return "over"

    made = Agent("ops", model=ScriptedModel(follow), tools=[*tools(ledger), wait])
    body = {"input": plan([("wait", {})], "waited"), "unattended": "allow"}
    message = {"text": plan([("drop", {"name": "x"})], "dropped"), "mode": mode}
    async with (
        system([made], operator=LETTING_GO) as placet,
        placet.client_with(ALL_SCOPES - {Scope.RUNS_UNATTENDED}) as other,
    ):
        run = await placet.client.transport.post("/v1/agents/ops/runs", body)
        for path, said in (
            (f"/v1/runs/{run['id']}/messages", message),
            (f"/v1/agents/{run['agent_id']}/messages", message),
            (f"/v1/agents/{run['agent_id']}/runs", {"input": message["text"]}),
        ):
            with pytest.raises(NotAllowed, match="runs:unattended"):
                await other.transport.post(path, said)
        await placet.client.transport.post(f"/v1/runs/{run['id']}/messages", {"text": "hello"})
        gate.set()
        assert (await placet.client.runs.wait(run["id"])).text == "heard hello"
        assert ledger.executions == []


async def test_an_unknown_word_is_refused() -> None:
    async with system([agent(Ledger(), says("done"))]) as placet:
        with pytest.raises(Invalid):
            await start(placet, "yolo")


@pytest.mark.parametrize(
    ("word", "status", "ran"),
    [("deny", "completed", 0), ("ask", "input_required", 0), ("allow", "completed", 1)],
)
async def test_what_asks_is_settled_by_the_word_for_it(word: str, status: str, ran: int) -> None:
    ledger = Ledger()
    made = agent(ledger, *once(("drop", {"name": "x"})))
    async with system([made], operator=LETTING_GO) as placet:
        run = await start(placet, word)
        assert (run.status, run.value.unattended) == (status, word)
        assert len(ledger.executions) == ran


# --- what nobody is asked


async def test_l80_a_point_is_passed_and_the_run_and_its_last_event_say_so() -> None:
    model, parts, heard = Watched(says("the plan"), says("built")), in_memory(), list[Any]()

    async def hear(delivery: Delivery) -> Settle:
        heard.append(orjson.loads(delivery.body))
        return Ack()

    bus = parts[1]("placet-notifier")
    await bus.open()
    listening = await bus.consume("placet.notifier.events", hear, prefetch=8)
    async with system([staged(model, point(document_region="plan"))], parts) as placet:
        run = await start(placet, "deny", "coder")
        how = {"stage": "plan", "point": "sign_off", "how": "auto_approved"}
        assert (run.status, [p.model_dump() for p in run.value.passed]) == ("completed", [how])
        assert model.seen[-1].instructions == "<region name='plan'>\nthe plan\n</region>"
        ended = await eventually(lambda: [e for e in heard if e["type"] == "run.completed"])
        assert ended[0]["data"]["passed"] == [how]
        assert await placet.client.inbox(None) == []
    await listening.stop()


@pytest.mark.parametrize("word", ["deny", "ask"])
async def test_l81_a_point_that_needs_somebody_waits_also_unattended(word: str) -> None:
    made = staged(Watched(says("the plan"), says("built")), point(unattended="ask"))
    async with system([made]) as placet:
        run = await start(placet, word, "coder")
        assert (run.status, run.value.wait_reason) == ("input_required", "interaction_point")
        (asked,) = run.inputs
        run = await asked.answer("Approve", from_="alice")
        assert (run.status, run.value.passed) == ("completed", ())


async def test_l90_l91_what_asks_is_not_offered_unless_a_stage_requires_it() -> None:
    wanted = ("ask_user_text", {"question": "Which?"})
    stages = [Stage(name="one"), Stage(name="two", required_tools=["ask_user_text"])]
    model = Watched(calls(wanted), says("a"), calls(wanted), says("done"))
    made = Agent("ops", model=model, builtins=["ask_user_text"], stages=stages)
    async with system([made]) as placet:
        run = await start(placet, "deny")
        assert [len(c.tools) for c in model.seen] == [0, 0, 1]
        (asked,) = run.inputs
        run = await asked.answer("that one", from_="alice")
        assert [outcome for outcome, _ in await told(placet, run)] == ["refused", "ok"]


async def test_what_a_tool_asks_itself_has_no_answer_at_once() -> None:
    ledger = Ledger()
    async with system([agent(ledger, *once(("sure", {"what": "go"})))]) as placet:
        run = await start(placet, "ask")
        assert run.status == "completed"
        assert ledger.executions == [("sure", {"said": False, "outcome": "cancelled"})]


async def test_l92_it_survives_a_restart_and_a_restart_does_not_invent_it(tmp_path: Path) -> None:
    script = (calls(("wire", {"amount": 1})), calls(("sure", {"what": "go"})), says("done"))
    ledger = Ledger()

    def made() -> Agent:
        return agent(ledger, *script)

    async with system([made()], on_disk(tmp_path)) as placet:
        runs = [await start(placet, word) for word in ("ask", None)]
        assert [run.status for run in runs] == ["input_required"] * 2
        for run in runs:
            await placet.settled_outboxes(run.id)
    async with system([made()], on_disk(tmp_path)) as placet:
        again = [await placet.client.runs.get(run.id) for run in runs]
        assert [run.value.unattended for run in again] == ["ask", None]
        ended = [await run.inputs[0].answer(True, from_="alice") for run in again]
        assert [run.status for run in ended] == ["completed", "input_required"]


async def test_a_review_that_nobody_is_there_for_fails_the_run(tmp_path: Path) -> None:
    """The runner dies while a call runs that must not be guessed about."""
    begun, ends = asyncio.Event(), asyncio.Event()

    @tool(retry="ask")
    async def once_only() -> str:
        """Do something once."""
        begun.set()
        await ends.wait()
        return "did it"

    def made() -> Agent:
        return Agent("ops", model=Watched(*once(("once_only", {}))), tools=[once_only])

    clock = HandClock()
    async with system(
        [made()], on_disk(tmp_path, clock), clock=clock, grace_seconds=0.01
    ) as placet:
        body = {"input": "go", "user": "alice", "unattended": "deny"}
        run = await placet.client.transport.post("/v1/agents/ops/runs", body)
        await asyncio.wait_for(begun.wait(), 10)
    clock.turn(timedelta(minutes=5))  # longer than its lease
    async with system([made()], on_disk(tmp_path, clock), clock=clock, sweep_seconds=0.1) as placet:
        image = await placet.stands(run["id"], RunStatus.FAILED)
        assert image.document["error"]["code"] == "outcome_unknown"
        assert await placet.client.inbox(None) == []


# --- nobody in time


class Late:
    """A Placet whose clock is turned by hand."""

    def __init__(self, placet: System, clock: HandClock) -> None:
        self.placet, self.clock = placet, clock

    async def after(self, run: Run, span: timedelta) -> Run:
        """The run once that time has passed and its question was swept."""
        (asked,) = run.inputs
        await self.placet.settled_outboxes(run.id)
        await eventually(lambda: self.placet.broker.interactions.get(asked.id))
        self.clock.turn(span)
        await self.placet.broker.use_cases.sweep_due()
        return await self.placet.client.runs.wait(run.id, settled=asked.id)


@asynccontextmanager
async def late(*agents: Agent, operator: Operator | None = None) -> AsyncIterator[Late]:
    clock = HandClock()
    async with system(agents, clock=clock, operator=operator) as placet:
        yield Late(placet, clock)


async def test_ap_41_l21_an_approval_that_nobody_gives_is_no_consent_and_nobodys_refusal() -> None:
    """C2, C9: after a week, by default."""
    ledger = Ledger()
    async with late(agent(ledger, *once(("drop", {"name": "x"})))) as it:
        run = await start(it.placet, None)
        (asked,) = run.inputs
        assert asked.value.request.expires_at == it.clock.now() + WEEK
        run = await it.after(run, WEEK + timedelta(seconds=1))
        assert (run.status, ledger.executions) == ("completed", [])
        assert await told(it.placet, run) == [("expired", "Not run: nobody answered in time.")]
        expired = (await it.placet.client.input(asked.id)).resolution
        assert expired is not None
        assert (expired.state, expired.by) == ("expired", None)


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("ask_user_text", {"question": "?"}, "User provided no answer."),
        ("ask_user_choice", {"question": "?", "options": ["a", "b"]}, "User provided no answer."),
        ("ask_user_confirm", {"question": "?"}, "Nobody answered, which counts as no."),
        (
            "edit_document",
            {"content": "text"},
            "User provided no answer. The text is unchanged:\ntext",
        ),
        ("present_for_review", {"title": "T", "markdown": "m"}, "User provided no answer."),
    ],
)
async def test_l21_the_model_is_told_that_no_answer_came(
    name: str, args: dict[str, Any], said: str
) -> None:
    made = Agent("ops", model=Watched(*once((name, args))), builtins=[name])
    async with late(made) as it:
        run = await it.after(await start(it.placet, None), WEEK + timedelta(seconds=1))
        assert (run.status, await told(it.placet, run)) == ("completed", [("ok", said)])


async def test_l21_a_confirm_in_a_tool_is_false_and_the_tool_learns_why() -> None:
    ledger = Ledger()
    async with late(agent(ledger, *once(("sure", {"what": "go"})))) as it:
        await it.after(await start(it.placet, None), WEEK + timedelta(seconds=1))
        assert ledger.executions == [("sure", {"said": False, "outcome": "expired"})]


async def test_the_answer_that_a_tool_declared_is_taken_and_it_learns_that_nobody_gave_it() -> None:
    got = list[Any]()

    @tool
    async def where(ctx: Context) -> str:
        """Ask where."""
        form = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
        got.append((await ctx.choose("Where?", ["eu", "us"], default="us"), str(ctx.outcome)))
        got.append((await ctx.ask("How many?", form, default={}), str(ctx.outcome)))
        return "ok"

    stopping = HumanInput(on_expiry="stop")
    made = Agent("ops", model=Watched(*once(("where", {}))), tools=[where], human_input=stopping)
    async with late(made) as it:
        run = await start(it.placet, None)
        assert (run.inputs[0].value.request.on_expiry) == "default"
        run = await it.after(run, WEEK + timedelta(seconds=1))
        run = await it.after(run, WEEK + timedelta(seconds=1))
        assert run.status == "completed"
        assert got[-2:] == [("us", "expired"), ({"n": 3}, "expired")]


async def test_l21_a_point_is_passed_and_says_that_nobody_answered() -> None:
    async with late(staged(Watched(says("the plan"), says("built")), point())) as it:
        run = await start(it.placet, None, "coder")
        run = await it.after(run, WEEK + timedelta(seconds=1))
        assert (run.status, run.text) == ("completed", "built")
        assert [(p.point, p.how) for p in run.value.passed] == [
            ("sign_off", "proceeded_unanswered")
        ]


@pytest.mark.parametrize("how", ["expire", "cancel"])
async def test_l82_a_point_that_needs_somebody_ends_the_run_and_is_named(how: str) -> None:
    async with late(staged(Watched(says("the plan")), point(unattended="ask"))) as it:
        run = await start(it.placet, None, "coder")
        if how == "cancel":
            run = await run.inputs[0].cancel(from_="alice")
        else:
            run = await it.after(run, WEEK + timedelta(seconds=1))
        assert run.status == "failed"
        assert run.error is not None
        assert (run.error.code, "sign_off" in run.error.message) == ("checkpoint_unanswered", True)


@pytest.mark.parametrize("what", ["drop", "sure", "point"])
async def test_on_expiry_stop_ends_the_run_whatever_was_asked(what: str) -> None:
    stopping = HumanInput(on_expiry="stop")
    args: dict[str, Any] = {"drop": {"name": "x"}, "sure": {"what": "go"}}.get(what, {})
    made = agent(Ledger(), *once((what, args)), human_input=stopping)
    if what == "point":
        model = Watched(says("the plan"), says("built"))
        made = staged(model, point(), human_input=stopping)
    async with late(made) as it:
        run = await start(it.placet, None, made.name)
        assert run.inputs[0].value.request.on_expiry == "stop"
        run = await it.after(run, WEEK + timedelta(seconds=1))
        assert run.status == "failed"
        assert run.error is not None
        assert run.error.code == "input_expired"


async def test_on_expiry_stop_is_for_nobody_and_not_for_a_no() -> None:
    stopping = HumanInput(on_expiry="stop")
    made = agent(Ledger(), *once(("drop", {"name": "x"})), human_input=stopping)
    async with late(made) as it:
        run = await start(it.placet, None)
        run = await run.inputs[0].decline(from_="alice")
        assert run.status == "completed"


@pytest.mark.parametrize(
    ("own", "operators", "stands"),
    [(None, None, WEEK), (None, 3600, timedelta(hours=1)), (120, 3600, timedelta(minutes=2))],
)
async def test_l23_the_deadline_is_the_definitions_else_the_operators_else_a_week(
    own: int | None, operators: int | None, stands: timedelta
) -> None:
    operator = Operator(Tables(limits=Limits(interaction_timeout_secs=operators)))
    script = once(("drop", {"name": "x"}))
    made = agent(Ledger(), *script, human_input=HumanInput(expires_in_seconds=own))
    async with late(made, operator=operator) as it:
        run = await start(it.placet, None)
        assert run.inputs[0].value.request.expires_at == it.clock.now() + stands
        assert await told(it.placet, await it.after(run, stands + timedelta(milliseconds=1)))


async def test_l23_what_is_open_keeps_its_deadline_when_the_operators_changes(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    made = [agent(Ledger(), *once(("drop", {"name": "x"}))) for _ in range(2)]
    hour, day = (Operator(Tables(limits=Limits(interaction_timeout_secs=s))) for s in (3600, 86400))
    async with system([made[0]], on_disk(tmp_path, clock), clock=clock, operator=hour) as placet:
        run = await start(placet, None)
        await placet.settled_outboxes(run.id)
    async with system([made[1]], on_disk(tmp_path, clock), clock=clock, operator=day) as placet:
        (asked,) = await placet.client.inbox("pending")
        assert asked.value.request.expires_at == clock.now() + timedelta(hours=1)


async def test_l22_cp_27_with_zero_a_question_waits_until_it_is_answered() -> None:
    operator = Operator(Tables(limits=Limits(interaction_timeout_secs=0)))
    ledger = Ledger()
    async with late(agent(ledger, *once(("drop", {"name": "x"}))), operator=operator) as it:
        run = await start(it.placet, None)
        (asked,) = run.inputs
        await it.placet.settled_outboxes(run.id)
        kept = await eventually(lambda: it.placet.broker.interactions.get(asked.id))
        assert kept.expires_at is None
        it.clock.turn(timedelta(days=1000))
        await it.placet.broker.use_cases.sweep_due()
        run = await asked.answer(True, from_="alice")
        assert (run.status, len(ledger.executions)) == ("completed", 1)
