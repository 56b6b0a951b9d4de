"""Random lives of runs: whatever people, models and crashes do, the twelve invariants hold.

Hypothesis draws the steps, and prints the shortest that fails. `PLACET_FAULTS=long` draws many more.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from placet.domain.resolution import Resolution
from placet.messages import Close, RunCommand
from placet.messages.event import Event
from placet.messages.wire import APPROVAL_REQUEST, NAMES
from tests.support.stateful.invariants import flaws
from tests.support.stateful.plans import PLANS
from tests.support.stateful.watching import keep_crashes
from tests.support.stateful.world import World

pytestmark = [pytest.mark.integration, pytest.mark.faults]

LONG = os.environ.get("PLACET_FAULTS") == "long"
EXAMPLES, STEPS = (1000, 40) if LONG else (20, 25)

picks = st.integers(0, 5)
moments = st.sampled_from([None, None, None, 0, 5, 40])
"""How far everything goes on after a step: so many steps, or until nothing moves."""
surfaces = st.sampled_from(["own", "named", "bus", "bob", "own", "all", "each", "own", "mallory"])
services = st.sampled_from(["runner", "broker"])
people = st.sampled_from(["alice", "carol"])
plans = st.none() | PLANS
messages = st.sampled_from(
    [APPROVAL_REQUEST, *(NAMES[model] for model in (RunCommand, Resolution, Close, Event))]
)


@dataclass(frozen=True)
class Step:
    """Something that somebody does, or that happens."""

    what: str
    parts: dict[str, Any]
    moment: int | None

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.parts.items())
        return f"Step({self.what!r}, {{{said}}}, {self.moment})"


def step(what: str, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    """Steps of one sort; each is a method of `World`."""
    return st.builds(Step, st.just(what), st.fixed_dictionaries(parts), moments)


starting = step(
    "start",
    agent=st.sampled_from(["ops", "staged", "ops", "worker"]),
    plan=PLANS,
    who=people,
    own=st.booleans(),
    unattended=st.sampled_from([None, None, None, "ask", "deny"]),
    pick=picks,
)
answering = step("answer_one", pick=picks, choice=picks, surface=surfaces)
approving = step("answer_one", pick=picks, choice=st.just(0), surface=surfaces)
granting = step("grant_one", pick=picks, choice=picks, surface=surfaces)
waiting = step("wait", seconds=st.sampled_from([0.4, 2.0, 6.0, 40.0]))
telling = step(
    "tell", pick=picks, who=people, mode=st.sampled_from(["supersede", "queue"]), plan=plans
)
killing = step(
    "kill", service=services, pick=picks, writes=st.none() | st.integers(0, 8), before=st.booleans()
)
swallowing = step("swallow", kind=messages)
rarely = st.one_of(
    step("turn_down", pick=picks, action=st.sampled_from(["decline", "cancel"]), surface=surfaces),
    step("answer_wrongly", pick=picks, choice=picks, surface=surfaces),
    step("answer_again", pick=picks, choice=picks, surface=surfaces),
    step("extend", pick=picks, minutes=st.integers(-5, 120)),
    step("abort", pick=picks),
    step("revoke", pick=picks),
    step(
        "freeze",
        tools=st.sampled_from([(), (), ("look",), ("drop", "wire"), ("delegate",)]),
        agent=st.sampled_from([None, None, "ops", "worker"]),
        pick=picks,
    ),
    step("lift", pick=picks),
    step("lift", pick=picks),
    step("turn_the_clock", minutes=st.sampled_from([1, 20, 61])),
    step("launch", service=services),
    step("stop", service=services, pick=picks),
    step("restart"),
    step("cut"),
    step("mend"),
    step("lose"),
    step("replay", pick=st.integers(0, 30)),
    step("double", kind=messages),
)
often = (starting, answering, answering, approving, approving, waiting, telling, killing)
steps = st.sampled_from([*often, *often, granting, granting, swallowing, *[rarely] * 7]).flatmap(
    lambda chosen: chosen
)


class Lives(RuleBasedStateMachine):
    """Steps of everybody; at the end all is well again, and everything must come to its end."""

    world: World | None = None

    @initialize(seed=st.integers(0, 2**16), step=starting)
    def begin(self, seed: int, step: Step) -> None:
        self.world = World(seed)
        self.go(step)

    @rule(step=steps)
    def go(self, step: Step) -> None:
        assert self.world is not None
        self.world.do(getattr(self.world, step.what)(**step.parts))
        self.world.do(self.world.breathe(step.moment))
        if step.moment is None:
            self.world.do(self.world.look_at_suspended())

    def teardown(self) -> None:
        if self.world is None:
            return
        try:
            self.world.do(self.world.finish())
            found = flaws(self.world.do(self.world.evidence()))
            assert not found, "\n".join(found)
        finally:
            self.world.close()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Thousands of deaths need no line each; what crashed is kept."""
    structlog.configure(processors=[keep_crashes])
    yield
    structlog.reset_defaults()


@pytest.mark.timeout(0 if LONG else 600)
def test_whatever_people_models_and_crashes_do_the_invariants_hold() -> None:
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
