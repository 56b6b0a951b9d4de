"""Lines without a file system of their own: as another user, or with all that Placet can reach."""

import os
import sys
from pathlib import Path

from placet.agents.workspace.account import account_of
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.programs import Unfit, without_privileges

ENDING = str(Path(__file__).with_name("ending.py"))


def another_user(workspace: Workspace) -> list[str]:
    """What goes before the shell so that it runs as `[shell] user`. Raises Unfit.

    The user's rights are all that stands between a line and Placet's files, so none of these may
    lie in the folder: who may write a folder may rename what is in it.
    """
    account = account_of(workspace)
    if os.geteuid() != 0:
        raise Unfit("Placet does not run as root")
    if account.is_ours:
        raise Unfit("neither [shell] user nor the folder's owner is another user")
    for path in (*workspace.own.private, *workspace.own.program):
        if path.is_relative_to(workspace.folder):
            raise Unfit(f"Placet's {path} lies in the agent's folder")
    return [*_ended(), *without_privileges(account)]


def unsandboxed(workspace: Workspace) -> list[str]:
    """What goes before the shell where the operator wants no sandbox."""
    account = account_of(workspace)
    return [*_ended(), *([] if account.is_ours else without_privileges(account))]


def _ended() -> list[str]:
    if os.uname().sysname != "Linux":
        return []  # there a line's process group is ended, and what left it is not
    return [sys.executable, "-I", "-S", "-B", ENDING]
