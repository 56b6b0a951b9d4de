"""The sandboxes of a user that is not root, and of one that can't have any."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import placet
from placet.agents.workspace.environment import TRUSTED_PATH
from tests.integration.workspace.site import NOBODY

pytestmark = pytest.mark.integration

TRY = """
import os, pathlib, subprocess, sys
from placet.agents.workspace import Own, ShellSettings, Workspace
from placet.agents.workspace.environment import shell_environment
from placet.agents.workspace.sandbox import first_of

folder = pathlib.Path(sys.argv[2])
own = Own(folder / "placet.toml", (folder / ".placet",))
own.config.write_text("SECRET")
sandbox = first_of(Workspace(folder, own=own), [sys.argv[1]])
subprocess.run(
    sandbox.command(sys.argv[3]), cwd=folder, env=shell_environment(sandbox.workspace), check=True
)
"""
NO_SANDBOX = """
import asyncio, pathlib, sys
from placet.agents.workspace import Workspace, sandbox_for
from placet.errors import SettingsError

try:
    sandbox_for(Workspace(pathlib.Path(sys.argv[1])))
except SettingsError as error:
    print(error)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder with a copy of Placet that everybody can read, and a folder that anybody can write."""
    with tempfile.TemporaryDirectory(prefix="placet-home-") as name:
        home = Path(name)
        home.chmod(0o755)
        shutil.copytree(Path(placet.__file__).parent, home / "placet")
        (home / "work").mkdir()
        (home / "work").chmod(0o777)
        yield home


@pytest.mark.parametrize("name", ["bubblewrap", "namespaces"])
def test_a_user_without_rights_has_the_same_sandboxes(home: Path, name: str) -> None:
    line = "id -u; grep CapEff /proc/self/status; cat placet.toml; echo made >made; ls /root /home"
    done = as_somebody(home, TRY, name, str(home / "work"), f"{line}; exit 0")
    said = done.stdout.split()
    assert said == [str(uid()), "CapEff:", "0" * 16], done.stdout + done.stderr
    assert done.stderr.count("Permission denied") == 1
    assert done.stderr.count("No such file or directory") == 2
    made = home / "work/made"
    assert (made.read_text(), made.stat().st_uid) == ("made\n", uid())


def test_where_no_sandbox_works_the_shell_says_why_and_what_to_do() -> None:
    """As in a container: root, but without the capabilities and the namespaces that mounts need."""
    with tempfile.TemporaryDirectory() as folder:
        namespace = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
        bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        command = [*namespace, *bare, sys.executable, "-c", NO_SANDBOX, folder]
        environment = {"PATH": TRUSTED_PATH, "PYTHONPATH": str(Path(placet.__file__).parents[1])}
        done = subprocess.run(
            command, env=environment, cwd="/", capture_output=True, text=True, check=True
        )
    for said in (
        "Install bubblewrap",
        "[shell] unsandboxed = true",
        "bubblewrap: ",
        "namespaces: ",
    ):
        assert said in done.stdout


def uid() -> int:
    """Who is somebody."""
    return os.geteuid() or NOBODY


def as_somebody(home: Path, script: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a script with the copy of Placet, as nobody where the tests run as root."""
    # setpriv itself still has root's rights when it starts a program; env has none left.
    ids = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env"]
    other = ids if os.geteuid() == 0 else []
    return subprocess.run(
        [*other, python_for(other), "-B", "-c", script, *words],
        env={"PATH": TRUSTED_PATH, "PYTHONPATH": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


def python_for(other: list[str]) -> str:
    """An interpreter that somebody can start: root's own may lie in root's home."""
    for each in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        done = subprocess.run([*other, each, "-c", ""], capture_output=True, check=False)
        if done.returncode == 0:
            return each
    raise AssertionError("no Python that a user without rights can start; install python3")
