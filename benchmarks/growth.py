"""`resume_growth`: the latencies beside a thousand suspended runs and beside very many."""

import asyncio
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, cycle, islice
from random import Random
from typing import Any

import bson
from bson.raw_bson import RawBSONDocument
from pymongo import WriteConcern

from benchmarks.figures import Figure, median, note, percentile, ratio
from benchmarks.latency import PAUSE
from benchmarks.profiling import profiled
from benchmarks.session import Session, Target

Document = dict[str, Any]

FEW = 1000
GOAL = 1.2
BATCH = 1000
QUIET = 2.0
"""Seconds after which nothing of what was driven is under way."""
FIGURES = {"decision_to_resume_ms": "resume_ms", "answer_ms": "answer_ms"}
"""What is measured, and how the driver calls it."""
_WAIT = timedelta(hours=5)
"""Over that long the filled runs are asked about again, so that no sweep comes by meanwhile."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Crowd:
    """A collection and, aside, one with the same indexes and very many documents: they change places."""

    database: Any
    name: str

    @property
    def aside(self) -> str:
        """Where the other one is."""
        return f"{self.name}_aside"

    def fill(self, documents: Iterator[RawBSONDocument]) -> None:
        """Make the other collection."""
        for index in self.database[self.name].list_indexes():
            keys, more = index["key"].items(), {"sparse", "unique"} & set(index)
            self.database[self.aside].create_index(
                list(keys), **{name: index[name] for name in more}
            )
        into = self.database[self.aside].with_options(write_concern=WriteConcern(w=1))
        while batch := list(islice(documents, BATCH)):
            into.insert_many(batch, ordered=False)

    def swap(self) -> None:
        """The one that the services see becomes the other one."""
        for old, new in (
            (self.name, f"{self.name}_away"),
            (self.aside, self.name),
            (f"{self.name}_away", self.aside),
        ):
            self.database[old].rename(new)


@dataclass(slots=True)
class Seen:
    """The median of each round, and every time."""

    p50: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in FIGURES})
    all: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in FIGURES})


def copies(document: Document, count: int, seed: int, *, moment: str) -> Iterator[RawBSONDocument]:
    """The document again and again, for another run and input each, at another `moment` each.

    What stands for the run and for its question is the same in both databases for the same seed.
    """
    random, data = Random(seed), bson.encode(document)  # noqa: S311 - not for secrets
    run, asked = _token(document.get("run_id") or document["_id"]), _token(_input_id(document))
    at = _milliseconds(document[moment])
    for number in range(count):
        changed = data.replace(run, _hex(random)).replace(asked, _hex(random))
        later = at + int(_WAIT.total_seconds() * 1e3) * number // count
        yield RawBSONDocument(changed.replace(_packed(at), _packed(later)))


async def measure(
    session: Session, target: Target, prefix: str, *, few: int = FEW, seconds: float = 0
) -> None:
    """Suspend a thousand runs, fill, and measure with few and with many in turn."""
    options, many = session.options, session.options.crowd
    await session.drive(target, "park", seconds=max(60.0, few / 20), count=few)
    await asyncio.sleep(QUIET)
    with session.servers.client() as client:
        crowds = await asyncio.to_thread(_filled, client, prefix, many)
        seen, shown = {"few": Seen(), "many": Seen()}, "few"
        length = seconds or max(5.0, options.seconds / options.rounds / 2)
        for side in turns(2 * options.rounds):
            shown = _show(side, shown, crowds)
            await _round(session, target, seen[side], length)
        shown = _show("many", shown, crowds)
        probe = Seen()
        _, operations = await profiled(
            [crowd.database for crowd in crowds], lambda: _round(session, target, probe, 3.0)
        )
        _show("few", shown, crowds)
        for crowd in crowds:
            crowd.database.drop_collection(crowd.aside)
    _report(session, seen, {"few": few, "many": many}, most_examined(operations))


def _show(side: str, shown: str, crowds: Sequence[Crowd]) -> str:
    """Let the services see this side, if it is not the one that they see."""
    if side != shown:
        for crowd in crowds:
            crowd.swap()
    return side


def turns(rounds: int) -> list[str]:
    """Which comes first changes from one pair to the next."""
    pairs = cycle([("few", "many"), ("many", "few")])
    return list(chain.from_iterable(islice(pairs, rounds)))


def _filled(client: Any, prefix: str, many: int) -> list[Crowd]:
    """The runs, each parked for a while yet, and their questions."""
    runs = Crowd(client[f"{prefix}runs"], "runs")
    inputs = Crowd(client[f"{prefix}interactions"], "interactions")
    later = datetime.now(UTC) + timedelta(hours=1)
    parked = {"status": "input_required", "outbox": []}
    put_off = {"due": later, "waiting.0.ask_again_at": later}
    runs.database["runs"].update_many(parked, {"$set": put_off})
    run = runs.database["runs"].find_one(parked)
    entry = run["waiting"][0]
    asked = inputs.database["interactions"].find_one({"_id": entry["id"]})
    for crowd, document, moment in ((runs, run, "due"), (inputs, asked, "opened_at")):
        note(f"{many} documents for {crowd.name}")
        crowd.fill(copies(document, many, many, moment=moment))
    return [runs, inputs]


async def _round(session: Session, target: Target, seen: Seen, seconds: float) -> None:
    rate = max(session.top / 3, 1.0)
    found = await session.drive(target, "open", seconds=seconds, warmup=2.0, rate=rate, pause=PAUSE)
    for name, key in FIGURES.items():
        seen.p50[name].append(percentile(found[key], 0.5))
        seen.all[name] += found[key]
    await asyncio.sleep(QUIET)


def most_examined(operations: Sequence[Mapping[str, Any]]) -> int:
    """Documents or index keys that one statement looked at: what must not grow with the runs."""
    counts = (each.get(of, 0) for each in operations for of in ("docsExamined", "keysExamined"))
    return max(counts, default=0)


def _report(
    session: Session, seen: Mapping[str, Seen], suspended: Mapping[str, int], examined: int
) -> None:
    ratios = {name: beside(seen["few"].p50[name], seen["many"].p50[name]) for name in FIGURES}
    session.report.add(
        Figure(
            "resume_growth",
            max(ratios.values()),
            "times",
            suspended["many"],
            f"<= {GOAL} with 1,000,000 suspended runs against 1,000",
            0 < max(ratios.values()) <= GOAL,
            detail={
                "ratios": ratios,
                "suspended": dict(suspended),
                "most_examined_by_a_statement": examined,
                **{
                    name: {side: _summary(found, name) for side, found in seen.items()}
                    for name in FIGURES
                },
                "rate_per_s": round(session.top / 3, 1),
                "turns": "few, many, many, few, ...; the median of the ratios of neighbours",
                "load": [round(each, 1) for each in os.getloadavg()],
            },
        )
    )


def beside(few: Sequence[float], many: Sequence[float]) -> float:
    """The median of the ratios of neighbouring rounds: what slows the machine down slows both."""
    return median([ratio(more, less) or 0.0 for less, more in zip(few, many, strict=True)])


def _summary(seen: Seen, name: str) -> dict[str, Any]:
    return {
        "p50": round(median(seen.p50[name]), 2),
        "p99": round(percentile(seen.all[name], 0.99), 2),
        "rounds": [round(each, 2) for each in seen.p50[name]],
        "n": len(seen.all[name]),
    }


def _input_id(document: Document) -> str:
    """Of a run or of its question."""
    return str(document["waiting"][0]["id"] if "waiting" in document else document["_id"])


def _token(id: str) -> bytes:
    """What tells one id from another; agents and runs share it."""
    return id.partition("_")[2].encode()


def _hex(random: Random) -> bytes:
    return f"{random.getrandbits(128):032x}".encode()


def _milliseconds(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round((aware - _EPOCH) / timedelta(milliseconds=1))


_packed: Callable[[int], bytes] = struct.Struct("<q").pack
