"""Interaction points of durable runs: what waits in the store, and what each answer does to the run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from placet import Stage
from placet.agents.scripted import calls, says
from placet.client import Input, Run
from placet.errors import Conflict, Invalid
from placet.kernel.turns import ModelReply
from placet.process.platform import Buses, Databases
from tests.integration.runner.agents import Ledger, agent
from tests.support.eventually import eventually
from tests.support.system import System, deploy, on_disk, system
from tests.support.watched import EXAMPLE_SCRIPT, Watched, example, point, staged

pytestmark = pytest.mark.integration


async def start(placet: System, name: str = "coder") -> Run:
    return await placet.client.agent(name).run("make a plan", user="alice")


async def answered(run: Run, *contents: Any) -> Run:
    """The run after its oldest input, and the ones that follow, got these answers."""
    for content in contents:
        run = await waiting(run).answer(content, from_="alice")
    return run


def waiting(run: Run) -> Input:
    (only,) = run.inputs
    return only


async def readings(placet: System, run: Run) -> list[tuple[str, str]]:
    entries = await placet.client.runs.journal(run.id)
    return [(e["point"], e["reading"]) for e in entries if e["type"] == "point.settled"]


async def test_l70_a_point_waits_in_the_list_with_its_text_and_says_why_the_run_waits() -> None:
    model = Watched(says("the plan"), says("built"))
    async with system([staged(model, point())]) as placet:
        run = await start(placet)
        assert (run.status, run.value.wait_reason) == ("input_required", "interaction_point")
        assert (run.value.stage, len(model.seen)) == ("plan", 1)
        request = waiting(run).value.request
        assert (request.kind, request.message, request.body) == (
            "multiple_choice",
            "sign_off?",
            "the plan",
        )
        run = await answered(run, "Approve")
        assert (run.status, run.text, run.value.stage) == ("completed", "built", "build")
        assert model.said == ["make a plan", "Approve", "The stage build begins."]
        assert run.passed == ()


@pytest.mark.parametrize(
    ("answers", "outcome", "model_calls"),
    [
        (["Revise", "Approve"], "completed", 3),
        (["Edit", "my plan", "Approve"], "completed", 2),
        (["Edit", "", "Approve"], "completed", 2),
        ([3], "cancelled", 1),
        (["Abort"], "cancelled", 1),
        (["Revise"] * 5, "completed", 6),
    ],
    ids=["revise", "edit", "blank edit", "abort by index", "abort", "exhausted"],
)
async def test_l72_l73_l74_l79_answers_do_durably_what_they_do_in_one_process(
    answers: Sequence[Any], outcome: str, model_calls: int
) -> None:
    plans = [says(f"plan {n}") for n in range(1, 1 + model_calls - (outcome == "completed"))]
    model = Watched(*plans, says("built"))
    async with system([staged(model, point())]) as placet:
        run = await answered(await start(placet), *answers)
        assert (run.status, len(model.seen)) == (outcome, model_calls)
        assert await placet.client.inbox("pending") == []


async def test_l75_declining_aborts_whoever_declines_by_whichever_word() -> None:
    for style in ("multiple_choice", "confirm", "free_text"):
        model = Watched(says("the plan"), says("built"))
        own = point() if style == "multiple_choice" else point(style=style)
        async with system([staged(model, own)]) as placet:
            run = await waiting(await start(placet)).decline(from_="alice")
            assert (run.status, len(model.seen)) == ("cancelled", 1)


async def test_a_choice_that_is_none_is_refused_and_the_point_waits_on() -> None:
    async with system([staged(Watched(says("the plan")), point())]) as placet:
        run = await start(placet)
        for wrong in ("Approved", "", True, 4, None, {"choice": "Approve"}):
            with pytest.raises(Invalid):
                await waiting(run).settle("accept", wrong, from_="alice")
        assert (await run.refresh()).value.wait_reason == "interaction_point"


async def test_two_points_are_asked_one_after_the_other_under_ids_of_their_own() -> None:
    model = Watched(says("the plan"), says("built"))
    async with system([staged(model, point("a"), point("b"))]) as placet:
        first = await start(placet)
        second = await answered(first, "Approve")
        assert [waiting(first).message, waiting(second).message] == ["a?", "b?"]
        assert waiting(first).id != waiting(second).id
        with pytest.raises(Conflict):
            await waiting(first).settle("accept", "Abort", from_="alice")
        run = await answered(second, "Approve")
        assert (run.status, await readings(placet, run)) == (
            "completed",
            [("a", "approved"), ("b", "approved")],
        )


async def test_l79_on_exhausted_stop_fails_the_run_and_names_the_point() -> None:
    model = Watched(*[says(f"plan {n}") for n in range(1, 6)], says("built"))
    async with system([staged(model, point(on_exhausted="stop"))]) as placet:
        run = await answered(await start(placet), *["Revise"] * 5)
        assert run.status == "failed"
        assert run.error is not None
        assert (run.error.code, "sign_off" in run.error.message) == ("revisions_exhausted", True)


# --- what is parked outlives its process


async def asked(run: Run) -> tuple[Any, ...]:
    request = waiting(run).value.request
    return (request.id, request.kind, request.body, request.digest, request.context["round"])


@pytest.mark.parametrize("before", [[], ["Revise"], ["Edit"]], ids=["asked", "revised", "editing"])
async def test_l87_a_parked_point_is_the_same_after_a_restart_without_a_model_call(
    tmp_path: Path, before: list[str]
) -> None:
    replies = (says("plan 1"), says("plan 2"), says("built"))
    async with system([staged(Watched(*replies), point())], on_disk(tmp_path)) as placet:
        parked = await answered(await start(placet), *before)
        first = await asked(parked)
        await placet.settled_outboxes(parked.id)
    model = Watched(*replies)
    async with system([staged(model, point())], on_disk(tmp_path)) as placet:
        run = await placet.client.runs.get(parked.id)
        assert await asked(run) == first
        assert (run.value.wait_reason, model.seen) == ("interaction_point", [])
        (listed,) = await placet.client.inbox("pending")
        assert listed.id == first[0]
        run = await answered(run, *(["my plan"] if before == ["Edit"] else []), "Approve")
        assert run.status == "completed"
        # Another run of these replies would have been given the first again.
        assert len(model.seen) == 1


async def test_l89_a_point_that_a_deploy_took_away_lets_the_run_go_on(tmp_path: Path) -> None:
    replies = (says("the plan"), says("built"))
    async with system([staged(Watched(*replies), point("old"))], on_disk(tmp_path)) as placet:
        parked = await start(placet)
        await placet.settled_outboxes(parked.id)
    model = Watched(*replies)
    async with system([staged(model, point("new"))], on_disk(tmp_path)) as placet:
        run = await answered(await placet.client.runs.get(parked.id), "Approve")
        assert waiting(run).message == "new?", "the answer to the old one was to a stale prompt"
        run = await answered(run, "Approve")
        assert (run.status, len(model.seen)) == ("completed", 1)


async def test_l89_an_answer_to_options_that_are_gone_asks_again_with_those_that_are(
    tmp_path: Path,
) -> None:
    replies = (says("the plan"), says("built"))
    old = point(options=["Ship", "Stop"], abort_options=["Stop"])
    async with system([staged(Watched(*replies), old)], on_disk(tmp_path)) as placet:
        parked = await start(placet)
        await placet.settled_outboxes(parked.id)
    async with system([staged(Watched(*replies), point())], on_disk(tmp_path)) as placet:
        run = await answered(await placet.client.runs.get(parked.id), "Ship")
        assert waiting(run).value.request.options == ("Approve", "Revise", "Edit", "Abort")  # type: ignore[union-attr]
        assert await readings(placet, run) == [("sign_off", "again")]


async def test_a_message_to_a_parked_point_supersedes_it_and_the_stage_runs_again() -> None:
    model = Watched(says("plan 1"), says("plan 2"), says("built"))
    async with system([staged(model, point())]) as placet:
        parked = await start(placet)
        await placet.client.agent(parked.agent_id).message("shorter", user="alice")

        async def again() -> Run | None:
            run = await parked.refresh()
            return run if run.inputs and waiting(run).id != waiting(parked).id else None

        run = await eventually(again)
        assert waiting(run).value.request.body == "plan 2"
        assert model.said == ["make a plan", "shorter"]
        run = await answered(run, "Approve")
        assert run.status == "completed"


# --- L28, and what a later stage says of the user


def ops(ledger: Ledger, *replies: ModelReply, stages: Sequence[Stage]) -> Any:
    return agent(ledger, *replies, stages=stages)


async def test_l28_a_grant_for_the_stage_covers_a_revision_and_not_the_next_stage() -> None:
    ledger, drop = Ledger(), calls(("drop", {"name": "x"}))
    plan = Stage(name="plan", mode="interactive_points", interaction_points=(point(),))
    script = (drop, says("plan 1"), drop, says("plan 2"), drop, says("done"))
    async with system([ops(ledger, *script, stages=[plan, Stage(name="build")])]) as placet:
        run = await start(placet, "ops")
        grant = {"decision": "approved", "scope": "stage", "grant": "named"}
        run = await answered(run, grant, "Revise")
        assert len(ledger.executions) == 2, "the same stage again keeps it"
        run = await answered(run, "Approve")
        again = waiting(run).value.request
        assert (again.kind, again.stage) == ("tool_approval", "build")
        assert again.context["user_message"] == "make a plan"
        assert len(ledger.executions) == 2
        run = await answered(run, True)
        assert (run.status, len(ledger.executions)) == ("completed", 3)


# --- the example


async def test_the_example_runs_durably_from_the_plan_to_the_report(
    tmp_path: Path, parts: tuple[Databases, Buses]
) -> None:
    model = Watched(*EXAMPLE_SCRIPT)
    async with system([example(tmp_path, model)], parts) as placet:
        run = await start(placet)
        assert waiting(run).message == "Which module?"
        run = await answered(run, "auth", "Revise", "Edit", "the person's plan", "approve")
        request = waiting(run).value.request
        assert (request.kind, request.stage) == ("tool_approval", "build")
        run = await answered(run, True)
        assert (run.status, run.text, run.value.stage) == ("completed", "reported", "report")
        assert (tmp_path / "new.txt").read_text() == "x"
        assert (
            "<region name='plan' edited-by='user'>\nthe person's plan\n</region>"
            in model.seen[-1].instructions
        )
        journal = await placet.client.runs.journal(run.id)
        ended = [e["result"]["outcome"] for e in journal if e["type"] == "tool.finished"]
        assert ended == ["ok", "ok", "ok", "refused", "ok"]


async def test_cp_32_a_run_goes_on_with_the_words_of_its_stages_that_it_started_with() -> None:
    model = Watched(says("the plan"), says("built"))
    coder = staged(model, point(), instructions="you code")
    before = [
        stage.model_copy(update={"instructions": f"{stage.name} as it was"})
        for stage in coder.stages
    ]
    deploy(coder, stages=tuple(before))
    async with system([coder]) as placet:
        run = await start(placet)
        loaded = placet.runner.loaded.agents["coder"]
        after = [
            stage.model_copy(update={"instructions": f"{stage.name} by now"})
            for stage in loaded.stages
        ]
        deploy(loaded, stages=(*after, Stage(name="more", instructions="a new one")))
        assert (await answered(run, "Approve")).status == "completed"
    assert [seen.instructions for seen in model.seen] == [
        "you code\n\nplan as it was",
        "you code\n\nbuild as it was",
        "you code\n\na new one",
    ]
