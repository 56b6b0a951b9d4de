"""`HumanInTheLoop` in a runner: it suspends, an answer resumes it, and trust outlives the run."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from placet import Agent, HumanInTheLoop, RiskVerdict, ScriptedModel, Tool
from placet.agents.loading import Loaded, for_a_runner
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says, steps
from placet.bus.inprocess import Hub
from placet.client import Run
from placet.clock import SystemClock
from placet.domain.interaction import ApprovalRequest, ToolCall
from placet.domain.run import RunStatus
from placet.errors import Invalid, NotFound
from placet.ids import derived_id
from placet.kernel.journal import TrustGiven
from placet.kernel.turns import ModelReply
from placet.process.platform import Databases
from placet.store import open_database
from placet.testing.approvals import AutoApprovalHandler
from placet_runner.store import StoredAgents
from tests.support.asked import READ, SEND, WIPE, Desk, Wanted, tools
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration
EVE: Wanted = ("send", {"to": "eve"})

Start = Callable[..., AbstractAsyncContextManager[System]]


def office(
    desk: Desk, *turns: Sequence[Wanted], toolbox: Sequence[Tool] = (), **options: Any
) -> Agent:
    """An agent that makes these calls after each message, a turn each, and is done."""

    def script(conversation: Conversation) -> ModelReply:
        since = takewhile(lambda turn: turn.role != "user", reversed(conversation.turns))
        answered = sum(turn.role == "model" for turn in since)
        return calls(*turns[answered]) if answered < len(turns) else says("done")

    watched = HumanInTheLoop(**options)
    model = ScriptedModel(script)
    return Agent("office", model=model, tools=toolbox or tools(desk), interventions=[watched])


async def go(placet: System, target: str = "office", user: str | None = "alice") -> Run:
    return await placet.client.agent(target).run("go", user=user)


@pytest.fixture
def after_a_restart(tmp_path: Path) -> Start:
    """Start Placet on what the one before left on disk."""
    clock = SystemClock()

    def start(*agents: Agent) -> AbstractAsyncContextManager[System]:
        parts = (
            lambda name: open_database(f"sqlite://{tmp_path}", name, clock=clock),
            Hub(clock=clock).bus,
        )
        return system(agents, parts)

    return start


def approvals(run: Run) -> list[ApprovalRequest]:
    """What waits for a person."""
    requests = [each.value.request for each in run.inputs]
    assert all(isinstance(request, ApprovalRequest) for request in requests)
    return [request for request in requests if isinstance(request, ApprovalRequest)]


async def told(placet: System, run: Run) -> dict[str, tuple[str, str]]:
    """What became of each call, and what the model read, by the call's id."""
    journal = (await placet.image(run.id)).document["journal"]
    results = [entry["result"] for entry in journal if entry["type"] == "tool.finished"]
    assert len({each["call_id"] for each in results}) == len(results), "one result for each call"
    return {each["call_id"]: (each["outcome"], each["content"]) for each in results}


async def trusted(placet: System, run: Run, person: str = "alice") -> list[str]:
    return list(await placet.runner.talk.agents.trusted("default", run.agent_id, person))


# --- it suspends and resumes ---


async def test_s1_a_call_suspends_its_run_with_one_question_that_names_it() -> None:
    desk = Desk()
    async with system([office(desk, [SEND])]) as placet:
        run = await go(placet)
        assert (run.status, desk.ran) == (RunStatus.INPUT_REQUIRED, [])
        (asked,) = approvals(run)
        assert (asked.call.tool, asked.call.args) == SEND
        assert "send" in asked.message
        assert "send" in asked.context["reason"]
        assert (asked.accepts, asked.trust) == ("words", False)


@pytest.mark.parametrize("answer", ["yes", " Y ", True, {"decision": "approved"}])
async def test_s2_a_yes_resumes_it_and_the_call_runs_once(answer: Any) -> None:
    desk = Desk()
    async with system([office(desk, [SEND])]) as placet:
        run = await go(placet)
        run = await run.inputs[0].answer(answer, from_="alice")
        assert (run.status, run.text, desk.ran) == (RunStatus.COMPLETED, "done", [SEND])


