"""`python -m benchmarks`: every figure as a line of JSON on stdout, notes on stderr."""

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from benchmarks import (
    crowded,
    embedded,
    gating,
    growth,
    history,
    idle,
    latency,
    takeover,
    throughput,
)
from benchmarks.figures import Report, note
from benchmarks.servers import Servers, servers
from benchmarks.session import Options, Session, installation

THROUGHPUT = ("cycles_per_s", "limit_per_s")
LATENCY = ("decision_to_resume_ms", "answer_ms")
GROWTH = ("resume_growth",)
HISTORY = ("history_growth",)
IDLE = ("idle_bytes_per_run",)
CROWDED = ("inbox_ms", "due_sweep_ms", "crowded_answer_ms")
ON_SERVICES = (*THROUGHPUT, *LATENCY, *GROWTH, *HISTORY, *IDLE, *CROWDED)
PURE = ("gate_us",)
"""What needs no server."""
SERVED = (*ON_SERVICES, "embedded_cycles_per_s", "dev_start_s", "takeover_s")
NAMES = (*PURE, *SERVED)
LIMITS = {"quick": 360.0, "default": 1500.0, "full": 5400.0}
"""Seconds after which the rest is left out."""


def parsed(words: Sequence[str] | None = None) -> tuple[Options, Path | None, float]:
    """What the command line asks for: the options, the file, the limit in seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=[], help="these figures alone")
    parser.add_argument("--quick", action="store_true", help="within 6 minutes, noisier")
    parser.add_argument(
        "--full", action="store_true", help="100,000 suspended runs, 1,000,000 filled in"
    )
    parser.add_argument("--seconds", type=float, help="how long each figure is measured")
    parser.add_argument("--in-flight", type=int, default=64, help="runs at once")
    parser.add_argument("--out", type=Path, help="a file that gets the lines, too")
    parser.add_argument(
        "--learn",
        choices=("stream", "poll"),
        default="stream",
        help="how the driver learns what became of a run: the event stream, or GET ...?wait=",
    )
    given = parser.parse_args(words)
    options = Options(
        only=frozenset(given.only),
        seconds=given.seconds or (9.0 if given.quick else 36.0),
        in_flight=given.in_flight,
        rounds=2 if given.quick else 3,
        crowd=1_000_000 if given.full else 20_000 if given.quick else 100_000,
        runs=100_000 if given.full else 2_000 if given.quick else 20_000,
        repeats=3 if given.quick else 5,
        learn=given.learn,
        quick=given.quick,
    )
    size = "full" if given.full else "quick" if given.quick else "default"
    return options, given.out, LIMITS[size]


async def measure_all(session: Session) -> None:
    """Every figure that is asked for; one that fails does not take the others with it."""
    options = session.options
    steps: list[tuple[tuple[str, ...], Callable[[], Awaitable[None]]]] = [
        (("dev_start_s",), lambda: embedded.measure_start(session)),
        ((*THROUGHPUT, *LATENCY, *IDLE), lambda: _services(session)),
        ((*GROWTH, *HISTORY), lambda: _growth(session)),
        (CROWDED, lambda: _crowded(session)),
        (("embedded_cycles_per_s",), lambda: embedded.measure_cycles(session)),
        (("takeover_s",), lambda: takeover.measure(session)),
    ]
    for names, step in steps:
        if options.wants(*names):
            await _tried(session, names, step)


async def _services(session: Session) -> None:
    """Speed, latency and memory on the three services, in one installation."""
    options = session.options
    async with installation(session.servers) as (placet, target):
        if options.wants(*THROUGHPUT):
            measured = throughput.measure(session, target, placet.prefix)
            await _tried(session, THROUGHPUT, lambda: measured)
        if options.wants(*LATENCY):
            if not session.top:
                await throughput.top_rate(session, target)
            await _tried(session, LATENCY, lambda: latency.measure(session, target))
        if options.wants(*IDLE):
            await _tried(session, IDLE, lambda: idle.measure(session, target))


async def _growth(session: Session) -> None:
    """On services of their own: a long journal leaves free memory that would hide what runs keep."""
    options = session.options
    async with installation(session.servers) as (placet, target):
        if options.wants(*GROWTH):
            if not session.top:
                await throughput.top_rate(session, target)
            await _tried(session, GROWTH, lambda: growth.measure(session, target, placet.prefix))
        if options.wants(*HISTORY):
            await _tried(session, HISTORY, lambda: history.measure(session, target, placet.prefix))


async def _crowded(session: Session) -> None:
    """A broker whose questions are very many, in an installation of its own."""
    async with installation(session.servers) as (placet, target):
        if session.options.wants("crowded_answer_ms") and not session.top:
            await throughput.top_rate(session, target)
        await crowded.measure(session, target, placet.prefix)


async def _tried(
    session: Session, names: Sequence[str], step: Callable[[], Awaitable[None]]
) -> None:
    note(f"--- {', '.join(names)}")
    began = time.monotonic()
    try:
        await step()
    except Exception as error:  # noqa: BLE001 - the other figures are measured all the same
        session.report.problem(f"{', '.join(names)}: {type(error).__name__}: {error}")
    note(f"    took {time.monotonic() - began:.0f} s")


async def run(options: Options, place: Servers, report: Report, limit: float) -> None:
    """Measure until all is measured, the time is over, or SIGTERM or SIGINT comes."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - we are in one
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    try:
        async with asyncio.timeout(limit):
            await measure_all(Session(options, place, report))
    except TimeoutError:
        report.problem(f"the time of {limit:.0f} s was over before all was measured")


def main() -> int:
    """0: everything was measured and every run was right; 1: something was not."""
    options, file, limit = parsed()
    report = Report(file)
    began = time.monotonic()
    if options.wants(*PURE):
        gating.measure(report, seconds=min(options.seconds, 5.0))
    if options.wants(*SERVED):
        with servers() as place:
            try:
                asyncio.run(run(options, place, report, limit))
            except asyncio.CancelledError:
                report.problem("interrupted")
    note(f"{len(report.figures)} figures in {time.monotonic() - began:.0f} s")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
