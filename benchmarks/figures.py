"""A figure as it is printed, and the arithmetic behind it."""

import json
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHORTEST_WINDOW = 4.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0 to 1) of the values do not exceed.

    Raises ValueError for no values.
    """
    if not values:
        msg = "a percentile of nothing"
        raise ValueError(msg)
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle, 0 for no values."""
    return statistics.median(values) if values else 0.0


def per_window(moments: Sequence[float], begin: float, length: float, count: int) -> list[float]:
    """Rates a second of what happened in each of `count` windows of `length` seconds from `begin`."""
    found = [0] * count
    for moment in moments:
        index = math.floor((moment - begin) / length)
        if 0 <= index < count:
            found[index] += 1
    return [n / length for n in found]


def windows_in(seconds: float) -> int:
    """How many windows a measurement has: runs in flight end in waves, which a short one would show."""
    return max(1, int(seconds // SHORTEST_WINDOW))


def shares(number: int, each: float) -> int:
    """How many whole things the `number`-th of many turns does, so that the mean of all is `each`."""
    return math.floor((number + 1) * each) - math.floor(number * each)


def ratio(value: float, other: float) -> float | None:
    """`value / other`, rounded; None where there is nothing to divide by."""
    return round(value / other, 3) if other else None


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the output."""

    name: str
    value: float
    unit: str
    n: int
    """How many things the value comes from."""
    goal: str
    met: bool | None = None
    """None: there is nothing to compare with."""
    peer: dict[str, Any] | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """The figure as one line of JSON."""
        head: dict[str, Any] = {
            "name": self.name,
            "value": round(self.value, 3),
            "unit": self.unit,
            "n": self.n,
            "goal": self.goal,
            "met": self.met,
        }
        if self.peer is not None:
            head["peer"] = self.peer
        return json.dumps({**head, **self.detail})


@dataclass(slots=True)
class Report:
    """Where figures go as they are measured."""

    file: Path | None = None
    figures: list[Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        """Print a figure, and append it to the file if there is one."""
        self.figures.append(figure)
        print(figure.line(), flush=True)
        if self.file is not None:
            with self.file.open("a") as out:
                out.write(figure.line() + "\n")

    def problem(self, text: str) -> None:
        """Something that makes the run fail, though it goes on."""
        self.problems.append(text)
        note(f"PROBLEM: {text}")


def note(text: str) -> None:
    """A line for who watches."""
    print(text, file=sys.stderr, flush=True)
