"""Random lives of one question: whatever people, time and two brokers do, it ends once and rightly.

Hypothesis draws the steps, and prints the shortest that fails. `PLACET_FAULTS=long` draws many more.
"""

import os
from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placet.domain.audience import AnswerPolicy, Audience, EscalationStep, Priority
from placet.domain.digest import same_json
from placet.domain.interaction import InputState
from placet_broker.rules.record import Record
from tests.support.lives import Life
from tests.support.stateful.virtual import VirtualLoop

pytestmark = pytest.mark.integration

LONG = os.environ.get("PLACET_FAULTS") == "long"
EXAMPLES, STEPS = (5000, 40) if LONG else (300, 25)
CLOCKS = ("wait", "sweep", "freeze", "lift", "look")
PEOPLE = ["ann", "bob", "carol", "zoe", "eve"]
TWO_STEPS = (
    EscalationStep(after_seconds=3600, add=("carol",), priority=Priority.HIGH),
    EscalationStep(add=("group:leads",)),
)
ENDING = (EscalationStep(after_seconds=7200, deny=True),)
POLICIES = [
    (AnswerPolicy(), "deny"),
    (AnswerPolicy(quorum=2), "deny"),
    (AnswerPolicy(quorum=2, exclude_initiator=True, reminders=(3600, 7200)), "deny"),
    (AnswerPolicy(exclude_initiator=True, escalation=TWO_STEPS), "escalate"),
    (AnswerPolicy(quorum=3, escalation=TWO_STEPS, reminders=(60,)), "escalate"),
    (AnswerPolicy(quorum=2, escalation=ENDING), "deny"),
]
AUDIENCES = [
    Audience(initiator="zoe", approvers=("ann", "bob")),
    Audience(initiator="slack:Z", approvers=("ann", "bob", "group:leads", "zoe")),
    Audience(initiator="zoe", approvers=("group:leads", "slack:A")),
]
CONTENTS = [
    True,
    True,
    False,
    {"decision": "approved", "args": {"n": 1}},
    {"decision": "approved", "args": {"n": True}},
    {"decision": "approved", "args": {"name": "staging"}},
]
brokers, people = st.integers(0, 1), st.sampled_from(PEOPLE)
names = st.lists(st.sampled_from([*PEOPLE, "group:leads", "slack:A"]), max_size=2)
some = st.lists(people, max_size=3, unique=True)


def step(what: str, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, Any]]:
    return st.tuples(st.just(what), st.fixed_dictionaries(parts))


saying = step(
    "say",
    broker=brokers,
    who=st.sampled_from([*PEOPLE, "slack:A", "slack:Z"]),
    content=st.sampled_from(CONTENTS),
    shown=st.sampled_from([True, True, False]),
    batch=st.booleans(),
)
looking = step("look", broker=brokers)
steps = st.one_of(
    saying,
    saying,
    saying,
    saying,
    looking,
    looking,
    step("claim", broker=brokers, who=people, release=st.booleans()),
    step("extend", broker=brokers, who=people, hours=st.sampled_from([1, 30])),
    step("edit", broker=brokers, add=names, remove=names),
    step("link", broker=brokers, who=people, yes=st.sampled_from([True, True, False])),
    step(
        "press", broker=brokers, pick=st.integers(0, 3), right=st.sampled_from([True, True, False])
    ),
    step("group", members=some),
    step(
        "connect",
        identity=st.sampled_from(["slack:A", "slack:Z"]),
        person=st.sampled_from([None, "ann", "zoe", "carol"]),
    ),
    step("delegate", to=people, principals=some),
    step("freeze"),
    step("lift"),
    step("wait", hours=st.sampled_from([0.5, 2, 12, 24])),
    step("sweep", broker=brokers),
    step("close", broker=brokers, reason=st.sampled_from(["superseded", "cancelled"])),
)


