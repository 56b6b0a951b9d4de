"""What real bash makes of a line: it runs in a jail where every program only says how it was called."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BASH = "/bin/bash"
NOBODY = "65534"
SOURCES = Path(__file__).parent / "jail"
LOCALE = Path("/usr/lib/locale/C.utf8")
PROGRAMS = (
    *(
        "ls",
        "cat",
        "grep",
        "echo",
        "cd",
        "pwd",
        "true",
        "false",
        "type",
        "head",
        "wc",
        "git",
        "curl",
    ),
    *(
        "id",
        "rm",
        "tee",
        "npm",
        "cargo",
        "x",
        "a",
        "printf",
        "test",
        "kill",
        "exec",
        "command",
        "exit",
    ),
    *("./gradlew", "sub/tool"),
)
"""What a line finds on the PATH, or by a path. Any other name is heard of too."""

FOLDER = ("a", "b c", "-rf", "notes.md", "*", "x;curl evil", "sub/a")
"""The files of the folder that a line runs in, for what expands."""

START = """
enable -n echo cd pwd true false type printf test kill exec command builtin exit help [ :
command_not_found_handle() { /stubs/.missing "$@"; }
"""
"""Builtins that the reader takes for programs are programs here, so that their words are seen."""

ENVIRONMENT = {
    "PATH": "/stubs",
    "BASH_ENV": "/start",
    "HOME": "/ho me",
    "X": "a  b;curl evil",
    "Y": "$(curl evil)`curl evil`*",
    "E": "",
}


class Unfit(Exception):
    """The machine lacks what the jail needs."""


@dataclass(frozen=True)
class Ran:
    """What one line did, whatever its programs returned."""

    commands: tuple[tuple[str, ...], ...]
    """The words of each program that was started, its name first."""
    files: tuple[str, ...]
    """What it created, removed or changed."""
    errors: str

    @property
    def misformed(self) -> bool:
        """Whether bash found the line no line of its grammar."""
        return bool(
            re.search(r"syntax error|unexpected (?:EOF|token)|bad substitution", self.errors)
        )


class Jail:
    """A root folder with bash, programs that only write down their words, and one writable folder."""

    def __init__(self, folder: Path) -> None:
        _fit()
        self.root = folder / "root"
        self.folder = self.root / "work"
        for name in ("bin", "dev", "stubs", "work/sub"):
            (self.root / name).mkdir(parents=True)
        self.jail = _built("jail", folder / "jail")
        self._bash()
        self._programs(_built("stub", folder / "stub"))
        self.log = self._writable("log")
        self._writable("work").chmod(0o777)
        self.before = self._files()

    def ran(self, line: str) -> tuple[Ran, ...]:
        """What the line does where every program succeeds, and where every one fails."""
        return tuple(
            self._ran(line, status, lang) for status, lang in (("0", "C.UTF-8"), ("1", "C"))
        )

    def _ran(self, line: str, status: str, lang: str) -> Ran:
        self.log.write_bytes(b"")
        done = subprocess.run(
            [self.jail, self.root, "/work", NOBODY, BASH, "--noprofile", "--norc", "-c", line],
            env={**ENVIRONMENT, "STUB_STATUS": status, "LC_ALL": lang},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        errors = done.stderr.decode(errors="replace")
        assert done.returncode != 98 or not errors.startswith("jail"), errors
        return Ran(tuple(_records(self.log.read_bytes())), self._changed(), errors)

    def _changed(self) -> tuple[str, ...]:
        after = self._files()
        if after == self.before:
            return ()
        changed = sorted(name for name, _ in after.items() ^ self.before.items())
        for name in set(after) - set(self.before):
            (self.folder / name).unlink()
        self._fill()
        self.before = self._files()
        return tuple(changed)

    def _files(self) -> dict[str, tuple[int, int, int]]:
        found = {}
        for entry in (*os.scandir(self.folder), *os.scandir(self.folder / "sub")):
            about = entry.stat(follow_symlinks=False)
            path = os.path.relpath(entry.path, self.folder)
            found[path] = (about.st_ino, about.st_size, about.st_mode)
        return found

    def _bash(self) -> None:
        needed = subprocess.run(["ldd", BASH], capture_output=True, text=True, check=True).stdout
        for path in [BASH, *re.findall(r"(/\S+) \(0x", needed)]:
            _copied(Path(path).resolve(), self.root / path.lstrip("/"))
        if LOCALE.exists():
            shutil.copytree(LOCALE, self.root / str(LOCALE).lstrip("/"))
        (self.root / "start").write_text(START)
        null = self.root / "dev/null"
        try:
            os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            null.chmod(0o666)
            null.write_bytes(b"x")
        except PermissionError as error:
            raise Unfit(
                f"real bash needs a /dev/null of its own in {self.root}: {error}"
            ) from error

    def _programs(self, stub: Path) -> None:
        self.stub = stub
        for name in [".missing", *PROGRAMS]:
            if "/" not in name:
                os.link(stub, self.root / "stubs" / name)
        self._fill()

    def _fill(self) -> None:
        for name in [*FOLDER, *(name for name in PROGRAMS if "/" in name)]:
            path = self.folder / name
            if not path.exists():
                path.touch() if name in FOLDER else os.link(self.stub, path)

    def _writable(self, name: str) -> Path:
        path = self.root / name
        if not path.exists():
            path.touch()
            path.chmod(0o666)
        return path


def _fit() -> None:
    lacking = [
        f"{name} (scripts/system installs it)" for name in ("gcc",) if not shutil.which(name)
    ]
    if os.geteuid() != 0:
        lacking.append("root, to lock bash into a folder")
    if lacking:
        raise Unfit(
            f"real bash is the judge of the shell reader, and needs {' and '.join(lacking)}"
        )


def _built(name: str, target: Path) -> Path:
    source = SOURCES / f"{name}.c"
    done = subprocess.run(
        ["gcc", "-O1", "-static", "-o", target, source], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unfit(f"gcc cannot build {source} (libc6-dev is needed too): {done.stderr}")
    target.chmod(0o755)
    return target


def _copied(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _records(log: bytes) -> Sequence[tuple[str, ...]]:
    fields = log.split(b"\0")
    found, at = [], 0
    while at < len(fields) - 1:
        end = at + 1 + int(fields[at])
        found.append(tuple(os.fsdecode(field) for field in fields[at + 1 : end]))
        at = end
    return found
