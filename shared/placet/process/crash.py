"""Named points at which a test may kill the process; they cost nothing unless it is asked for."""

import os
import signal


def _asked_for() -> tuple[str, int] | None:
    if os.environ.get("PLACET_CRASH_POINTS") != "1" or not os.environ.get("PLACET_CRASH_AT"):
        return None
    name, _, count = os.environ["PLACET_CRASH_AT"].partition(":")
    return name, int(count or "1")


_target = _asked_for()
_passed = 0


def crash_point(name: str) -> None:
    """End this process with SIGKILL when it passes here for the n-th time.

    Only with PLACET_CRASH_POINTS=1 and PLACET_CRASH_AT=NAME:N in the environment at start.
    """
    global _passed  # noqa: PLW0603 - one process, one count
    if _target is None or _target[0] != name:
        return
    _passed += 1
    if _passed >= _target[1]:
        os.kill(os.getpid(), signal.SIGKILL)
