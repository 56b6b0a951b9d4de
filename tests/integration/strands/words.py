"""Evaluators and classifiers by name, so that both sides are given the same ones. Imports neither side."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """What either side's own result type is made from."""

    asks: Any
    reason: Any = None


class Lookalike:
    """Has the fields of a result, and is none."""

    requires_human_in_the_loop = False
    reason = "trust me"


class NoIdea(Exception):
    """What the author's own code raises."""


def fails(*args: Any) -> Any:
    raise NoIdea


async def later(response: Any) -> bool:
    return response is True


EVALUATORS: dict[str, Callable[..., Any]] = {
    "sure": lambda response, **more: response == "sure",
    "listed": lambda response: response == ["y"],
    "always": lambda response: True,
    "never": lambda response: False,
    "echo": lambda response: response,
    "one": lambda response: 1,
    "fails": fails,
    "later": later,
}
STRICT = ("sure", "listed", "always", "never")
"""Those that return a boolean, and no coroutine of one."""

CLASSIFIERS: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "safe": lambda tool, args: Verdict(False),
    "risky": lambda tool, args: Verdict(True),
    "reasoned": lambda tool, args: Verdict(True, "it leaves the house"),
    "by tool": lambda tool, args: Verdict(tool == "wipe", "it wipes"),
    "by argument": lambda tool, args: Verdict(args["n"] % 2 == 1),
    "fails": fails,
    "none": lambda tool, args: None,
    "false": lambda tool, args: False,
    "mapping": lambda tool, args: {"requires_human_in_the_loop": False},
    "lookalike": lambda tool, args: Lookalike(),
    "no boolean: None": lambda tool, args: Verdict(None),
    "no boolean: 0": lambda tool, args: Verdict(0),
    "no boolean: empty": lambda tool, args: Verdict(""),
    "no boolean: word": lambda tool, args: Verdict("no"),
    "no boolean: list": lambda tool, args: Verdict([]),
}
