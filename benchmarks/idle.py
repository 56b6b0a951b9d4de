"""`idle_bytes_per_run`: what a suspended run holds in the memory of the services."""

import asyncio
import re
import time

import httpx2

from benchmarks.figures import Figure, note
from benchmarks.processes import open_files, resident_bytes
from benchmarks.session import Session, Target

SERVICES = ("runner", "broker", "notifier")
SLOWEST = 80
"""Runs a second; on a slower machine fewer are suspended than were asked for."""
SETTLED_BYTES = 256 * 1024
"""Memory stands still when all services together change less than this in `SETTLING` seconds."""
SETTLING = 3.0
SETTLE_WITHIN = 30.0
ASKED_AGAIN = 65.0
"""Seconds until the runs have been asked about again: what a sweep takes once is no run's share."""
NOISE_BYTES = 3 * 1024 * 1024
"""What the allocators of three processes may keep, however many runs are suspended."""


async def measure(session: Session, target: Target) -> None:
    """Suspend a tenth of the runs to warm up, let a sweep come by, look, suspend the rest, look again."""
    wanted = session.options.runs
    warm, patience = max(500, wanted // 10), max(60.0, wanted / SLOWEST)
    await session.drive(target, "park", seconds=patience / 4, count=warm)
    note(f"waiting {ASKED_AGAIN:.0f} s for the sweep that asks again")
    await asyncio.sleep(ASKED_AGAIN)
    before = await _settled(target)
    result = await session.drive(target, "park", seconds=patience, count=wanted)
    after = await _settled(target)
    parked = max(result["parked"], 1)
    if parked < wanted:
        note(f"only {parked} of {wanted} runs were suspended in {patience:.0f} s")
    grown = {name: after[name] - before[name] for name in SERVICES}
    each = sum(grown.values()) / parked
    session.report.add(
        Figure(
            "idle_bytes_per_run",
            each,
            "B",
            parked,
            "0 within noise (3 MiB in all), no task, no connection",
            sum(grown.values()) <= NOISE_BYTES
            and after["files"] <= before["files"]
            and not after["held"],
            detail={
                "grown_bytes": grown,
                "resident_before": {name: before[name] for name in SERVICES},
                "open_files_before_after": [before["files"], after["files"]],
                "runs_held_after": after["held"],
                "suspended_in_all": warm + parked,
                "parked_per_s": round(parked / result["seconds"], 1),
            },
        )
    )


async def _settled(target: Target) -> dict[str, int]:
    """Memory by service, once it stands still; files and sockets; runs that a runner holds."""
    until = time.monotonic() + SETTLE_WITHIN
    found = _memory(target)
    while time.monotonic() < until:
        await asyncio.sleep(SETTLING)
        earlier, found = found, _memory(target)
        if sum(abs(found[name] - earlier[name]) for name in SERVICES) < SETTLED_BYTES:
            break
    files = sum(open_files(target.pids[name]) for name in SERVICES)
    return {**found, "files": files, "held": await _held(target)}


def _memory(target: Target) -> dict[str, int]:
    return {name: resident_bytes(target.pids[name]) for name in SERVICES}


async def _held(target: Target) -> int:
    async with httpx2.AsyncClient(timeout=10) as http:
        text = (await http.get(f"{target.urls['runner']}/metrics")).text
    found = re.search(r"^placet_runs_held (\S+)$", text, re.MULTILINE)
    return int(float(found[1])) if found else -1
