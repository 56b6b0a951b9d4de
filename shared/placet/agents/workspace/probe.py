"""Tries a sandbox: a line in it must not reach what is Placet's."""

import shlex
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from placet.agents.workspace.environment import shell_environment
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.programs import Unfit

SECONDS = 15
PRIVILEGES = """
while read -r name value; do
    case $name$value in NoNewPrivs:1) found=1 ;; CapEff:*[1-9a-f]*) no "it keeps capabilities" ;; esac
done </proc/self/status
[ -n "$found" ] || no "it can gain privileges"
for each in / /etc /usr /usr/bin /proc/sys/kernel/core_pattern; do
    [ ! -w "$each" ] || no "$each is writable"
done
[ -r . ] && [ -x . ] || no "the folder is not readable in it"
"""
NUMBER = "stat -L -c %d:%i"
NO = 'found=; no() { echo "$1" >&2; exit 1; }\n'


def probe(workspace: Workspace, shell: Sequence[str]) -> None:
    """Run a line that tries what no line may do; `shell` is everything before the line.

    Raises:
        Unfit: it does not start, or does not isolate, and what it let through.
    """
    checks = [NO, PRIVILEGES, *map(_unreachable, workspace.own.private), "exit 0"]
    _run(workspace, [*shell, "".join(checks)])
    environments = _run(workspace, [*shell, "cat /proc/[0-9]*/environ 2>/dev/null; true"])
    ours = Path("/proc/self/environ").read_bytes()
    if ours and ours in environments:
        raise Unfit("Placet's environment is readable in it")


def _unreachable(path: Path) -> str:
    """Opening it fails, and nothing can be put in its place."""
    here, above = shlex.quote(str(path)), shlex.quote(str(path.parent))
    said = shlex.quote(f"{path} is within reach; take the rights of others from it and its folder")
    return (
        f"if [ -d {here} ]; then ls {here} >/dev/null 2>&1 && no {said}\n"
        f"elif [ -e {here} ]; then : 2>/dev/null <{here} && no {said}\n"
        f'elif [ {_number(path.parent)} = "$({NUMBER} {above} 2>&1)" ] && [ -w {above} ]\n'
        f"then no {said}; fi\n"
    )


def _number(folder: Path) -> str:
    """Tells a folder from another that is at the same place in a sandbox."""
    try:
        state = folder.stat()
    except OSError:
        return "missing"
    return f"{state.st_dev}:{state.st_ino}"


def _run(workspace: Workspace, command: Sequence[str]) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - the sandbox's own words
            command,
            cwd=workspace.folder,
            env=shell_environment(workspace),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unfit(f"it did not answer within {SECONDS} s") from None
    except OSError as error:
        raise Unfit(f"it does not start: {error.strerror}") from None
    if done.returncode != 0:
        with suppress(UnicodeDecodeError):
            raise Unfit(done.stderr.decode().strip()[-300:] or f"it ended with {done.returncode}")
        raise Unfit(f"it ended with {done.returncode}")
    return done.stdout
