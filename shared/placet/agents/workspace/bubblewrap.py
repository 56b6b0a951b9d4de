"""Bubblewrap, the first choice: as root, or by user namespaces."""

import os
from collections.abc import Iterator

from placet.agents.workspace.account import account_of
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.programs import Unfit, program, without_privileges
from placet.agents.workspace.view import TEMPORARY_BYTES, Kind, Mount, view_of

TO_CHANGE_USER = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


def bubblewrap(workspace: Workspace) -> list[str]:
    """What goes before the shell. Raises Unfit, and SettingsError as the view does."""
    account = account_of(workspace)
    if not account.is_ours and os.geteuid() != 0:
        raise Unfit("only root can run lines as another user")
    kept = () if account.is_ours else TO_CHANGE_USER
    mounts = view_of(workspace)
    return [
        program("bwrap", "bubblewrap"),
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--die-with-parent", "--cap-drop", "ALL"),  # as root it keeps all capabilities otherwise
        *(word for each in kept for word in ("--cap-add", each)),
        *_all_words(mounts),
        *(w for m in mounts if m.kind is Kind.NO_FOLDER for w in ("--remount-ro", m.target)),
        *("--remount-ro", "/", "--chdir", str(workspace.folder), "--"),
        *([] if account.is_ours else without_privileges(account)),
    ]


def _all_words(mounts: list[Mount]) -> Iterator[str]:
    above = {"/"}
    for mount in mounts:
        if (folder := os.path.dirname(mount.target)) not in above:
            above.add(folder)
            # Left to bubblewrap, a folder that leads to another is made for root alone.
            yield from ("--perms", "0755", "--dir", folder)
        yield from _words(mount)


def _words(mount: Mount) -> list[str]:
    source = mount.source or mount.target
    match mount.kind:
        case Kind.READ:
            return ["--ro-bind", source, mount.target]
        case Kind.WRITE:
            return ["--bind", source, mount.target]
        case Kind.LINK:
            return ["--symlink", source, mount.target]
        case Kind.FRESH:
            return ["--perms", "1777", "--size", str(TEMPORARY_BYTES), "--tmpfs", mount.target]
        case Kind.PROC | Kind.DEV:
            return [f"--{mount.kind}", mount.target]
        case Kind.NO_FOLDER:
            return ["--perms", "0111", "--tmpfs", mount.target]
        case Kind.NO_FILE:
            # Mounted without devices, so that opening it is refused.
            return ["--ro-bind", "/dev/null", mount.target]