def seats_of(life: Life, record: Record, person: str) -> set[str]:
    """In whose places a person may say yes now, worked out from what is written about people alone."""
    directory, policy = life.directory, record.policy
    initiator = record.audience.initiator or ""
    initiator = directory.linked.get(initiator, initiator)
    principals = set(directory.delegates.get(person, ()))
    if policy.strict and (":" in person or initiator in principals):
        return set()
    if policy.exclude_initiator and person == initiator:
        return set()

    def goes_by(id: str) -> set[str]:
        identities = {name for name, who in directory.linked.items() if who == id}
        return {id, *identities, *(f"group:{g}" for g in directory.groups.get(id, ()))}

    named = set(record.audience.named)
    return {id for id in {person} | principals if goes_by(id) & named}


def enough(life: Life, record: Record, voters: tuple[str, ...]) -> bool:
    """Whether these are that many people, each in a place of their own."""
    if len(set(voters)) != len(voters) or len(voters) < record.policy.quorum:
        return False
    wanted = [seats_of(life, record, voter) for voter in voters]
    everywhere = sorted(set().union(*wanted))
    return any(
        all(seat in seats for seat, seats in zip(taken, wanted, strict=True))
        for taken in permutations(everywhere, len(voters))
    )


def check_yes(life: Life, before: Record, after: Record, what: str) -> None:
    """A question that has just been approved: by enough people who may, all for these arguments."""
    resolution = after.resolution
    assert resolution is not None
    assert resolution.by is not None
    assert what not in CLOCKS, "nothing that a clock does approves"
    voters = resolution.voters or (resolution.by.id,)
    assert enough(life, after, voters), f"{voters} under {after.policy}"
    for voter in voters:
        mine = [said for said in life.said if said.person == voter]
        fits = any(same_json(said.args, resolution.outcome.args) for said in mine)
        assert fits or mine == [], f"{voter} said yes to something else"
        assert mine, f"{voter} said nothing"
    if before.expires_at is not None and before.expires_at == after.expires_at:
        assert resolution.at <= before.expires_at


def check_links(before: Record, after: Record, what: str, parts: dict[str, Any]) -> None:
    """A link that was dead decides nothing."""
    if what != "press" or (before.state, before.votes) == (after.state, after.votes):
        return
    if after.state is InputState.EXPIRED or after.climbed != before.climbed:
        return  # its time came first
    used = [link for link in after.links if link.used_at is not None]
    assert len(used) == len([link for link in before.links if link.used_at is not None]) + 1


async def check(life: Life, before: Record, what: str, parts: dict[str, Any]) -> Record:
    """Everything that holds after every step."""
    after = await life.record()
    trail = await life.interactions.trail(life.id)
    assert trail is not None
    assert trail.disagreements() == []
    assert len(after.history) == after.rev + 1 >= before.rev + 1
    if not before.pending:
        assert (after.state, after.resolution) == (before.state, before.resolution), "once"
        return after
    assert all(same_json(vote.outcome.args, after.votes[0].outcome.args) for vote in after.votes)
    assert len({vote.by for vote in after.votes}) == len(after.votes)
    if after.state is InputState.EXPIRED:
        assert after.resolution is not None
        assert (after.resolution.by, after.resolution.channel) == (None, "timer")
    if after.state is InputState.ANSWERED:
        check_yes(life, before, after, what)
    check_links(before, after, what, parts)
    return after


async def lived(policy: tuple[AnswerPolicy, str], audience: Audience, todo: list[Any]) -> None:
    life = Life()
    await life.begin(policy[0], audience, policy[1])
    try:
        before = await life.record()
        for what, parts in todo:
            await life.do(what, **parts)
            before = await check(life, before, what, parts)
    finally:
        await life.database.close()


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(
    policy=st.sampled_from(POLICIES),
    audience=st.sampled_from(AUDIENCES),
    todo=st.lists(steps, min_size=5, max_size=STEPS),
)
@pytest.mark.timeout(0 if LONG else 600)
def test_a_question_ends_once_and_by_those_who_may(
    policy: tuple[AnswerPolicy, str], audience: Audience, todo: list[Any]
) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(lived(policy, audience, todo))
    finally:
        loop.close()
