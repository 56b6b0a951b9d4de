"""`history_growth`: a run that has a long journal resumes beside one that has a short one."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from typing import Any, TypeVar

import bson

from benchmarks.figures import Figure, median, note, ratio
from benchmarks.profiling import profiled
from benchmarks.session import Session, Target

T = TypeVar("T")

SHORT, LONG = 50, 5000
"""Journal entries."""
ENTRIES_OF_A_LOOK = 4
FIRST_AND_LAST = 5
"""Entries before the first call, and of the call that is asked about."""
LONG_RUNS = 2
GOAL = 1.5
WRITES_GROW = 1.1
"""No more than what the digits of longer numbers take."""
PROFILED = 6
"""Answers of each kind whose writes are looked at."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The open questions of the short and of the long runs, by run."""

    short: dict[str, str]
    long: dict[str, str]

    def turns(self, first: int, count: int) -> list[str]:
        """Runs to answer, a short and a long one in turn; each short one once."""
        short = islice(self.short, first, first + count)
        return list(chain.from_iterable(zip(short, cycle(self.long))))

    def each(self, of: Callable[[Mapping[str, str]], T]) -> dict[str, T]:
        """The same of both."""
        return {"short": of(self.short), "long": of(self.long)}


async def measure(
    session: Session, target: Target, prefix: str, *, entries: int = LONG, answers: int = 20
) -> None:
    """Grow the runs, answer them in turn, then answer a few more under MongoDB's profiler."""
    total = answers + PROFILED
    sides = Sides(
        await _grown(session, target, SHORT, count=total, asks=2),
        await _grown(session, target, entries, count=LONG_RUNS, asks=total),
    )
    with session.servers.client() as client:
        database = client[f"{prefix}runs"]
        before = _seq(database, sides)
        waiting = sides.short | sides.long
        seen = await _answered(session, target, waiting, sides.turns(0, answers))
        after = _seq(database, sides)
        took = sides.each(lambda runs: _per_entry(runs, seen["ms"], before, after))
        order = sides.turns(answers, PROFILED)
        _, operations = await profiled(
            [database], lambda: _answered(session, target, seen["open"], order)
        )
        writes = list(map(_written, operations))
        written = sides.each(lambda runs: max((n for id, n in writes if id in runs), default=0))
        documents = sides.each(lambda runs: _document_bytes(database, runs))
    _report(session, took, written, documents)


async def _grown(
    session: Session, target: Target, entries: int, *, count: int, asks: int
) -> dict[str, str]:
    looks = max(0, (entries - FIRST_AND_LAST) // ENTRIES_OF_A_LOOK)
    note(f"{count} runs of about {entries} entries")
    seconds = 60.0 + looks * count / 20
    job = {"input": f"{looks} {asks}", "count": count}
    found: dict[str, str] = (await session.drive(target, "grow", seconds=seconds, **job))["open"]
    return found


async def _answered(
    session: Session, target: Target, waiting: Mapping[str, str], order: Sequence[str]
) -> Any:
    return await session.drive(
        target, "resume", seconds=60.0 + len(order), open=dict(waiting), order=order
    )


def _seq(database: Any, sides: Sides) -> dict[str, int]:
    """Journal entries by run."""
    wanted = {"_id": {"$in": [*sides.short, *sides.long]}}
    return {each["_id"]: each["seq"] for each in database["runs"].find(wanted, {"seq": 1})}


def _per_entry(
    runs: Mapping[str, str],
    ms: Mapping[str, Sequence[float]],
    before: Mapping[str, int],
    after: Mapping[str, int],
) -> dict[str, float]:
    """Medians over every answer: entries read, milliseconds, and microseconds for each entry.

    Each answer adds as many entries as the others of its run.
    """
    seen: list[tuple[float, float]] = []
    for run_id in runs:
        times = ms.get(run_id, ())
        each = (after[run_id] - before[run_id]) / max(len(times), 1)
        seen += [(before[run_id] + number * each, took) for number, took in enumerate(times)]
    return {
        "n": len(seen),
        "entries": round(median([entries for entries, _ in seen])),
        "ms": round(median([took for _, took in seen]), 2),
        "us_per_entry": round(median([took * 1e3 / entries for entries, took in seen]), 2),
    }


def _written(entry: Mapping[str, Any]) -> tuple[str, int]:
    """Whose document a profiled operation wrote, and how many bytes its statement had."""
    command = entry.get("command", {})
    place = entry["ns"].partition(".")[2]
    if place == "runs" and entry["op"] == "update":
        return command["q"]["_id"], len(bson.encode(command))
    if place == "runs" and ("findAndModify" in command or "findandmodify" in command):
        return command["query"]["_id"], len(bson.encode(command))
    return "", 0


def _document_bytes(database: Any, runs: Mapping[str, str]) -> int:
    found = database["runs"].find({"_id": {"$in": list(runs)}})
    return max(len(bson.encode(each)) for each in found)


def _report(
    session: Session,
    per_entry: Mapping[str, Mapping[str, float]],
    written: Mapping[str, int],
    documents: Mapping[str, int],
) -> None:
    short, long = per_entry["short"], per_entry["long"]
    value = ratio(long["us_per_entry"], short["us_per_entry"]) or 0.0
    grown = ratio(written["long"], written["short"])
    more = (long["ms"] - short["ms"]) * 1e3 / max(long["entries"] - short["entries"], 1)
    session.report.add(
        Figure(
            "history_growth",
            value,
            "times",
            int(long["n"]),
            f"<= {GOAL} an entry, and no write grows",
            0 < value <= GOAL and grown is not None and grown <= WRITES_GROW,
            detail={
                "short": dict(short),
                "long": dict(long),
                "us_for_each_entry_more": round(more, 2),
                "history_write_bytes": {**written, "ratio": grown, "of": "the largest update"},
                "document_bytes": dict(documents),
                "turns": "short, long, short, long",
                "load": [round(each, 1) for each in os.getloadavg()],
            },
        )
    )
