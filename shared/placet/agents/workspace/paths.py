"""From a path that a model wrote to an open folder and a name in it, without leaving the agent's folder.

No part of a path is followed where it is a symbolic link, and every folder on the way is held open:
what is swapped meanwhile is either not found, or was in the folder when it was opened.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from placet.agents.workspace.failures import Missing, said_of
from placet.errors import ToolError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LONGEST_PATH = 4_000


def names_in(folder: Path, path: str) -> list[str]:
    """The parts of a path below the folder; none for the folder itself. Opens nothing.

    A path from the root is taken where it names something below the folder.

    Raises:
        ToolError: it leads out of the folder, or is none that a file can have.
    """
    try:
        size = len(os.fsencode(path))
    except UnicodeEncodeError:
        raise ToolError("the path holds half a character; nothing was opened") from None
    if not path or size > LONGEST_PATH:
        raise ToolError(f"the path has {size} bytes; use 1 to {LONGEST_PATH}")
    if "\0" in path:
        raise ToolError(f"{path!r} holds a NUL character, which no file name can")
    parts = PurePosixPath(path)
    if parts.is_absolute():
        if not parts.is_relative_to(folder):
            raise ToolError(f"{path!r} is outside your folder {folder}; use a path in it")
        parts = parts.relative_to(folder)
    if ".." in parts.parts:
        raise ToolError(f"{path!r} holds '..'; write the path without it")
    return list(parts.parts)


@contextmanager
def parent_of(folder: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder that a path lies in, and the last name; with `make`, folders are made on the way.

    Raises:
        ToolError: as `names_in`; or a part is missing, a link or no folder, or the path is the
            folder itself.
    """
    names = names_in(folder, path)
    if not names:
        raise ToolError(f"{path!r} is your folder itself; name a file in it")
    with opened(folder, names[:-1], path, make=make) as parent:
        yield parent, names[-1]


@contextmanager
def opened(folder: Path, names: list[str], path: str, *, make: bool = False) -> Iterator[int]:
    """The folder that these names lead to, open. Raises ToolError as `parent_of` does."""
    at = _open(folder, None, path)
    try:
        for name in names:
            if make:
                _make(name, at, path)
            below = _open(name, at, path)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _open(name: str | Path, at: int | None, path: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=at)
    except OSError as error:
        if at is not None and is_link(str(name), at):
            raise ToolError(link_in(path, str(name))) from None
        missing = at is not None and isinstance(error, FileNotFoundError)
        raise (Missing if missing else ToolError)(said_of(error, path)) from None


def _make(name: str, at: int, path: str) -> None:
    try:
        os.mkdir(name, dir_fd=at)
        if os.geteuid() == 0:  # lines run as the folder's owner, and have to get at it
            above = os.fstat(at)
            os.chown(name, above.st_uid, above.st_gid, dir_fd=at, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError as error:
        raise ToolError(said_of(error, path)) from None


def is_link(name: str, at: int) -> bool:
    """Whether this name is a symbolic link now."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    except OSError:
        return False


def link_in(path: str, name: str) -> str:
    """What is said of a link."""
    return (
        f"{path!r}: {name!r} is a symbolic link, and these are not followed; use what it stands for"
    )
