"""The shell and file tools under the gate: what runs by itself, what asks, and what a yes covers."""

import os
from pathlib import Path
from typing import Any

import pytest

from placet import Agent, ScriptedModel
from placet.agents.scripted import calls, says, steps
from placet.client import Run
from placet.domain.run import RunStatus
from placet.kernel.turns import ModelReply
from tests.support.system import System, system

pytestmark = pytest.mark.integration

SHELL = ("bash", "read_file", "write_file", "edit_file", "list_dir")


def shell(line: str) -> ModelReply:
    return calls(("bash", {"command": line}))


def worker(folder: Path, *replies: ModelReply, **parts: Any) -> Agent:
    model = ScriptedModel(steps(*replies, says("done")))
    return Agent("ops", model=model, builtins=SHELL, folder=folder, **parts)


def written(path: Path) -> str:
    """What is in a file, if it is there."""
    return path.read_text() if path.exists() else ""


async def outcomes(placet: System, run: Run) -> list[str]:
    image = await placet.image(run.id)
    return [
        e["result"]["outcome"] for e in image.document["journal"] if e["type"] == "tool.finished"
    ]


async def test_a_line_of_safe_commands_runs_unasked_and_another_asks(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("hello")
    agent = worker(tmp_path, shell("cat note | wc -c"), shell("touch made"))
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        request = run.inputs[0].value.request
        assert request.message == "Allow bash to run? touch made"
        assert request.options[1] == "Allow exactly this call for this stage"  # type: ignore[union-attr]
        assert "touch is not on the safe list" in str(request.context["reason"])
        assert not (tmp_path / "made").exists()
        run = await run.inputs[0].answer(True, from_="alice")
        assert (tmp_path / "made").exists()
        assert await outcomes(placet, run) == ["ok", "ok"]


async def test_a_named_grant_covers_the_command_with_any_arguments_and_no_other_command(
    tmp_path: Path,
) -> None:
    agent = worker(tmp_path, shell("touch a"), shell("touch b && ls"), shell("touch c; mkdir d"))
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        named = {"decision": "approved", "scope": "run", "grant": "named"}
        run = await run.inputs[0].answer(named, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert "mkdir is not on the safe list" in str(run.inputs[0].value.request.context["reason"])
        assert (tmp_path / "b").exists()
        assert not (tmp_path / "c").exists()
        [grant] = await placet.client.runs.grants(run.id)
        assert (grant.keys, grant.uses) == (("touch",), 1)


async def test_l31_a_line_that_names_nothing_is_approved_once_and_asks_again(
    tmp_path: Path,
) -> None:
    agent = worker(tmp_path, shell("echo $(date)"), shell("echo $(date)"))
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.inputs[0].value.request.scopes == ("once",)  # type: ignore[union-attr]
        scoped = {"decision": "approved", "scope": "run"}
        run = await run.inputs[0].answer(scoped, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert await placet.client.runs.grants(run.id) == []


async def test_reading_is_free_and_writing_asks_with_what_is_there_bound_to_the_yes(
    tmp_path: Path,
) -> None:
    (tmp_path / "note").write_text("one")
    write = calls(("write_file", {"path": "note", "content": "three"}))
    agent = worker(tmp_path, calls(("read_file", {"path": "note"})), write)
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.inputs[0].value.request.message == "Allow write_file to run? note"
        (tmp_path / "note").write_text("two")
        run = await run.inputs[0].answer(True, from_="alice")
        assert run.status == RunStatus.INPUT_REQUIRED, "the file has changed since"
        assert (tmp_path / "note").read_text() == "two"
        run = await run.inputs[0].answer(True, from_="alice")
        assert (tmp_path / "note").read_text() == "three"


async def test_the_environment_of_the_runner_can_not_be_read_by_a_line_that_runs_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACET_SECRET_FOR_TEST", "hunter2")
    agent = worker(
        tmp_path, shell(f"cat /proc/{os.getpid()}/environ"), shell("cat /proc/1/environ")
    )
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.status == RunStatus.COMPLETED
        journal = str((await placet.image(run.id)).document["journal"])
        assert "hunter2" not in journal
        assert "PLACET" not in journal


async def test_ap98_an_agent_does_not_write_what_holds_its_permissions_unasked(
    tmp_path: Path,
) -> None:
    write = calls(("write_file", {"path": "placet.toml", "content": "[shell]"}))
    agent = worker(tmp_path, write, tool_permissions={"write_file": "allow"})
    async with system([agent]) as placet:
        run = await placet.client.agent("ops").run("go", user="alice")
        assert run.status == RunStatus.INPUT_REQUIRED
        assert not written(tmp_path / "placet.toml")
