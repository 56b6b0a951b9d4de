"""Makes the file system that a sandbox shows, in namespaces of its own. A script: it imports nothing of ours.

    python -I -S -B mounting.py PLAN PROGRAM ARGUMENT...

Needs Linux 5.12 (`mount_setattr`). What fails ends it with 125, before the program is started.
"""

import ctypes
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

ROOT = "/sys"
"""Where the new root is built: a folder that is always there and that no mount of a view comes from."""
NOSUID, NODEV, NOEXEC, BIND, RECURSIVE = 2, 4, 8, 0x1000, 0x4000
READ_ONLY = 1
DETACH = 2
MOUNT_SETATTR = 442
PIVOT_ROOT = {"x86_64": 155, "i686": 217, "armv7l": 218, "ppc64le": 203, "s390x": 217}
PIVOT_ROOT_ELSEWHERE = 41
HERE, WITH_ALL_BELOW = -100, 0x8000
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {"fd": "self/fd", "stdin": "self/fd/0", "stdout": "self/fd/1", "stderr": "self/fd/2"}

_libc = ctypes.CDLL(None, use_errno=True)


def make(plan: dict[str, Any]) -> None:
    """Build the root, and let this process see nothing else from then on."""
    room = plan["temporary_bytes"]
    umask = os.umask(0o022)
    mount("tmpfs", ROOT, "tmpfs", NOSUID | NODEV, "mode=755")
    for kind, target, source in plan["mounts"]:
        place = ROOT + target
        MAKE[kind](place, source, room)
    for kind, target, _ in plan["mounts"]:
        if kind == "no_folder":
            restrict(ROOT + target, READ_ONLY, below=False)
    restrict(ROOT, READ_ONLY, below=False)
    os.chdir(ROOT)
    _done(_libc.syscall(PIVOT_ROOT.get(os.uname().machine, PIVOT_ROOT_ELSEWHERE), b".", b"."), "/")
    _done(_libc.umount2(b".", DETACH), "/")
    os.umask(umask)
    os.chdir(plan["folder"])


def shared(place: str, source: str, _: int, *, flags: int) -> None:
    """The same file or folder as outside, with what is mounted below it."""
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    else:
        _file(place)
    mount(source, place, None, BIND | RECURSIVE)
    restrict(place, flags)


def linked(place: str, source: str, _: int) -> None:
    """A symbolic link."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    os.symlink(source, place)


def empty(place: str, _: str, room: int, *, mode: str) -> None:
    """A folder of this sandbox alone, in memory."""
    os.makedirs(place, exist_ok=True)
    mount("tmpfs", place, "tmpfs", NOSUID | NODEV, f"mode={mode},size={room}")


def processes(place: str, _: str, __: int) -> None:
    """The processes of this sandbox alone."""
    os.makedirs(place)
    mount("proc", place, "proc", NOSUID | NODEV | NOEXEC)


def devices(place: str, source: str, room: int) -> None:
    """The few devices that programs need."""
    empty(place, source, room, mode="755")
    for name in DEVICES:
        _file(f"{place}/{name}")
        mount(f"/dev/{name}", f"{place}/{name}", None, BIND)
        restrict(f"{place}/{name}", NOSUID)
    for name, to in LINKS.items():
        os.symlink(f"/proc/{to}", f"{place}/{name}")


def no_file(place: str, _: str, room: int) -> None:
    """Something that can't be opened: a device where devices are not allowed."""
    shared(place, "/dev/null", room, flags=READ_ONLY | NOSUID | NODEV)


MAKE: dict[str, Callable[[str, str, int], None]] = {
    "read": partial(shared, flags=READ_ONLY | NOSUID | NODEV),
    "write": partial(shared, flags=NOSUID | NODEV),
    "link": linked,
    "fresh": partial(empty, mode="1777"),
    "no_folder": partial(empty, mode="111"),
    "no_file": no_file,
    "proc": processes,
    "dev": devices,
}


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount one thing. Raises OSError that names the target."""
    words = [None if w is None else os.fsencode(w) for w in (source, target, kind)]
    _done(_libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None), target)


def restrict(target: str, flags: int, *, below: bool = True) -> None:
    """Add flags to a mount and to all below it, and take none away."""
    wanted = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    how = WITH_ALL_BELOW if below else 0
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    place = os.fsencode(target)
    _done(_libc.syscall(MOUNT_SETATTR, HERE, place, how, ctypes.byref(wanted), size), target)


def _file(place: str) -> None:
    if not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o444))


def _done(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what.removeprefix(ROOT) or "/")


if __name__ == "__main__":
    try:
        make(json.loads(sys.argv[1]))
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the command of the sandbox
    except OSError as error:
        print(f"sandbox: {error.filename}: {error.strerror}", file=sys.stderr)  # noqa: T201
        sys.exit(125)
