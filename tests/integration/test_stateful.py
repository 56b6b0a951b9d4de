"""Random lives of runs: whatever people, models and crashes do, the twelve invariants hold.

Hypothesis draws the steps, and prints the shortest that fails. `PLACET_FAULTS=long` draws many more.
"""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.support.stateful.invariants import flaws
from tests.support.stateful.plans import PLANS, Plan
from tests.support.stateful.watching import keep_crashes
from tests.support.stateful.world import World

pytestmark = pytest.mark.integration

LONG = os.environ.get("PLACET_FAULTS") == "long"
EXAMPLES, STEPS = (1000, 40) if LONG else (25, 25)

picks = st.integers(0, 5)
moments = st.sampled_from([None, None, None, 0, 5, 40])
"""How far everything goes on after a step: so many steps, or until nothing moves."""
surfaces = st.sampled_from(["own", "named", "bob", "bus", "all", "each", "mallory"])
services = st.sampled_from(["runner", "broker"])
people = st.sampled_from(["alice", "carol"])


class Lives(RuleBasedStateMachine):
    """Steps of everybody; at the end all is well again, and everything must come to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    def _do(self, work: Any, moment: int | None) -> None:
        if work is not None:
            self.world.do(work)
        self.world.do(self.world.breathe(moment))
        if moment is None:
            self.world.suspended()

    @rule(
        agent=st.sampled_from(["ops", "ops", "staged", "worker"]),
        plan=PLANS,
        who=people,
        own=st.booleans(),
        pick=picks,
        then=moments,
    )
    def start(
        self, agent: str, plan: Plan, who: str, own: bool, pick: int, then: int | None
    ) -> None:
        self._do(self.world.start(agent, plan, who, own, pick), then)

    @rule(pick=picks, choice=picks, surface=surfaces, then=moments)
    def answer(self, pick: int, choice: int, surface: str, then: int | None) -> None:
        self._do(self.world.answer_one(pick, "accept", choice, surface), then)

    @rule(pick=picks, choice=picks, surface=surfaces, then=moments)
    def answer_more(self, pick: int, choice: int, surface: str, then: int | None) -> None:
        self._do(self.world.answer_one(pick, "accept", choice // 3, surface), then)

    @rule(pick=picks, action=st.sampled_from(["decline", "cancel"]), surface=surfaces, then=moments)
    def turn_down(self, pick: int, action: str, surface: str, then: int | None) -> None:
        self._do(self.world.answer_one(pick, action, 0, surface), then)

    @rule(pick=picks, choice=picks, surface=surfaces)
    def answer_wrongly(self, pick: int, choice: int, surface: str) -> None:
        self._do(self.world.answer_wrongly(pick, choice, surface), None)

    @rule(pick=picks, choice=picks, surface=surfaces, then=moments)
    def answer_again(self, pick: int, choice: int, surface: str, then: int | None) -> None:
        self._do(self.world.answer_again(pick, choice, surface), then)

    @rule(pick=picks, minutes=st.integers(-5, 120))
    def extend(self, pick: int, minutes: int) -> None:
        self._do(self.world.extend(pick, minutes), None)

    @rule(
        pick=picks,
        who=people,
        mode=st.sampled_from(["supersede", "queue"]),
        plan=st.none() | PLANS,
        then=moments,
    )
    def tell(self, pick: int, who: str, mode: str, plan: Plan | None, then: int | None) -> None:
        self._do(self.world.tell(pick, who, mode, plan), then)

    @rule(pick=picks, then=moments)
    def abort(self, pick: int, then: int | None) -> None:
        self._do(self.world.abort(pick), then)

    @rule(pick=picks, then=moments)
    def revoke(self, pick: int, then: int | None) -> None:
        self._do(self.world.revoke(pick), then)

    @rule(seconds=st.sampled_from([0.4, 2.0, 6.0, 40.0]))
    def wait(self, seconds: float) -> None:
        self._do(self.world.sleep(seconds), None)

    @rule(minutes=st.sampled_from([1, 20, 61]), then=moments)
    def turn_the_clock(self, minutes: int, then: int | None) -> None:
        self.world.fleet.clock.turn(timedelta(minutes=minutes))
        self._do(None, then)

    @rule(
        service=services,
        pick=picks,
        writes=st.none() | st.integers(0, 8),
        before=st.booleans(),
        then=moments,
    )
    def kill(
        self, service: str, pick: int, writes: int | None, before: bool, then: int | None
    ) -> None:
        self.world.kill(service, pick, writes, before)
        self._do(None, then)

    @rule(service=services, then=moments)
    def launch(self, service: str, then: int | None) -> None:
        self._do(self.world.launch(service), then)

    @rule(service=services, pick=picks, then=moments)
    def stop(self, service: str, pick: int, then: int | None) -> None:
        self._do(self.world.stop(service, pick), then)

    @rule(then=moments)
    def restart(self, then: int | None) -> None:
        self._do(self.world.restart(), then)

    @rule(cut=st.booleans(), then=moments)
    def cut_or_mend_the_bus(self, cut: bool, then: int | None) -> None:
        self._do(self.world.cut() if cut else self.world.mend(), then)

    @rule()
    def lose_the_queues(self) -> None:
        self.world.lose()

    @rule(pick=st.integers(0, 30), then=moments)
    def replay(self, pick: int, then: int | None) -> None:
        self._do(self.world.replay(pick), then)

    @rule(kind=st.sampled_from(["placet.run_command.v1", "placet.resolution.v1"]))
    def double(self, kind: str) -> None:
        self.world.fleet.twice.symmetric_difference_update({kind})

    def teardown(self) -> None:
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
