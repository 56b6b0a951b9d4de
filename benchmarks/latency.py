"""`decision_to_resume_ms` and `answer_ms`, at a third of the top rate, beside bare hops."""

from typing import Any

from benchmarks.figures import Figure, note, percentile
from benchmarks.session import Session, Target

PAUSE = 1.0
"""Seconds between a question and its answer: the run is parked and nothing of it is under way."""
HOPS = 4


async def measure(session: Session, target: Target) -> None:
    """An open loop, then as many chains of bare hops; two figures."""
    rate, seconds = session.top / 3, max(5.0, session.options.seconds / 2)
    note(f"latencies at {rate:.0f} runs/s")
    seen = await session.drive(
        target, "open", seconds=seconds, warmup=2.0, rate=max(rate, 1.0), pause=PAUSE
    )
    (bare,) = await session.bare(
        "hops", processes=1, seconds=max(5.0, seconds / 2), rate=max(rate, 1.0), hops=HOPS
    )
    hops = _summary(bare["ms"])
    if not seen["resume_ms"]:
        session.report.problem("no run was resumed in the open loop")
        return
    resume, answer = _summary(seen["resume_ms"]), _summary(seen["answer_ms"])
    about: dict[str, Any] = {"rate_per_s": round(rate, 1), "early_answers": seen["early_answers"]}
    session.report.add(
        Figure(
            "decision_to_resume_ms",
            resume["p50"],
            "ms",
            len(seen["resume_ms"]),
            "p50 <= 25, p99 <= 150, and no worse than 4 bare write-and-publish hops",
            resume["p50"] <= 25
            and resume["p99"] <= 150
            and resume["p50"] <= hops["p50"]
            and resume["p99"] <= hops["p99"],
            peer={"name": "4 bare hops of write, publish, consume", **hops, "n": len(bare["ms"])},
            detail={
                **resume,
                "from_the_answer_sent": _summary(seen["sent_to_start_ms"]),
                "below_zero": sum(ms < 0 for ms in seen["resume_ms"]),
                **about,
            },
        )
    )
    session.report.add(
        Figure(
            "answer_ms",
            answer["p50"],
            "ms",
            len(seen["answer_ms"]),
            "p50 <= 10, p99 <= 60",
            answer["p50"] <= 10 and answer["p99"] <= 60,
            detail={**answer, **about},
        )
    )


def _summary(values: list[float]) -> dict[str, float]:
    return {f"p{p}": round(percentile(values, p / 100), 2) for p in (50, 90, 99)}