@pytest.mark.parametrize("answer", ["no", "N", False, {"decision": "denied"}])
async def test_s3_a_no_resumes_it_and_the_model_hears_of_the_denial(answer: Any) -> None:
    desk = Desk()
    async with system([office(desk, [SEND])]) as placet:
        run = await go(placet)
        run = await run.inputs[0].answer(answer, from_="alice")
        assert (run.status, desk.ran) == (RunStatus.COMPLETED, [])
        assert await told(placet, run) == {"call_1_1": ("denied", "Denied by alice.")}


@pytest.mark.parametrize(
    ("row", "content"),
    [
        ("s28", None),
        ("s16", "approve"),
        ("s16", "yes!"),
        ("s16", "t"),
        ("s16", "\uff39"),
        ("s16", ""),
        ("s16", ["y"]),
        ("s32", {}),
        ("s32", {"approved": True}),
        ("s32", {"interruptResponse": {"response": "y"}}),
    ],
)
async def test_s16_s28_s32_what_is_no_answer_leaves_the_same_question_waiting(
    row: str, content: Any
) -> None:
    desk = Desk()
    async with system([office(desk, [SEND])]) as placet:
        run = await go(placet)
        with pytest.raises(Invalid):
            await run.inputs[0].settle("accept", content, from_="alice")
        still = await run.refresh()
        assert [each.id for each in still.inputs] == [run.inputs[0].id]
        assert (still.status, desk.ran) == (RunStatus.INPUT_REQUIRED, [])


async def test_s31_an_answer_to_an_unknown_question_is_refused_and_changes_nothing() -> None:
    desk = Desk()
    async with system([office(desk, [SEND])]) as placet:
        run = await go(placet)
        with pytest.raises(NotFound):
            await placet.client.input("inp_" + "0" * 32)
        stranger = replace(
            run.inputs[0], value=run.inputs[0].value.model_copy(update={"id": "inp_" + "0" * 32})
        )
        with pytest.raises(NotFound):
            await stranger.settle("accept", True, from_="alice")
        assert (await run.refresh()).status == RunStatus.INPUT_REQUIRED
        assert desk.ran == []


async def test_s26_two_questions_of_a_turn_are_answered_one_by_one_and_the_free_call_runs() -> None:
    desk = Desk()
    async with system([office(desk, [SEND, READ, WIPE], allowed_tools=["read"])]) as placet:
        run = await go(placet)
        assert [asked.call.tool for asked in approvals(run)] == ["send", "wipe"]
        await eventually(lambda: desk.did == ["read"])
        await run.inputs[1].settle("accept", "no", from_="alice")
        await placet.settled_outboxes(run.id)
        still = await run.refresh()
        assert still.status == RunStatus.INPUT_REQUIRED
        assert [each.id for each in still.inputs] == [run.inputs[0].id]
        run = await still.inputs[0].answer("y", from_="alice")
        assert (run.status, desk.did) == (RunStatus.COMPLETED, ["read", "send"])
        outcomes = {call: outcome for call, (outcome, _) in (await told(placet, run)).items()}
        assert outcomes == {"call_1_1": "ok", "call_1_2": "ok", "call_1_3": "denied"}


async def test_s40_the_reason_of_a_classifier_is_in_the_question() -> None:
    verdict = RiskVerdict(True, "it leaves the house")
    async with system([office(Desk(), [SEND], classifier=lambda call: verdict)]) as placet:
        (asked,) = approvals(await go(placet))
        assert "it leaves the house" in asked.context["reason"]


async def test_s69_a_question_has_the_same_id_after_a_restart(after_a_restart: Start) -> None:
    desk = Desk()
    async with after_a_restart(office(desk, [SEND])) as placet:
        run = await go(placet)
        waiting = run.inputs[0].id
        assert waiting == derived_id("inp", "default", run.id, "call_1_1", "approval")
    async with after_a_restart(office(desk, [SEND])) as placet:
        run = await placet.client.runs.get(run.id)
        assert [each.id for each in run.inputs] == [waiting]
        run = await run.inputs[0].answer("yes", from_="alice")
        assert (run.status, desk.ran) == (RunStatus.COMPLETED, [SEND])


