"""A folder for an agent, with what is Placet's beside it or in it, and lines that run there."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from placet.agents.workspace import Own, Sandbox, ShellSettings, Workspace
from placet.agents.workspace.environment import shell_environment
from placet.agents.workspace.running import Bounds, Ran, run
from placet.agents.workspace.sandbox import first_of
from placet.ids import new_id

NOBODY = 65_534
HIDDEN = "operators-eyes-only"


@dataclass(frozen=True)
class Site:
    """One agent's folder in one sandbox."""

    base: Path
    sandbox: Sandbox

    @property
    def folder(self) -> Path:
        return self.sandbox.workspace.folder

    @property
    def own(self) -> Own:
        return self.sandbox.workspace.own

    async def ran(self, line: str, seconds: float = 30, output_bytes: int = 65_536) -> Ran:
        """Run a line as the shell tool does."""
        return await run(
            self.sandbox.command(line),
            self.folder,
            shell_environment(self.sandbox.workspace),
            Bounds(seconds, output_bytes),
            self.sandbox.ending,
        )

    async def says(self, line: str) -> str:
        """What the line writes, whatever its exit code."""
        ran = await self.ran(line)
        return ran.stdout.text + ran.stderr.text

    def started_by_another(self, line: str) -> "subprocess.Popen[bytes]":
        """A process that runs a line and waits for it, as Placet does; kill it."""
        script = "import subprocess, sys; subprocess.run(sys.argv[1:], start_new_session=True)"
        command = [sys.executable, "-c", script, *self.sandbox.command(line)]
        return subprocess.Popen(command, cwd=self.folder)


@contextmanager
def site(name: str, *, inside: bool = False, unsandboxed: bool = False) -> Iterator[Site]:
    """A site in the sandbox of this name; with `inside`, Placet was started in the agent's folder."""
    base = Path(tempfile.mkdtemp(prefix="placet-site-"))
    base.chmod(0o755)
    try:
        folder = base / "work"
        folder.mkdir()
        own = placets(folder if inside else base)
        shell = ShellSettings(unsandboxed=unsandboxed)
        if name == "another user":
            shell = replace(shell, user=str(NOBODY))
            os.chown(folder, NOBODY, NOBODY)
        yield Site(base, first_of(Workspace(folder, shell, own), [name]))
    finally:
        shutil.rmtree(base)


def placets(home: Path) -> Own:
    """What is Placet's in the folder that it was started in, for its user alone."""
    data = home / ".placet"
    (data / "data").mkdir(parents=True)
    definition = home / "agents" / "ops.py"
    definition.parent.mkdir()
    program = home / "venv" / "lib"
    program.mkdir(parents=True)
    for file in (home / "placet.toml", data / "data/key", definition, program / "code.py"):
        file.write_text(HIDDEN)
        file.chmod(0o600)
    data.chmod(0o700)
    return Own(home / "placet.toml", (data,), (definition,), (program.parent,))


def sleeping(**environment: str) -> "subprocess.Popen[bytes]":
    """A process outside of any sandbox, as Placet is one; kill it."""
    return subprocess.Popen(["sleep", "60"], env=environment)


def token() -> str:
    """A number of seconds to sleep that no other test has."""
    return f"1{int(new_id('t')[-10:], 36) % 10**9}"


def alive(token: str) -> list[int]:
    """The processes of this machine, in whatever sandbox, that have this among their arguments."""
    found = []
    for each in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in words:
            found.append(int(each))
    return found
