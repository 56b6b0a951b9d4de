"""Regular files in an agent's folder: read in parts, replaced as a whole."""

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from placet.agents.workspace.failures import said_of
from placet.agents.workspace.paths import is_link, link_in
from placet.errors import ToolError

MOST_BYTES = 1_048_576
"""Of a file that is written or edited, and of one read."""
MOST_HASHED = 256 * MOST_BYTES
"""What is larger has no fingerprint: it would be read for longer than a question waits."""
ABSENT = "absent"
# Non-blocking, so that a pipe put in its place at the last moment does not hang.
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def state_of(at: int, name: str, path: str) -> os.stat_result | None:
    """What a name stands for; None where there is nothing.

    Raises:
        ToolError: it is a link, a folder, a pipe, a device or a socket, or can't be looked at.
    """
    try:
        state = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError(said_of(error, path)) from None
    if stat.S_ISLNK(state.st_mode):
        raise ToolError(link_in(path, name))
    if stat.S_ISDIR(state.st_mode):
        raise ToolError(f"{path!r} is a folder; list_dir shows what is in it")
    if not stat.S_ISREG(state.st_mode):
        raise ToolError(f"{path!r} is a pipe, a device or a socket; only files can be used")
    return state


@contextmanager
def reading(at: int, name: str, path: str) -> Iterator[int]:
    """The file, open for reading. Raises ToolError as `state_of` does, and where there is none."""
    state_of(at, name, path)  # first, because opening a device may already do something
    try:
        file = os.open(name, READING, dir_fd=at)
    except OSError as error:
        raise ToolError(
            link_in(path, name) if is_link(name, at) else said_of(error, path)
        ) from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ToolError(f"{path!r} is no file any more; list_dir shows what is there")
        yield file
    finally:
        os.close(file)


def read_part(file: int, offset: int, most: int) -> bytes:
    """So many bytes from there on; fewer at the end of the file."""
    parts = []
    while most > 0 and (data := os.pread(file, most, offset)):
        parts.append(data)
        offset += len(data)
        most -= len(data)
    return b"".join(parts)


def replace(at: int, name: str, data: bytes, before: os.stat_result | None, path: str) -> None:
    """Put a file with this content in the place of what is there, in one step.

    Readers see the old file or the new one, whole, and so does whoever comes after a crash, which
    may leave a file `.placet-...` behind. The rights and, as far as Placet may, the owner stay.

    Raises:
        ToolError: it can't be written; the old file is as it was.
    """
    made = f".placet-{secrets.token_hex(8)}"
    try:
        _write(at, made, data, before)
        os.rename(made, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError as error:
        raise ToolError(said_of(error, path)) from None
    finally:
        with suppress(OSError):
            os.unlink(made, dir_fd=at)
    with suppress(OSError):  # some file systems can't do it for folders
        os.fsync(at)


def _write(at: int, made: str, data: bytes, before: os.stat_result | None) -> None:
    file = os.open(made, MAKING, 0o666 if before is None else 0o600, dir_fd=at)
    with os.fdopen(file, "wb") as writing:
        if before is not None:
            os.fchmod(file, stat.S_IMODE(before.st_mode) & 0o777)
        _give(file, before or os.fstat(at))
        writing.write(data)
        writing.flush()
        os.fsync(file)


def _give(file: int, like: os.stat_result) -> None:
    """Where Placet is root, to whom the file or its folder belongs: that is who lines run as."""
    if os.geteuid() == 0:
        with suppress(OSError):
            os.fchown(file, like.st_uid, like.st_gid)


def fingerprint(at: int, name: str, path: str) -> str:
    """`sha256:` and the digest of the file's bytes, or `absent`. Only reads.

    Raises:
        ToolError: it is no regular file, can't be read, or is too large.
    """
    if state_of(at, name, path) is None:
        return ABSENT
    digest, size = hashlib.sha256(), 0
    with reading(at, name, path) as file:
        while data := os.pread(file, MOST_BYTES, size):
            digest.update(data)
            size += len(data)
            if size > MOST_HASHED:
                raise ToolError(f"{path!r} is too large to be compared later; use bash for it")
    return f"sha256:{digest.hexdigest()}"
