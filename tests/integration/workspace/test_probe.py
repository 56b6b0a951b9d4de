"""The probe finds out a sandbox that lets something through."""

import re
import sys
from pathlib import Path

import pytest

from placet.agents.workspace import Workspace
from placet.agents.workspace.probe import probe
from placet.agents.workspace.programs import NO_PRIVILEGES, SHELL, Unfit
from tests.integration.workspace.site import placets

pytestmark = pytest.mark.integration

LEAKING = ["/bin/sh", "-c", 'case $1 in *environ*) cat "/proc/$PPID/environ" ;; esac', "sh"]


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        (["/nowhere/bwrap"], "it does not start: No such file or directory"),
        (["/bin/sh", "-c", "echo no namespaces here >&2; exit 1"], "no namespaces here"),
        (["/bin/sh", "-c", "exit 9"], "it ended with 9"),
        (
            [sys.executable, "-c", "import os; os.write(2, b'\\xff'); os._exit(9)"],
            "it ended with 9",
        ),
        (LEAKING, "Placet's environment is readable in it"),
    ],
)
def test_what_a_sandbox_lets_through_is_said(tmp_path: Path, shell: list[str], said: str) -> None:
    with pytest.raises(Unfit, match=re.escape(said)):
        probe(Workspace(tmp_path, own=placets(tmp_path.parent / tmp_path.stem / "home")), shell)


@pytest.mark.parametrize("shell", [[*SHELL], ["setpriv", *NO_PRIVILEGES, *SHELL]])
def test_a_shell_without_a_sandbox_does_not_pass(tmp_path: Path, shell: list[str]) -> None:
    found = "capabilities|gain privileges|is writable|is within reach|setpriv"
    with pytest.raises(Unfit, match=found):
        probe(Workspace(tmp_path, own=placets(tmp_path)), shell)