class Judge:
    def __init__(self, verdict: RiskVerdict) -> None:
        self.verdict = verdict
        self.judged: list[ToolCall] = []

    def __call__(self, call: ToolCall) -> RiskVerdict:
        self.judged.append(call)
        return self.verdict


@pytest.mark.parametrize(("answer", "did"), [("no", []), ("yes", ["send"])])
async def test_s48_s49_a_classifier_that_thinks_better_of_it_overrules_no_answer(
    answer: str, did: list[str], after_a_restart: Start
) -> None:
    desk = Desk()
    before, after = Judge(RiskVerdict(True)), Judge(RiskVerdict(False))
    async with after_a_restart(office(desk, [SEND], classifier=before)) as placet:
        run = await go(placet)
    async with after_a_restart(office(desk, [SEND], classifier=after)) as placet:
        run = await placet.client.runs.get(run.id)
        run = await run.inputs[0].answer(answer, from_="alice")
        assert (run.status, desk.did) == (RunStatus.COMPLETED, did)
    assert (len(before.judged), len(after.judged)) == (1, 0)


# --- evaluators of one's own ---


@pytest.mark.parametrize(
    ("answer", "did"),
    [
        ("sure", ["send"]),
        ({"how": "sure"}, []),
        (True, []),
        ("y", []),
        ({"decision": "approved"}, []),
        ("", []),
        (0, []),
        ([], []),
    ],
)
async def test_an_evaluator_of_one_s_own_judges_whatever_was_answered(
    answer: Any, did: list[str]
) -> None:
    desk = Desk()
    watched = office(desk, [SEND], evaluate=lambda response: bool(response == "sure"))
    async with system([watched]) as placet:
        run = await go(placet)
        assert approvals(run)[0].accepts == "anything"
        with pytest.raises(Invalid, match="anything but null"):
            await run.inputs[0].settle("accept", None, from_="alice")
        run = await run.inputs[0].answer(answer, from_="alice")
        assert (run.status, desk.did) == (RunStatus.COMPLETED, did)


async def test_it_reads_an_answer_once_and_never_again_after_a_restart(
    after_a_restart: Start,
) -> None:
    desk, read = Desk(), list[Any]()

    def evaluate(response: Any) -> bool:
        read.append(response)
        return True

    turns = ([SEND], [WIPE])
    async with after_a_restart(office(desk, *turns, evaluate=evaluate)) as placet:
        run = await go(placet)
        run = await run.inputs[0].answer("one", from_="alice")
        assert read == ["one"]
    async with after_a_restart(office(desk, *turns, evaluate=evaluate)) as placet:
        run = await placet.client.runs.get(run.id)
        run = await run.inputs[0].answer("two", from_="alice")
    assert (read, desk.did) == (["one", "two"], ["send", "wipe"])


async def test_a_decline_is_a_no_that_no_evaluator_reads() -> None:
    desk = Desk()
    async with system([office(desk, [SEND], evaluate=lambda response: True)]) as placet:
        run = await go(placet)
        run = await run.inputs[0].decline("not today", from_="alice")
        assert desk.ran == []
        assert await told(placet, run) == {"call_1_1": ("denied", "Denied by alice: not today")}


def test_a_trust_evaluator_counts_only_where_trust_is_on() -> None:
    def always(response: Any) -> bool:
        return True

    assert office(Desk(), evaluate_trust=always).accepts == "words"
    assert office(Desk(), evaluate_trust=always, enable_trust=True).accepts == "anything"


# --- trust ---


@pytest.mark.parametrize("word", ["t", " TRUST "])
async def test_s21_trust_runs_the_call_and_covers_the_later_ones_of_its_run(word: str) -> None:
    desk = Desk()
    async with system([office(desk, [SEND], [EVE], enable_trust=True)]) as placet:
        run = await go(placet)
        assert approvals(run)[0].trust
        run = await run.inputs[0].answer(word, from_="alice")
        assert (run.status, desk.ran) == (RunStatus.COMPLETED, [SEND, EVE])
        await eventually(lambda: trusted(placet, run))
        assert await trusted(placet, run) == ["send"], "once"


