"""Linux namespaces by util-linux's `unshare`, where there is no bubblewrap: as root, or as a user."""

import json
import os
import sys
from pathlib import Path

from placet.agents.workspace.account import Account, account_of
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.programs import Unfit, program, without_privileges
from placet.agents.workspace.view import TEMPORARY_BYTES, view_of

MOUNTING = str(Path(__file__).with_name("mounting.py"))
FIRST_PROCESS = ("/bin/sh", "-c", '"$@"; exit $?', "sh")
"""Stands in as process 1, which takes no signals by default and ends the rest with it."""


def namespaces(workspace: Workspace) -> list[str]:
    """What goes before the shell. Raises Unfit, and SettingsError as the view does."""
    account = account_of(workspace)
    root = os.geteuid() == 0
    if not account.is_ours and not root:
        raise Unfit("only root can run lines as another user")
    unshare = program("unshare", "util-linux")
    plan = {
        "folder": str(workspace.folder),
        "temporary_bytes": TEMPORARY_BYTES,
        "mounts": [[m.kind.value, m.target, m.source or m.target] for m in view_of(workspace)],
    }
    return [
        *(program("setpriv", "util-linux"), "--pdeathsig", "KILL"),
        *(unshare, "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL"),
        *([] if root else ["--user", "--map-root-user"]),
        *(sys.executable, "-I", "-S", "-B", MOUNTING, json.dumps(plan)),
        *(_as_root(account) if root else _as_user(account)),
        *FIRST_PROCESS,
    ]


def _as_root(account: Account) -> list[str]:
    return without_privileges(None if account.is_ours else account)


def _as_user(account: Account) -> list[str]:
    """Inside one more namespace, where files that belong to the user look so and nothing is root's.

    Entering it needs what root has there; the user that it leads to has nothing left to give up.
    """
    ids = (f"--map-user={account.uid}", f"--map-group={account.gid}")
    privileges = (program("setpriv", "util-linux"), "--no-new-privs", "--inh-caps=-all")
    return [program("unshare", "util-linux"), "--user", *ids, *privileges]
