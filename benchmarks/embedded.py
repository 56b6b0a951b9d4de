"""`embedded_cycles_per_s` and `dev_start_s`: `placet dev`, one process on SQLite."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.figures import Figure, median, windows_in
from benchmarks.session import AGENTS, Session, Target

START_WITHIN = 60.0
END_WITHIN = 20.0


class NotStarted(Exception):
    """`placet dev` ended or took too long; says what it wrote."""


@asynccontextmanager
async def dev(folder: Path, *more: str) -> AsyncIterator[tuple[Target, float]]:
    """`placet dev` in a fresh folder, and the seconds that it took to be ready; ended after."""
    ledger = _prepared(folder)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PLACET_")}
    env |= {"PLACET_BENCH_LEDGER": str(ledger), "NO_COLOR": "1"}
    words = ["-m", "placet.cli", "dev", "--port", "0", "--data", str(folder / "data"), *more]
    began = time.monotonic()
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            cwd=folder,
        )
    try:
        settings = await _settings(process, folder)
        took = time.monotonic() - began
        url = settings["PLACET_URL"]
        urls = dict.fromkeys(("runner", "broker", "notifier"), url)
        yield Target(urls, settings["PLACET_KEY"], ledger, {"dev": process.pid}), took
    finally:
        await _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _prepared(folder: Path) -> Path:
    folder.mkdir()
    ledger = folder / "bench-ledger"
    ledger.touch()
    return ledger


async def _settings(process: asyncio.subprocess.Process, folder: Path) -> dict[str, str]:
    """What the ready line exports."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    try:
        async with asyncio.timeout(START_WITHIN):
            async for line in process.stdout:
                words = line.decode().split()
                if words[:1] == ["export"]:
                    return dict(word.split("=", 1) for word in words[1:])
    except TimeoutError:
        pass
    raise NotStarted((folder / "log").read_text(errors="replace")[-2000:])


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(END_WITHIN):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def measure_cycles(session: Session) -> None:
    """The cycle in one process."""
    folder = session.servers.folder / "embedded"
    async with dev(folder, "--agents", str(AGENTS)) as (target, _):
        seconds = session.options.seconds
        result = await session.drive(
            target, "closed", seconds=seconds, warmup=3.0, windows=windows_in(seconds)
        )
    cpu = {f"{n}_ms": s * 1e3 / max(result["counted"], 1) for n, s in result["cpu_seconds"].items()}
    rate = median(result["rates"])
    session.report.add(
        Figure(
            "embedded_cycles_per_s",
            rate,
            "1/s",
            result["counted"],
            ">= 500",
            rate >= 500,
            detail={
                "windows": [round(each, 1) for each in result["rates"]],
                "in_flight": session.options.in_flight,
                "cpu_per_cycle": {name: round(ms, 3) for name, ms in cpu.items()},
                "early_answers": result["early_answers"],
            },
        )
    )


async def measure_start(session: Session) -> None:
    """From the command to the line that says it is ready, with empty databases each time."""
    took = []
    for number in range(session.options.repeats):
        async with dev(session.servers.folder / f"start-{number}") as (_, seconds):
            took.append(seconds)
    value = median(took)
    session.report.add(
        Figure(
            "dev_start_s",
            value,
            "s",
            len(took),
            "<= 1.5",
            value <= 1.5,
            detail={"each": [round(each, 2) for each in took]},
        )
    )