async def test_s20_where_trust_can_not_be_given_t_is_no_answer() -> None:
    desk = Desk()
    watched = office(desk, [WIPE], enable_trust=True, allowed_tools=["*", "!wipe"])
    async with system([watched]) as placet:
        run = await go(placet)
        assert not approvals(run)[0].trust
        with pytest.raises(Invalid, match="y, yes, n or no"):
            await run.inputs[0].settle("accept", "t", from_="alice")
        assert (await run.refresh()).status == RunStatus.INPUT_REQUIRED
        assert desk.ran == []


async def test_s22_trust_survives_a_restart_for_the_same_agent_and_person(
    after_a_restart: Start,
) -> None:
    desk = Desk()
    watched = office(desk, [SEND], enable_trust=True)
    async with after_a_restart(watched) as placet:
        first = await go(placet)
        first = await first.inputs[0].answer("t", from_="alice")
    async with after_a_restart(watched) as placet:
        again = await go(placet, first.agent_id)
        assert (again.status, len(desk.ran)) == (RunStatus.COMPLETED, 2)
        for agent_id, person in ((first.agent_id, "bob"), ("office", "alice")):
            other = await go(placet, agent_id, person)
            assert other.status == RunStatus.INPUT_REQUIRED, f"{person} with {agent_id}"
        assert len(desk.ran) == 2


async def test_trust_is_listed_and_ended_for_one_person(after_a_restart: Start) -> None:
    desk = Desk()
    async with after_a_restart(office(desk, [SEND], enable_trust=True)) as placet:
        first = await go(placet)
        await first.inputs[0].answer("t", from_="alice")
        agent = placet.client.agent(first.agent_id)
        assert await agent.trusted(user="alice") == ["send"]
        assert await agent.trusted(user="bob") == []
        assert await agent.end_trust("send", user="bob") == []
        assert await agent.trusted(user="alice") == ["send"]
        assert await agent.end_trust("send", user="alice") == []
        assert await agent.end_trust("send", user="alice") == [], "again is harmless"
        again = await go(placet, first.agent_id)
        assert again.status == RunStatus.INPUT_REQUIRED


async def test_s22_trust_of_nobody_in_particular_ends_with_its_run() -> None:
    desk = Desk()
    async with system([office(desk, [SEND], [EVE], enable_trust=True)]) as placet:
        run = await go(placet, user=None)
        run = await run.inputs[0].answer("t", from_="carol")
        assert desk.ran == [SEND, EVE]
        again = await go(placet, run.agent_id, user=None)
        assert again.status == RunStatus.INPUT_REQUIRED


async def test_s22_whoever_speaks_next_in_a_run_has_to_be_asked_again(
    after_a_restart: Start,
) -> None:
    desk = Desk()
    async with after_a_restart(office(desk, [SEND], [WIPE], enable_trust=True)) as placet:
        run = await go(placet)
        run = await run.inputs[0].answer("t", from_="alice")
        assert [asked.call.tool for asked in approvals(run)] == ["wipe"]
        await placet.client.agent(run.agent_id).message("do it again", user="bob")
        waits = {"send"}

        async def asks_bob() -> Run | None:
            seen = await run.refresh()
            return seen if {asked.call.tool for asked in approvals(seen)} == waits else None

        asked = await eventually(asks_bob)
        assert approvals(asked)[0].audience.initiator == "bob"
        await asked.inputs[0].settle("accept", "t", from_="bob")
        await eventually(lambda: trusted(placet, run, "bob"))
        assert await trusted(placet, run, "alice") == ["send"]


