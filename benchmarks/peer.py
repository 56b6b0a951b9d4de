"""LangGraph beside Placet: its own environment, and the best of its configurations."""

import asyncio
import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import note
from benchmarks.processes import ROOT
from benchmarks.session import Session, beside

VENV = ROOT / ".bench-venv"
PINS = ROOT / "requirements" / "peers.txt"
PYTHON = VENV / "bin" / "python"
INSTALL_SECONDS = 300.0


class NoPeer(Exception):
    """The peer can't be installed; says why."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A way to run the peer."""

    mode: str
    """`threads`: one for each run in flight; `loop`: one event loop, the checkpointer in threads."""
    durability: str
    """LangGraph's own word: `sync` and `async` keep every step, `exit` only where the graph stops."""
    processes: int


PER_STEP = [
    Setup(mode, durability, processes)
    for mode in ("loop", "threads")
    for durability in ("sync", "async")
    for processes in (1, 2)
]
QUICK = [Setup("loop", "sync", 2), Setup("loop", "async", 2)]
AT_EXIT = Setup("threads", "exit", 2)


async def make_environment() -> None:
    """Install the pinned peer into .bench-venv, once for the same pins. Raises NoPeer."""
    mark, digest = VENV / ".installed", hashlib.sha256(PINS.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == digest and PYTHON.exists():
        return
    note("installing requirements/peers.txt into .bench-venv ...")
    await _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    await _run([*pip, "--no-input", "--require-hashes", "-r", str(PINS)])
    mark.write_text(digest)


async def _run(words: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(INSTALL_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError as error:
        process.kill()
        raise NoPeer(f"{words[:4]} took over {INSTALL_SECONDS:.0f} s") from error
    if process.returncode:
        raise NoPeer(said.decode(errors="replace")[-500:])


async def rate(session: Session, setup: Setup, seconds: float) -> float:
    """Cycles a second of the peer on the session's MongoDB."""
    job: dict[str, Any] = {
        "mongo_url": session.servers.mongo_url,
        "database": "bench_peer",
        "mode": setup.mode,
        "durability": setup.durability,
        "seconds": seconds,
    }
    program = [str(Path("benchmarks") / "peers" / "langgraph_cycle.py")]
    flights = session.options.in_flight
    found = await beside(program, job, setup.processes, flights, python=str(PYTHON))
    if wrong := sum(each["wrong"] for each in found):
        session.report.problem(f"the peer did {wrong} cycles wrong")
    return float(sum(each["rate"] for each in found))


async def best(session: Session) -> Setup:
    """The fastest of the configurations that keep every step, by a short try of each."""
    await make_environment()
    setups = QUICK if session.options.quick else PER_STEP
    rates = {}
    for setup in setups:
        rates[setup] = await rate(session, setup, 2.0)
        note(f"peer {setup}: {rates[setup]:.0f} cycles/s")
    return max(rates, key=lambda setup: rates[setup])
