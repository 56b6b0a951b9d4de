"""What a sandbox shows of the file system: a list of mounts, whoever carries them out."""

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.places import SYSTEM, check_places, hold_places

ETC = (
    *("passwd", "group", "hosts", "host.conf", "hostname", "nsswitch.conf", "resolv.conf"),
    *("gai.conf", "protocols", "services", "networks", "localtime", "timezone", "locale.alias"),
    *("mime.types", "magic", "os-release", "debian_version", "terminfo", "alternatives", "fonts"),
    *("ld.so.*", "perl", "python3*", "java-*", "xml", "sgml", "ssl/certs", "ssl/openssl.cnf"),
    *("ca-certificates*", "pki/ca-trust", "pki/tls/certs", "pki/tls/openssl.cnf"),
)
"""The entries of /etc that programs need; the rest of it may hold what is secret."""
TEMPORARY_BYTES = 512 * 1024 * 1024
"""How much may lie in each temporary folder: it is memory."""
TEMPORARY = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - the sandbox's own, made empty
PROC_COVERED = (
    *("acpi", "asound", "bus", "driver", "fs", "irq", "latency_stats", "mtrr", "scsi", "sys"),
    "sysrq-trigger",
)
"""Switches of the whole machine: root may turn them without any capability."""


class Kind(StrEnum):
    """What is mounted."""

    READ = "read"
    WRITE = "write"
    LINK = "link"
    FRESH = "fresh"
    PROC = "proc"
    DEV = "dev"
    NO_FOLDER = "no_folder"
    NO_FILE = "no_file"


@dataclass(frozen=True, slots=True)
class Mount:
    """One of them."""

    kind: Kind
    target: str
    source: str = ""
    """The same path where it is empty."""


def view_of(workspace: Workspace) -> list[Mount]:
    """The mounts in their order, for one call: what is not named is not there. Holds places, too.

    Programs and what they need of /etc, read-only; `readable`; empty temporary folders, devices
    and processes of its own; and the folder, writable, at its own path. What is Placet's is taken
    out again wherever it shows.

    Raises:
        SettingsError: the folder can't be sandboxed; the message says why.
    """
    check_places(workspace)
    hold_places(workspace)
    folder, hidden = workspace.folder, list(_hidden(workspace))
    program = [each for each in workspace.own.program if each.is_relative_to(folder)]
    return [
        *_machine(),
        *(Mount(Kind.READ, str(each)) for each in workspace.shell.readable if each.exists()),
        *(_taken_out(each) for each in hidden if not each.is_relative_to(folder)),
        Mount(Kind.WRITE, str(folder)),
        *_pins(folder, program, hidden),
        *(Mount(Kind.READ, str(each)) for each in program),
        *(_taken_out(each) for each in hidden if each.is_relative_to(folder)),
    ]


@cache
def _machine() -> tuple[Mount, ...]:
    found = [each for name in ETC for each in sorted(glob.glob(f"/etc/{name}"))]
    return (
        *(_as_is(each) for each in SYSTEM if os.path.lexists(each)),
        *(Mount(Kind.READ, each) for each in found if os.path.exists(each)),
        Mount(Kind.PROC, "/proc"),
        *(Mount(Kind.READ, p) for n in PROC_COVERED if os.path.exists(p := f"/proc/{n}")),
        Mount(Kind.DEV, "/dev"),
        *(Mount(Kind.FRESH, each) for each in TEMPORARY),
    )


def _as_is(path: str) -> Mount:
    if os.path.islink(path):
        return Mount(Kind.LINK, path, os.readlink(path))
    return Mount(Kind.READ, path)


def _hidden(workspace: Workspace) -> Iterator[Path]:
    """What is Placet's and would show. Paths that are nowhere in the view need nothing."""
    shown = [workspace.folder, *workspace.shell.readable, *map(Path, SYSTEM)]
    hidden: list[Path] = []
    for path in sorted(workspace.own.private, key=lambda each: len(each.parts)):
        if path.exists() and _lies_in(path, shown) and not _lies_in(path, hidden):
            hidden.append(path)
            yield path


def _taken_out(path: Path) -> Mount:
    return Mount(Kind.NO_FOLDER if path.is_dir() else Kind.NO_FILE, str(path))


def _pins(folder: Path, program: list[Path], hidden: list[Path]) -> list[Mount]:
    """The folders above what is Placet's, each mounted on itself: what is mounted can't be renamed."""
    above = {parent for path in (*program, *hidden) for parent in path.parents}
    inside = (each for each in above if each != folder and each.is_relative_to(folder))
    return [Mount(Kind.WRITE, str(p)) for p in sorted(inside) if not _lies_in(p, program)]


def _lies_in(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(each) for each in folders)