async def test_s24_a_later_negation_wins_over_trust(after_a_restart: Start) -> None:
    desk = Desk()
    async with after_a_restart(office(desk, [SEND], enable_trust=True)) as placet:
        first = await go(placet)
        first = await first.inputs[0].answer("t", from_="alice")
    stern = office(desk, [SEND], enable_trust=True, allowed_tools=["!send"])
    async with after_a_restart(stern) as placet:
        again = await go(placet, first.agent_id)
        assert (again.status, desk.ran) == (RunStatus.INPUT_REQUIRED, [SEND])


async def test_trust_counts_for_nothing_while_it_is_off_and_again_once_it_is_on(
    after_a_restart: Start,
) -> None:
    desk = Desk()
    for on, status in ((True, "completed"), (False, "input_required"), (True, "completed")):
        async with after_a_restart(office(desk, [SEND], enable_trust=on)) as placet:
            if not desk.ran:
                run = await go(placet)
                run = await run.inputs[0].answer("t", from_="alice")
            run = await go(placet, run.agent_id)
            assert run.status == status
            await placet.client.runs.get(run.id)
            if run.status.live:
                await run.abort()


async def test_trust_that_is_switched_off_under_a_waiting_run_covers_its_later_calls_no_more(
    after_a_restart: Start,
) -> None:
    desk = Desk()
    turns = ([SEND], [WIPE], [EVE])
    async with after_a_restart(office(desk, *turns, enable_trust=True)) as placet:
        run = await go(placet)
        run = await run.inputs[0].answer("t", from_="alice")
        assert [asked.call.tool for asked in approvals(run)] == ["wipe"]
    async with after_a_restart(office(desk, *turns)) as placet:
        run = await placet.client.runs.get(run.id)
        run = await run.inputs[0].answer("n", from_="alice")
        assert [(asked.call.tool, asked.call.args) for asked in approvals(run)] == [EVE]
    assert desk.ran == [SEND]


async def test_trust_ends_with_the_tool_as_it_was_and_does_not_come_back(
    after_a_restart: Start,
) -> None:
    desk = Desk()
    send, *others = tools(desk)
    wider = replace(send, description="Send it to everybody.")
    async with after_a_restart(office(desk, [SEND], enable_trust=True)) as placet:
        run = await go(placet)
        run = await run.inputs[0].answer("t", from_="alice")
    for tool in (wider, send):
        boxed = office(desk, [SEND], enable_trust=True, toolbox=[tool, *others])
        async with after_a_restart(boxed) as placet:
            run = await go(placet, run.agent_id)
            assert run.status == RunStatus.INPUT_REQUIRED, tool.description
            await run.abort()
    assert desk.ran == [SEND]


async def test_trust_that_its_writer_could_not_keep_is_kept_by_the_next_one(
    after_a_restart: Start,
) -> None:
    desk = Desk()
    watched = office(desk, [SEND], [WIPE], enable_trust=True)
    async with after_a_restart(watched) as placet:
        run = await go(placet)
        run = await run.inputs[0].answer("t", from_="alice")
        await eventually(lambda: trusted(placet, run))
        agents = placet.runner.talk.agents
        assert isinstance(agents, StoredAgents)
        record = derived_id("trust", "default", run.agent_id, "alice")
        assert await agents._agents.delete(record, {}), "as if it had died before"
    async with after_a_restart(watched) as placet:
        run = await placet.client.runs.get(run.id)
        run = await run.inputs[0].answer("n", from_="alice")
        await eventually(lambda: trusted(placet, run))


async def test_s27_trusting_one_of_two_waiting_calls_lets_both_run() -> None:
    desk = Desk()
    async with system([office(desk, [SEND, EVE], enable_trust=True)]) as placet:
        run = await go(placet)
        first, second = run.inputs
        await first.settle("accept", "t", from_="alice")
        await placet.stands(run.id, RunStatus.COMPLETED)
        assert sorted(args["to"] for _, args in desk.ran) == ["bob", "eve"]
        assert (await placet.client.input(second.id)).state == "withdrawn"
        assert not (await run.refresh()).inputs


