"""When a call is over, nothing that it started is left, however it ended and whatever it did about it."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from placet.agents.workspace import ShellSettings, Workspace
from placet.agents.workspace.shell import run_line
from tests.integration.workspace.site import Site, alive, token
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

STARTING = (
    "sleep {token}",
    "sleep {token} & wait",
    "(setsid sleep {token} >/dev/null 2>&1 &); sleep 1000",
    "(setsid bash -c 'setsid sleep {token} >/dev/null 2>&1 &' &); sleep 1000",
    "trap '' TERM INT HUP; sleep {token}; sleep 1000",
    "exec >/dev/null 2>&1; sleep {token}",
    "setsid env -i sleep {token}",
)
"""What a line may do so as not to be ended with it."""


async def test_a_line_that_takes_too_long_is_ended_with_all_that_it_started(
    any_site: Site,
) -> None:
    async def late(line: str) -> None:
        name = token()
        ran = await any_site.ran(f"echo begun; {line.format(token=name)}", seconds=2)
        assert (ran.code, ran.ended) == (None, "it took longer than 2 s"), line
        assert ran.stdout.text == "begun\n"
        await gone(name)

    await all_at_once(late)


async def test_a_line_that_is_cancelled_is_ended_with_all_that_it_started(any_site: Site) -> None:
    async def cancelled(line: str) -> None:
        name = token()
        running = asyncio.create_task(any_site.ran(line.format(token=name)))
        await eventually(lambda: alive(name))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await gone(name)

    await all_at_once(cancelled)


async def test_what_a_finished_line_left_running_is_ended(any_site: Site) -> None:
    name = token()
    ran = await any_site.ran(
        f"(setsid sleep {name} &); (setsid sleep {name} >/dev/null 2>&1 &); exit 7"
    )
    assert (ran.code, ran.ended) == (7, None)
    await gone(name)


async def test_a_line_that_floods_is_ended_and_said_to_be(any_site: Site) -> None:
    name = token()
    line = f"(setsid sleep {name} >/dev/null 2>&1 &); yes"
    ran = await any_site.ran(line, output_bytes=10_000)
    assert ran.ended == "it wrote more than 2560000 bytes"
    assert ran.stdout.text.startswith("y\ny\n")
    await gone(name)


async def test_a_line_does_not_outlive_the_process_that_runs_it(any_site: Site) -> None:
    name = token()
    with any_site.started_by_another(f"(setsid sleep {name} &); sleep {name}") as placet:
        await eventually(lambda: len(alive(name)) == 2)
        placet.kill()
    await eventually(lambda: not alive(name))


async def test_many_lines_at_once_do_not_end_each_other(any_site: Site) -> None:
    ran = await asyncio.gather(*(any_site.ran(f"sleep 0.2; echo {n}") for n in range(8)))
    assert [each.stdout.text for each in ran] == [f"{n}\n" for n in range(8)]


@pytest.mark.parametrize(
    ("line", "code"), [("exit 3", 3), ("kill -9 $$", 128 + signal.SIGKILL), ("nope", 127)]
)
async def test_the_exit_code_is_the_shells(any_site: Site, line: str, code: int) -> None:
    assert (await any_site.ran(line)).code == code


async def test_it_is_the_same_on_uvloop(tmp_path: Path) -> None:
    name = token()
    workspace = Workspace(tmp_path, ShellSettings(seconds=1))

    def both() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            told = runner.run(run_line(workspace, f"echo begun; sleep {name}"))
            assert (told["exit_code"], told["stdout"]) == (None, "begun\n")
            assert runner.run(run_line(workspace, "exit 3"))["exit_code"] == 3

    await asyncio.to_thread(both)
    await gone(name)


async def all_at_once(check: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    """For every line; one that fails ends the others."""
    async with asyncio.TaskGroup() as group:
        for line in STARTING:
            group.create_task(check(line))


async def gone(name: str) -> None:
    """Not in a while: at once, but for the moment in which the system takes it off its list."""
    await eventually(lambda: not alive(name), within=5)
