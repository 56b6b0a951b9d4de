"""The shell tool: one line, in a new shell, in the agent's folder, in a sandbox."""

import asyncio
from typing import Any

from placet.agents.tool import Tool, tool
from placet.agents.workspace.environment import shell_environment
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.running import Bounds, Ran, run
from placet.agents.workspace.sandbox import sandbox_for
from placet.errors import ToolError

LONGEST_LINE = 100_000
"""Bytes; the system takes 128 KiB for one argument."""


def bash(workspace: Workspace) -> Tool:
    """The tool `bash` for this workspace. Nothing is started until it is called.

    A call whose outcome is unknown is never repeated: nobody can tell what a line does twice.
    """

    @tool(name="bash", retry="ask")
    async def made(command: str, seconds: float | None = None) -> dict[str, Any]:
        """Run a command line in bash, in your folder.

        Every call is a new shell: only files stay. There is no input and no terminal. What still
        runs when the line ends, or after its time (`seconds`; a limit holds anyway), is ended.
        Returns the exit code, stdout and stderr; of long output the middle is left out.
        """
        return await run_line(workspace, command, seconds)

    return made


async def run_line(workspace: Workspace, line: str, seconds: float | None = None) -> dict[str, Any]:
    """Run one line and say what came of it; a failing line is a result like any other.

    Raises:
        ToolError: a line that bash can't be given, or no positive number of seconds.
        SettingsError: there is no sandbox here; nothing ran.
    """
    _check(line, seconds)
    most = workspace.shell.seconds
    bounds = Bounds(min(seconds or most, most), workspace.shell.output_bytes)
    sandbox = await asyncio.to_thread(sandbox_for, workspace)
    command = await asyncio.to_thread(sandbox.command, line)
    environment = shell_environment(workspace)
    try:
        ran = await run(command, workspace.folder, environment, bounds, sandbox.ending)
    except OSError as error:
        raise ToolError(f"bash can't be started: {error.strerror}; nothing ran") from error
    return _told(ran)


def _check(line: str, seconds: float | None) -> None:
    try:
        size = len(line.encode())
    except UnicodeEncodeError:
        raise ToolError("the command holds half a character; nothing ran") from None
    if "\0" in line:
        raise ToolError("the command holds a NUL character, which bash can't be given; nothing ran")
    if size > LONGEST_LINE:
        raise ToolError(
            f"the command has {size} bytes, over {LONGEST_LINE}: write a file and run that; nothing ran"
        )
    if seconds is not None and not seconds > 0:
        raise ToolError(f"seconds is {seconds:g}; use more than 0; nothing ran")


def _told(ran: Ran) -> dict[str, Any]:
    told: dict[str, Any] = {
        "exit_code": ran.code,
        "stdout": ran.stdout.text,
        "stderr": ran.stderr.text,
    }
    if ran.ended:
        told["ended"] = f"{ran.ended}, and was ended with all that it started"
    for name, output in (("stdout", ran.stdout), ("stderr", ran.stderr)):
        if output.cut:
            told[f"{name}_bytes"] = output.total
    return told
