"""What every measurement of one run is given."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Report
from benchmarks.processes import ROOT, child
from benchmarks.servers import Servers
from tests.support.cluster import Cluster, cluster

AGENTS = ROOT / "benchmarks" / "agents.py"
GRACE = 90.0
"""Seconds beyond its own length that a child may take."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    only: frozenset[str]
    seconds: float
    """How long each figure is measured."""
    in_flight: int
    rounds: int
    """Placet, the bare program and the peer take turns this often, so that noise meets all of them."""
    runs: int
    """Suspended runs for `idle_bytes_per_run`."""
    crowd: int
    """Suspended runs for `resume_growth`."""
    repeats: int
    """Starts for `dev_start_s`; half as many kills for `takeover_s`."""
    learn: str
    quick: bool

    def wants(self, *names: str) -> bool:
        """Whether one of these figures is asked for."""
        return not self.only or bool(self.only & set(names))


@dataclass(frozen=True, slots=True)
class Target:
    """A Placet that can be driven."""

    urls: dict[str, str]
    key: str
    ledger: Path
    pids: dict[str, int]


@dataclass(slots=True)
class Session:
    """One run of the benchmarks."""

    options: Options
    servers: Servers
    report: Report
    top: float = 0.0
    """Cycles a second, once measured."""
    budget: dict[str, Any] = field(default_factory=dict)

    async def drive(self, target: Target, mode: str, *, seconds: float, **job: Any) -> Any:
        """One driver process with one job; what it found wrong becomes a problem of the report."""
        parts = {"warmup": 0.0, "windows": 1, "pause": 0.0, "in_flight": self.options.in_flight}
        target_parts = {
            "urls": target.urls,
            "key": target.key,
            "ledger": str(target.ledger),
            "watch": target.pids,
            "learn": self.options.learn,
        }
        result = await child(
            ["-m", "benchmarks.driver"],
            {"mode": mode, "seconds": seconds, **parts, **target_parts, **job},
            within=seconds + job.get("warmup", 0.0) + GRACE,
        )
        if result.get("wrong") or result.get("failed"):
            self.report.problem(
                f"{mode}: {result['wrong']} of {result['runs']} runs did not complete with one "
                f"effect, {result['failed']} errors: {result['errors']}"
            )
        return result

    async def bare(self, mode: str, *, processes: int, seconds: float, **job: Any) -> list[Any]:
        """Bare programs beside each other, the flights divided among them."""
        servers = {
            "mongo_url": self.servers.mongo_url,
            "amqp_url": self.servers.bare_amqp_url,
            "database": "bench_bare",
        }
        parts = {"mode": mode, "seconds": seconds, **servers, **job}
        return await beside(["-m", "benchmarks.bare"], parts, processes, self.options.in_flight)


async def beside(
    words: list[str],
    job: dict[str, Any],
    processes: int,
    in_flight: int,
    *,
    python: str = sys.executable,
) -> list[Any]:
    """The same program several times at once, each with its share of what is in flight."""
    begin = time.monotonic() + 2.0 + processes
    jobs = [
        {
            **job,
            "name": f"bench{time.monotonic_ns()}x{number}",
            "begin": begin,
            "in_flight": in_flight // processes,
        }
        for number in range(processes)
    ]
    within: float = job["seconds"] + GRACE
    results = (child(words, each, within=within, python=python) for each in jobs)
    return list(await asyncio.gather(*results))


@asynccontextmanager
async def installation(
    servers: Servers, *services: str, **settings: str
) -> AsyncIterator[tuple[Cluster, Target]]:
    """Placet's services as processes, ready, with databases of their own; ended and dropped after."""
    folder = servers.folder / f"placet-{time.monotonic_ns()}"
    folder.mkdir()
    ledger = folder / "bench-ledger"
    ledger.touch()
    wanted = {"PLACET_AGENTS": str(AGENTS), "PLACET_LEASE_SECONDS": "30"}
    settings = {**wanted, "PLACET_BENCH_LEDGER": str(ledger), **settings}
    names = services or ("runner", "broker", "notifier")
    async with cluster(folder, servers.mongo_url, servers.amqp_url, names, **settings) as placet:
        servers.prefixes.append(placet.prefix)
        urls = {member.service: member.url for member in placet.members}
        pids = {m.service: m.process.pid for m in placet.members if m.process is not None}
        yield placet, Target(urls, placet.key, ledger, {**pids, **servers.pids})
