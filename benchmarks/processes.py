"""Processes: what the kernel knows of them, and children that take a job and give a result."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """User and system time that a process has used, 0 for one that is gone."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / _TICKS


def resident_bytes(pid: int) -> int:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def open_files(pid: int) -> int:
    """How many files and sockets a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class ChildFailed(Exception):
    """A child ended without a result; says what it wrote."""


async def child(
    words: Sequence[str],
    job: Mapping[str, Any],
    *,
    within: float,
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Run `python WORDS`, the job as JSON on its stdin; the last line of its stdout is the result.

    The child is killed after `within` seconds, and when this is cancelled.

    Raises:
        ChildFailed: no result, or not in time.
    """
    process = await asyncio.create_subprocess_exec(
        python,
        *words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=None if env is None else {**os.environ, **env},
    )
    try:
        async with asyncio.timeout(within):
            out, said = await process.communicate(json.dumps(job).encode())
    except TimeoutError as error:
        raise ChildFailed(f"{words[-1]} gave no result in {within:.0f} s") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode:
        raise ChildFailed(f"{words[-1]}: {said.decode(errors='replace')[-2000:]}")
    result: dict[str, Any] = json.loads(out.decode().strip().rpartition("\n")[2])
    return result
