"""`takeover_s`: a runner is killed in the middle of a run; until the next step elsewhere."""

import asyncio
import time
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.session import Session, installation
from tests.support.cluster import Cluster, Member

LEASE = 3.0
WITHIN = 60.0


async def measure(session: Session) -> None:
    """Two runners; the one that holds the run is killed and comes back afterwards."""
    took = []
    services = ("runner", "runner", "broker")
    lease = {"PLACET_LEASE_SECONDS": str(LEASE)}
    async with installation(session.servers, *services, **lease) as (placet, target):
        for _ in range(max(1, session.options.repeats // 2)):
            took.append(await _one(placet, target.ledger))  # noqa: PERF401 - one after another
    value = median(took)
    session.report.add(
        Figure(
            "takeover_s",
            value,
            "s",
            len(took),
            f"<= lease ({LEASE:.0f} s) + 2",
            value <= LEASE + 2,
            detail={"lease_s": LEASE, "each": [round(each, 2) for each in took]},
        )
    )


async def _one(placet: Cluster, ledger: Path) -> float:
    async with placet.client() as client:
        run = await client.agent("bench").start("copy", user="alice")
    (first,) = await _executions(ledger, run.id, 1)
    member = next(m for m in placet.members if m.process and m.process.pid == first[1])
    killed = time.monotonic()
    member.kill()
    try:
        second = (await _executions(ledger, run.id, 2))[1]
        return second[0] - killed
    finally:
        await _back(member)


async def _back(member: Member) -> None:
    member.start()
    await member.ready()


async def _executions(ledger: Path, run_id: str, count: int) -> list[tuple[float, int]]:
    """When and in which process the run's tool began, once it did so `count` times."""
    async with asyncio.timeout(WITHIN):
        while True:
            found = _noted(ledger, run_id)
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


def _noted(ledger: Path, run_id: str) -> list[tuple[float, int]]:
    lines = [line.split() for line in ledger.read_text().splitlines()]
    return [(int(at) / 1e9, int(pid)) for run, at, pid, _ in lines if run == run_id]
