"""A yes is for one exact call on the thing that the person was shown."""

from pathlib import Path

import pytest

from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps
from placet.domain.run import RunStatus
from tests.integration.runner.test_loop import results
from tests.support.system import deploy, system

pytestmark = pytest.mark.integration


def editor(folder: Path, *, broken: bool = False) -> Agent:
    def seen(args: object) -> str:
        if broken:
            raise OSError("no such disk")
        return (folder / "note").read_text()

    @tool(risk=ToolRisk.HIGH, fingerprint=seen)
    async def append(ctx: Context, text: str) -> str:
        """Write to the note."""
        with (folder / "note").open("a") as note:
            note.write(text)
        return "written"

    model = ScriptedModel(steps(calls(("append", {"text": "!"})), says("done")))
    return Agent("ops", model=model, tools=[append])


async def test_a_resource_that_changed_since_the_yes_is_asked_about_again_and_nothing_runs(
    tmp_path: Path,
) -> None:
    (tmp_path / "note").write_text("one")
    async with system([editor(tmp_path)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        first = run.inputs[0]
        (tmp_path / "note").write_text("two")
        run = await first.answer(True, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert (tmp_path / "note").read_text() == "two", "nothing ran on the old yes"
        [again] = run.inputs
        assert again.id != first.id
        assert "one when it was approved, two now" in again.value.request.message
        run = await again.answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert (tmp_path / "note").read_text() == "two!"


async def test_a_resource_that_is_the_same_runs_at_once(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("one")
    async with system([editor(tmp_path)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert (tmp_path / "note").read_text() == "one!"


async def test_a_fingerprint_that_fails_says_so_and_a_yes_to_that_counts(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("one")
    async with system([editor(tmp_path, broken=True)]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        opened = [
            e
            for e in (await placet.image(run.id)).document["journal"]
            if e["type"] == "input.opened"
        ]
        assert opened[0]["fingerprint"] == "unreadable: no such disk"
        run = await run.inputs[0].answer(True, from_="alice")
        assert dict(results(await placet.image(run.id))) == {"call_1_1": "ok"}


async def test_a_deny_that_came_meanwhile_stops_an_approved_call(tmp_path: Path) -> None:
    """A deploy brings a policy that denies: the run goes on, the call does not."""
    (tmp_path / "note").write_text("one")
    agent = editor(tmp_path)
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        deploy(agent, tool_permissions={"append": "deny"})
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert (tmp_path / "note").read_text() == "one"
        [finished] = [
            e["result"]
            for e in (await placet.image(run.id)).document["journal"]
            if e["type"] == "tool.finished"
        ]
        assert finished["outcome"] == "refused"
        assert finished["content"].startswith("policy_changed")