async def test_s27_an_evaluator_s_trust_does_so_too() -> None:
    desk = Desk()

    def ever(response: Any) -> bool:
        return bool(response == "ever")

    watched = office(desk, [SEND, EVE, WIPE], enable_trust=True, evaluate_trust=ever)
    async with system([watched]) as placet:
        run = await go(placet)
        await run.inputs[1].settle("accept", "ever", from_="alice")
        await eventually(lambda: sorted(args["to"] for _, args in desk.ran) == ["bob", "eve"])
        run = await run.refresh()
        assert [asked.call.tool for asked in approvals(run)] == ["wipe"]
        run = await run.inputs[0].answer("y", from_="alice")
        assert (run.status, len(desk.ran)) == (RunStatus.COMPLETED, 3)


async def test_s27_a_call_that_was_denied_before_stays_denied() -> None:
    desk = Desk()
    async with system([office(desk, [SEND, EVE], enable_trust=True)]) as placet:
        run = await go(placet)
        first, second = run.inputs
        await first.settle("accept", "n", from_="alice")
        run = await second.answer("t", from_="alice")
        assert (run.status, desk.ran) == (RunStatus.COMPLETED, [EVE])


# --- what is kept, on both stores ---


async def test_trust_is_kept_once_for_an_input_and_for_the_tool_as_it_was(
    databases: Databases,
) -> None:
    database = databases("runs")
    agents = StoredAgents(database.collection("agents"))
    await database.open()
    who = ("default", "agt_1", "alice")

    async def keep(tool: str, digest: str, input_id: str) -> None:
        given = TrustGiven(tool=tool, schema_digest=digest, input_id=input_id, person="alice")
        await agents.keep_trust("default", "agt_1", given)

    try:
        assert await agents.trusted(*who) == {}
        for _ in range(2):
            await keep("send", "d1", "inp_1")
        await keep("$wi.pe", "d1", "inp_2")
        assert await agents.trusted(*who) == {"send": "d1", "$wi.pe": "d1"}
        await agents.end_trust(*who, "send", "d0")
        await agents.end_trust(*who, "read", "d1")
        assert len(await agents.trusted(*who)) == 2, "neither was trusted"
        await agents.end_trust(*who, "send", "d1")
        await keep("send", "d1", "inp_1")
        assert await agents.trusted(*who) == {"$wi.pe": "d1"}, "the same answer, once"
        await keep("send", "d2", "inp_3")
        await agents.end_trust(*who, "send", "d1")
        assert await agents.trusted(*who) == {"$wi.pe": "d1", "send": "d2"}
        for other in (("else", "agt_1", "alice"), ("default", "agt_2", "alice")):
            assert await agents.trusted(*other) == {}
        assert await agents.trusted("default", "agt_1", "bob") == {}
        assert await agents.current("default", "agt_1") is None, "it is no record of runs"
    finally:
        await database.close()


# --- what a runner can't do ---


def test_a_runner_refuses_a_definition_that_approves_everything() -> None:
    agent = Agent(
        "ops", model=ScriptedModel(steps(says("x"))), approval_handler=AutoApprovalHandler()
    )
    kept = for_a_runner(Loaded(agents={"ops": agent}))
    assert kept.agents == {}
    assert kept.problems[0].startswith("agent ops: AutoApprovalHandler")


async def test_a_runner_refuses_an_agent_that_asks_in_place_and_names_the_remedy() -> None:
    inline = office(Desk(), [SEND], ask=lambda prompt: "y")
    typed = replace(inline, name="typed", interventions=[HumanInTheLoop(ask="stdio")])
    plain = replace(inline, name="plain", interventions=[HumanInTheLoop()])
    async with system([inline, typed, plain]) as placet:
        with pytest.raises(NotFound, match="definitions: plain"):
            await placet.client.agent("office").run("go")
        problems = placet.runner.loaded.problems
        assert [problem.split(":")[0] for problem in problems] == ["agent office", "agent typed"]
        assert all("leave `ask` out" in problem for problem in problems)


def test_what_could_not_be_loaded_is_still_told() -> None:
    loaded = Loaded(problems=["a.py:3: KeyError"])
    assert for_a_runner(loaded).problems == ["a.py:3: KeyError"]
