"""Scenarios from dice, and where Placet departs from Strands knowingly."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.integration.strands.words import CLASSIFIERS, EVALUATORS, STRICT

TOOLS = ("send", "read", "wipe")
STRANGERS = ("Send", "wip*", "wipe ", "!nobody")
"""Entries of an allow list that name no tool."""
RAISES = {"raises": True}
APPROVED = {"decision": "approved"}
# fmt: off
YES = [True, "y", "yes", "Y", " YES ", "yes\n"]
TRUST = ["t", "trust", " T ", "Trust"]
NO = [
    False, None, "n", "no", "", 0, 1, 1.0, "true", "approve", "ok", "yes!", "yes.", "\uff39", "tr ust",
    [], ["y"], {}, {"ok": True}, APPROVED, "sure",
]
# fmt: on
CALLS = 4
"""At most, in one turn of the model."""

Scenario = dict[str, Any]
Outcome = dict[str, Any]


def drawn(dice: random.Random, mode: str) -> Scenario:
    """One scenario. A call has an argument of its own, unless it is made again in a later turn."""
    answers: dict[str, Any] = {}
    trust = dice.random() < 0.5
    raises = mode == "inline" and dice.random() < 0.3
    again: list[list[Any]] = []

    def call(name: str) -> list[Any]:
        number = len(answers) + 1
        answers[str(number)] = RAISES if raises and dice.random() < 0.1 else _answer(dice)
        return [name, {"n": number}]

    def turn() -> list[Any]:
        # What waits side by side and is trusted and denied at once depends on who is faster.
        apart = mode == "interrupt" and trust
        many = dice.randint(1, len(TOOLS) if apart else CALLS)
        fresh = [call(name) for name in (dice.sample if apart else dice.choices)(TOOLS, k=many)]
        repeated = [again.pop()] if again and dice.random() < 0.3 else []
        if mode == "inline" and not (trust or raises):
            again.extend(fresh)
        return fresh + repeated

    runs = [[turn() for _ in range(dice.randint(1, 3))] for _ in range(dice.randint(1, 2))]
    return {
        "mode": mode,
        "tools": TOOLS,
        "allowed": _allowed(dice),
        "trust": trust,
        "evaluate": _evaluator(dice),
        "evaluate_trust": _evaluator(dice),
        "classifier": dice.choice([None, None, False, *CLASSIFIERS]),
        "classifies_later": dice.random() < 0.5,
        "asks_later": dice.random() < 0.5,
        "runs": runs,
        "answers": answers,
    }


def _answer(dice: random.Random) -> Any:
    kinds: list[list[Any]] = [YES, TRUST, NO]
    return dice.choice(dice.choices(kinds, [3, 2, 3])[0])


def _allowed(dice: random.Random) -> list[str] | None:
    named = dice.sample(TOOLS, k=dice.randint(0, 2))
    negated = [f"!{name}" for name in dice.sample(TOOLS, k=dice.choice([0, 0, 1, 1, 2]))]
    everything = ["*"] * (dice.random() < 0.25)
    strange = [dice.choice(STRANGERS)] * (dice.random() < 0.04)
    listed = named + negated + everything + strange
    dice.shuffle(listed)
    return listed or dice.choice([None, []])


def _evaluator(dice: random.Random) -> str | None:
    if dice.random() < 0.55:
        return None
    return dice.choice(STRICT if dice.random() < 0.7 else list(EVALUATORS))


def evaluators(scenario: Scenario) -> list[str]:
    """The names of those that it has."""
    return [scenario[key] for key in ("evaluate", "evaluate_trust") if scenario[key] is not None]


@dataclass(frozen=True)
class Departure:
    """One way in which Placet is not like Strands, on purpose."""

    what: str
    why: str
    concerns: Callable[[Scenario], bool]
    example: Scenario
    """One in which the two do differ."""
    told: Callable[[Scenario], Scenario] | None = None
    """What Strands is told instead, so that it does the same."""
    expected: Callable[[Scenario, Outcome], Outcome] | None = None
    """What Placet makes of it, from what Strands made of it."""


def scenario(*turns: list[Any], answers: list[Any], **options: Any) -> Scenario:
    """One that is written down: turns of calls, and the answer to each call in its order."""
    numbers = count(1)
    numbered = [[[name, {"n": next(numbers)}] for name in turn] for turn in turns]
    plain = {
        "mode": "inline",
        "tools": TOOLS,
        "allowed": None,
        "trust": False,
        "evaluate": None,
        "evaluate_trust": None,
        "classifier": None,
        "classifies_later": False,
        "asks_later": False,
    }
    given = {str(n + 1): answer for n, answer in enumerate(answers)}
    return plain | {"runs": [numbered], "answers": given} | options


REFUSED = {"ran": [], "asked": [], "ended": "refused"}


def _refused(scenario: Scenario, outcome: Outcome) -> Outcome:
    return REFUSED


def _without_the_turn_that_raised(scenario: Scenario, outcome: Outcome) -> Outcome:
    if outcome["ended"] != "raised":
        return outcome
    turns = [turn for run in scenario["runs"] for turn in run]
    raised = outcome["asked"][-1]
    same_turn = next(turn for turn in turns if raised in [args["n"] for _, args in turn])
    return outcome | {"ran": [call for call in outcome["ran"] if call not in same_turn]}


def _strictly(scenario: Scenario) -> Scenario:
    return scenario | {"strict": True}


def _takes_decisions(scenario: Scenario) -> bool:
    own = scenario["evaluate"] or (scenario["trust"] and scenario["evaluate_trust"])
    return scenario["mode"] == "interrupt" and not own and APPROVED in scenario["answers"].values()


def _in_words(scenario: Scenario) -> Scenario:
    answers = scenario["answers"].items()
    return scenario | {"answers": {n: "y" if given == APPROVED else given for n, given in answers}}


def numbers(calls: Iterable[Any]) -> list[int]:
    """What tells the calls apart."""
    return [args["n"] for _, args in calls]


def _repeats(scenario: Scenario) -> bool:
    made = numbers(call for run in scenario["runs"] for turn in run for call in turn)
    return len(set(made)) < len(made)


def _not_asked_again(scenario: Scenario, outcome: Outcome) -> Outcome:
    """A call that was denied is not asked about again, until a person has said something else."""
    left, ran, asked = list(outcome["asked"]), numbers(outcome["ran"]), list[int]()
    for run in scenario["runs"]:
        denied: set[int] = set()
        for turn in run:
            here = [left.pop(0) for number in numbers(turn) if left and left[0] == number]
            put = [number for number in here if number not in denied]
            if any(scenario["answers"][str(number)] is not None for number in put):
                denied = set()
            denied |= {number for number in put if number not in ran}
            asked += put
    return outcome | {"asked": asked}


DEPARTURES = [
    Departure(
        "what an evaluator returns approves, or trusts, only if it is True",
        "a value that merely counts as true, such as the answer itself, would make any text a yes",
        lambda scenario: bool({"echo", "one"} & set(evaluators(scenario))),
        scenario(["send"], answers=["no"], evaluate="echo"),
        told=_strictly,
    ),
    Departure(
        "an answer that an evaluator raises at is a no, and the run goes on",
        "a person has answered: a durable run is not lost over how the answer is read",
        lambda scenario: "fails" in evaluators(scenario),
        scenario(["send"], answers=["y"], evaluate="fails"),
        told=_strictly,
    ),
    Departure(
        "an evaluator that is async is refused with its definition",
        "nobody would await it, and the coroutine itself would count as true",
        lambda scenario: "later" in evaluators(scenario),
        scenario(["send"], answers=["no"], evaluate="later"),
        expected=_refused,
    ),
    Departure(
        "an entry of allowed_tools that names no tool is refused with its definition",
        "a slip in a negation would leave the tool that it meant allowed",
        lambda scenario: bool(set(STRANGERS) & set(scenario["allowed"] or ())),
        scenario(["wipe"], answers=["no"], allowed=["*", "!nobody"]),
        expected=_refused,
    ),
    Departure(
        "an ask that raises stops every call of its turn, also those approved before it",
        "all questions of a turn are asked before any of its calls runs",
        lambda scenario: RAISES in scenario["answers"].values(),
        scenario(["send", "read"], answers=["y", RAISES]),
        expected=_without_the_turn_that_raised,
    ),
    Departure(
        "a question that waits in a runner takes a decision as well as a word",
        "it is an approval like any other, and the inbox and the command answer it like any other",
        _takes_decisions,
        scenario(["send"], answers=[APPROVED], mode="interrupt"),
        told=_in_words,
    ),
    Departure(
        "a call that was denied is answered from that denial when the model makes it again at once",
        "a person who is asked the same thing over and over says yes in the end",
        _repeats,
        scenario(["send"], ["send"], answers=["no"])
        | {"runs": [[[["send", {"n": 1}]], [["send", {"n": 1}]]]]},
        expected=_not_asked_again,
    ),
]
"""The whole list. In everything else the two agree."""


def as_told(scenario: Scenario) -> Scenario:
    """The scenario for Strands, with what it must be told to do the same."""
    told = dict(scenario)
    for departure in DEPARTURES:
        if departure.told and departure.concerns(scenario):
            told = departure.told(told)
    return told


def expected(scenario: Scenario, outcome: Outcome) -> Outcome:
    """What Placet makes of it, from what Strands made of it."""
    for departure in DEPARTURES:
        if departure.expected and departure.concerns(scenario):
            outcome = departure.expected(scenario, outcome)
    return outcome
