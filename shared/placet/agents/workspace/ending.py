"""Runs one program and ends all that it started. A script: it imports nothing of ours.

    python -I -S -B ending.py PROGRAM ARGUMENT...

For lines without a sandbox of their own: processes that were left behind, in a session of their own
too, become children of this one, and end with the program. SIGTERM, or the end of who started this,
ends them at once.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36
AWAITED = {signal.SIGTERM, signal.SIGCHLD}


def main(command: list[str]) -> int:
    """Run the command; its exit code, 128 and the signal's number where a signal ended it."""
    # Blocked and waited for: a handler could run just before a wait that then never ends.
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    libc = ctypes.CDLL(None)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(SET_PARENT_DEATH_SIGNAL, int(signal.SIGTERM), 0, 0, 0)
    code = _code_of(_start(command))
    _end_all()
    return code


def _start(command: list[str]) -> int:
    process = os.fork()
    if process == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
        try:
            os.execv(command[0], command)  # noqa: S606 - it is asked to
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201
        finally:
            os._exit(126)
    return process


def _code_of(process: int) -> int:
    """Wait for its end, or for SIGTERM; who else ends meanwhile is taken off the system's list."""
    while signal.sigwait(AWAITED) != signal.SIGTERM:
        ended = None
        while ended != 0:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == process:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    return 128 + signal.SIGTERM


def _end_all() -> None:
    """Those whose parents end become children in turn, so this goes on until there are none."""
    while True:
        for process in _children():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    ours = f" {os.getpid()} "
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with (
            suppress(OSError),
            open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file,
        ):
            # NAME may hold anything, so the parent is looked for behind its last parenthesis.
            if file.read().rpartition(")")[2][2:].startswith(ours):
                found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
