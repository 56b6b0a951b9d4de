"""What must be so before lines run in a folder: no line gets between Placet and its own files."""

import os
from contextlib import suppress
from pathlib import Path

from placet.agents.workspace.folder import Workspace
from placet.errors import SettingsError

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/nix/store", "/gnu/store"),
)
"""Where programs are."""

NOTE = b"""\
# Settings of Placet; there are none yet. This file was made because the agent's folder holds the one
# that Placet is started in: where the file is missing, a line of the agent's shell could make it.
"""


def check_places(workspace: Workspace) -> None:
    """Refuse a folder that can't be kept apart from what is Placet's, or from the system.

    Raises:
        SettingsError: why not, and what to do.
    """
    folder, own = workspace.folder, workspace.own
    if not folder.is_dir() or folder.resolve() != folder:
        raise SettingsError(f"the agent's folder {folder} is no folder, or was moved away")
    if any(Path(each).is_relative_to(folder) for each in SYSTEM):
        raise SettingsError(f"the agent's folder {folder} holds the system; give it one of its own")
    for path in (*own.private, *own.program):
        if folder == path or (folder.is_relative_to(path) and path not in own.data):
            raise SettingsError(f"the agent's folder {folder} lies in Placet's own {path}; move it")
        if path.is_relative_to(folder):
            _check_no_link(folder, path)
            if path in own.definitions and not path.exists():
                raise SettingsError(
                    f"{path} is to be loaded and is not there, so a line could make it; put it there, "
                    "or take it from PLACET_AGENTS"
                )


def _check_no_link(folder: Path, path: Path) -> None:
    """A link can't be mounted over: a line could put something else in its place."""
    for each in (path, *path.parents):
        if each == folder:
            return
        if each.is_symlink():
            raise SettingsError(
                f"{each} is a symbolic link in the agent's folder, so Placet's {path} can't be kept "
                "from its lines; move it out of the folder, or put the file itself there"
            )


def hold_places(workspace: Workspace) -> None:
    """Make an empty configuration file and data folder where they are missing from the agent's folder.

    Only a sandbox's mounts keep a line from a path, and nothing is mounted where nothing is. What
    can't be made here is left: Placet's user can't make it, so a line can't either.
    """
    own, folder = workspace.own, workspace.folder
    for each in own.data:
        if each.is_relative_to(folder):
            with suppress(OSError):
                each.mkdir(mode=0o700, parents=True)
    if own.config.is_relative_to(folder):
        with suppress(OSError):
            made = os.open(own.config, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(made, "wb") as file:
                file.write(NOTE)
