"""`cycles_per_s`, with `limit_per_s` and the peer taking turns with it on the same servers."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from benchmarks import peer
from benchmarks.counting import budget
from benchmarks.figures import Figure, median, note, ratio, windows_in
from benchmarks.processes import ChildFailed
from benchmarks.session import Session, Target

GOAL = ">= 5 x peer and >= 0.5 x limit_per_s"


@dataclass(slots=True)
class Taken:
    """What the rounds brought."""

    cycles: list[float] = field(default_factory=list)
    limit: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    """The peer, every step kept."""
    at_exit: list[float] = field(default_factory=list)
    """The peer, only its stops kept."""
    counted: int = 0
    early_answers: int = 0
    cpu: dict[str, float] = field(default_factory=dict)


async def measure(session: Session, target: Target, prefix: str) -> None:
    """Warm up, count, find the best configurations, then take turns; two figures."""
    options = session.options
    await session.drive(target, "closed", seconds=2.0 if options.quick else 6.0)
    session.budget = await budget(session.servers, prefix, lambda: _probe(session, target))
    note(f"budget of a cycle: {session.budget}")
    processes = await _best_limit(session)
    setup: peer.Setup | None = None
    why = ""
    try:
        setup = await peer.best(session)
    except (peer.NoPeer, ChildFailed) as error:
        why = str(error)
        session.report.problem(f"no peer: {why}")
    taken = Taken()
    for turn in range(options.rounds):
        await _round(session, target, taken, processes, setup)
        if setup is not None and (turn == 0 or not options.quick):
            seconds = options.seconds / options.rounds
            taken.at_exit.append(await peer.rate(session, peer.AT_EXIT, seconds))
        note(f"round {turn + 1}: {taken}")
    _report(session, taken, processes, dataclasses.asdict(setup) if setup else {"missing": why})


async def top_rate(session: Session, target: Target) -> None:
    """A short measurement for those who only need to know what a third of it is."""
    result = await session.drive(target, "closed", seconds=5.0, warmup=3.0, windows=5)
    session.top = median(result["rates"])
    note(f"{session.top:.0f} cycles/s")


async def _probe(session: Session, target: Target) -> int:
    result = await session.drive(target, "closed", seconds=2.0)
    return int(result["runs"])


async def _best_limit(session: Session) -> int:
    """How many bare processes are fastest."""
    rates = {}
    for processes in (2,) if session.options.quick else (1, 2, 3):
        rates[processes] = await _limit(session, processes, 2.0)
        note(f"bare, {processes} processes: {rates[processes]:.0f} cycles/s")
    return max(rates, key=lambda each: rates[each])


async def _limit(session: Session, processes: int, seconds: float) -> float:
    counts = {name: session.budget[name] for name in ("publishes", "consumes")}
    found = await session.bare(
        "cycles",
        processes=processes,
        seconds=seconds,
        writes=session.budget["durable_writes"],
        **counts,
    )
    return float(sum(each["rate"] for each in found))


async def _round(
    session: Session, target: Target, taken: Taken, processes: int, setup: peer.Setup | None
) -> None:
    seconds = session.options.seconds / session.options.rounds
    result = await session.drive(
        target, "closed", seconds=seconds, warmup=2.0, windows=windows_in(seconds)
    )
    taken.cycles += result["rates"]
    taken.counted += result["counted"]
    taken.early_answers += result["early_answers"]
    for name, used in result["cpu_seconds"].items():
        taken.cpu[name] = taken.cpu.get(name, 0.0) + used
    taken.limit.append(await _limit(session, processes, seconds))
    if setup is not None:
        taken.steps.append(await peer.rate(session, setup, seconds))


def _report(session: Session, taken: Taken, processes: int, setup: dict[str, Any]) -> None:
    session.top = top = median(taken.cycles)
    limit, steps, at_exit = median(taken.limit), median(taken.steps), median(taken.at_exit)
    cpu = {f"{n}_ms": round(s * 1e3 / max(taken.counted, 1), 3) for n, s in taken.cpu.items()}
    beside = {
        "name": "langgraph, MongoDBSaver, w=majority and journaled, in process without REST",
        "value": round(steps, 1),
        "ratio": ratio(top, steps),
        "setup": setup,
        "durability_exit": {
            "value": round(at_exit, 1),
            "ratio": ratio(top, at_exit),
            "meaning": "keeps nothing between its stops: a crash loses every step since",
        },
    }
    session.report.add(
        Figure(
            "cycles_per_s",
            top,
            "1/s",
            taken.counted,
            GOAL,
            bool(steps) and top >= 5 * steps and top >= limit / 2,
            peer=beside,
            detail={
                "of_limit": ratio(top, limit),
                "windows": [round(each, 1) for each in taken.cycles],
                "in_flight": session.options.in_flight,
                "cpu_per_cycle": {**cpu, "sum_ms": round(sum(cpu.values()), 3)},
                "early_answers": taken.early_answers,
                "learns_by": session.options.learn,
            },
        )
    )
    session.report.add(
        Figure(
            "limit_per_s",
            limit,
            "1/s",
            len(taken.limit),
            "-",
            detail={
                "rounds": [round(each, 1) for each in taken.limit],
                "processes": processes,
                "technique": "find_one_and_update each, publishes beside them, no group commit",
                "budget": session.budget,
            },
        )
    )
