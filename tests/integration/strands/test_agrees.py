"""The same scenarios on Placet and on the published strands-agents: the same calls ask, the same calls run.

Dice from a printed seed; `PLACET_SEED` gives the same scenarios again. Strands is installed, pinned, into
an environment of its own; where that can't be done these tests fail.
"""

import os
import random
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from placet.errors import DefinitionError
from tests.integration.strands.ours import Played, in_place, suspended
from tests.integration.strands.scenarios import (
    DEPARTURES,
    REFUSED,
    Departure,
    Outcome,
    Scenario,
    as_told,
    drawn,
    evaluators,
    expected,
)
from tests.integration.strands.words import CLASSIFIERS, EVALUATORS
from tests.support.strands import make_environment, outcomes
from tests.support.system import system

pytestmark = pytest.mark.integration
SEED = int(os.environ.get("PLACET_SEED", random.randrange(10**6)))  # noqa: S311
IN_PLACE, SUSPENDED = 300, 60


@dataclass(frozen=True)
class Drawn:
    """Scenarios, each with what Strands made of it."""

    in_place: list[tuple[Scenario, Outcome]]
    suspended: list[tuple[Scenario, Outcome]]
    examples: list[tuple[Departure, Outcome]]


@pytest.fixture(scope="module")
def theirs() -> Drawn:
    """Play every scenario on Strands, in one process."""
    print(f"seed {SEED}")
    make_environment()
    dice = random.Random(SEED)  # noqa: S311
    inline = [drawn(dice, "inline") for _ in range(IN_PLACE)]
    waiting = [drawn(dice, "interrupt") for _ in range(SUSPENDED)]
    jobs = [as_told(scenario) for scenario in (*inline, *waiting)]
    jobs += [departure.example for departure in DEPARTURES]
    found = outcomes(Path(__file__).with_name("child.py"), jobs)
    return Drawn(
        list(zip(inline, found, strict=False)),
        list(zip(waiting, found[IN_PLACE:], strict=False)),
        list(zip(DEPARTURES, found[IN_PLACE + SUSPENDED :], strict=True)),
    )


def differing(scenario: Scenario, ours: Outcome, theirs: Outcome) -> str | None:
    """What to look at where the two differ."""
    wanted = expected(scenario, theirs)
    if ours == wanted:
        return None
    return f"seed {SEED}\n{scenario}\nours:   {ours}\ntheirs: {theirs}\nwanted: {wanted}"


async def test_in_place_the_same_calls_ask_and_the_same_calls_run_in_the_same_order(
    theirs: Drawn,
) -> None:
    found = [
        differing(scenario, await in_place(scenario), outcome)
        for scenario, outcome in theirs.in_place
    ]
    odd = [each for each in found if each]
    assert not odd, f"{len(odd)} of {IN_PLACE} differ, the first:\n" + "\n\n".join(odd[:3])


def unordered(outcome: Outcome) -> Outcome:
    """What side by side has no order."""
    ran = sorted(outcome["ran"], key=lambda call: int(call[1]["n"]))
    return outcome | {"ran": ran, "asked": sorted(outcome["asked"])}


async def test_suspended_and_resumed_the_same_calls_ask_and_the_same_calls_run(
    theirs: Drawn,
) -> None:
    players = {}
    for number, (scenario, _) in enumerate(theirs.suspended):
        played = Played(scenario, f"office-{number}")
        with suppress(DefinitionError):
            players[number] = (played, played.agent())
    odd: list[str] = []
    async with system([agent for _, agent in players.values()]) as placet:
        for number, (scenario, outcome) in enumerate(theirs.suspended):
            ours = REFUSED
            if number in players:
                ours = await suspended(placet, players[number][0])
            if found := differing(scenario, unordered(ours), unordered(outcome)):
                odd.append(found)
    assert not odd, f"{len(odd)} of {SUSPENDED} differ, the first:\n" + "\n\n".join(odd[:3])


async def test_each_departure_is_still_one_and_the_only_way_to_agree_is_to_expect_it(
    theirs: Drawn,
) -> None:
    for departure, outcome in theirs.examples:
        example = departure.example
        ours = await in_place(example) if example["mode"] == "inline" else await alone(example)
        assert departure.concerns(example)
        assert ours != outcome, f"no departure any more: {departure.what}"


async def alone(scenario: Scenario) -> Outcome:
    """What comes of one scenario in a runner of its own."""
    played = Played(scenario)
    async with system([played.agent()]) as placet:
        return await suspended(placet, played)


def test_the_scenarios_are_of_every_kind(theirs: Drawn) -> None:
    drawn_ones = [scenario for scenario, _ in theirs.in_place]
    for name in EVALUATORS:
        assert any(name in evaluators(scenario) for scenario in drawn_ones), name
    for name in CLASSIFIERS:
        assert any(scenario["classifier"] == name for scenario in drawn_ones), name
    outcomes_ = [outcome for _, outcome in (*theirs.in_place, *theirs.suspended)]
    asked = sum(len(outcome["asked"]) for outcome in outcomes_)
    ran = sum(len(outcome["ran"]) for outcome in outcomes_)
    print(f"{len(outcomes_)} scenarios: {asked} calls asked, {ran} calls ran")
    assert asked > 500
    assert ran > 500
