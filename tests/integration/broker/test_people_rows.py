"""The rows of what people and time do to a question that stays open: each condition by itself."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from placet import audit
from placet.domain.answer import Action
from placet.domain.audience import AnswerPolicy, Audience, EscalationStep, Priority
from placet.domain.interaction import ApprovalDecision, InputState
from placet.domain.outcome import Outcome
from placet_broker.rules import escalating, opening
from placet_broker.rules.record import Claim, Link, Record, Vote
from placet_broker.rules.timing import Climb
from placet_broker.rules.voting import Ballot
from tests.integration.broker.desk import RUNNER_ASKS, Desk, approval, past

pytestmark = pytest.mark.integration

STEP = EscalationStep(
    after_seconds=1, add=("$namespace", "dora"), priority=Priority.HIGH, notify=("$$ROOT",)
)
POLICY = AnswerPolicy(quorum=2, reminders=(1, 2), escalation=(STEP,))
PEOPLE = Audience(initiator="zoe", approvers=("ann", "bob"))
YES = Outcome(
    state=InputState.ANSWERED,
    content=True,
    decision=ApprovalDecision.APPROVED,
    args={"$where": "$state", "a.b": None},
)
AT = past(0).replace(microsecond=0)
VOTE = Vote("$by", "ann", YES, AT, "$channel", "$$NOW")
CLAIM = Claim("$state", AT)
LINK = Link("lnk_1", "sha", "$person", Action.ACCEPT, {"$x": ["$state"]}, "digest", AT)
EARLIER, LATER = past(5), past(-300)

Write = Callable[[Desk, Record, datetime], Awaitable[Record | None]]


def climbed(desk: Desk, record: Record, at: datetime) -> Awaitable[Record | None]:
    after = escalating.climbed(record, Climb(at, STEP, record.expires_at))
    done: Awaitable[Record | None] = desk.interactions.climb(record, at, after)
    return done


def edited(desk: Desk, record: Record, at: datetime) -> Awaitable[Record | None]:
    after = escalating.with_audience(record, ["$due"], ["ann"], ())
    done: Awaitable[Record | None] = desk.interactions.edit_audience(record, after, "root")
    return done


WRITES: dict[str, Write] = {
    "vote": lambda d, r, at: d.interactions.vote(r, Ballot((VOTE,), links=(LINK,))),
    "extend": lambda d, r, at: d.interactions.extend(r, LATER, "ann"),
    "claim": lambda d, r, at: d.interactions.claim(r, CLAIM, "$state"),
    "release": lambda d, r, at: d.interactions.claim(r, None, "ann"),
    "relink": lambda d, r, at: d.interactions.relink(r, (LINK,), "linked", "$by", "lnk_1"),
    "edit": edited,
    "thaw": lambda d, r, at: d.interactions.thaw(r, LATER, AT),
    "remind": lambda d, r, at: d.interactions.remind(r, at, 1),
    "climb": climbed,
    "expire": lambda d, r, at: d.interactions.expire(r, at),
}
TIMED = ("remind", "climb", "expire")
IN_TIME = ("vote", "extend")
each_write = pytest.mark.parametrize("name", WRITES)


async def opened(desk: Desk, expires_in: float = 600) -> Record:
    asked = approval(audience=PEOPLE, policy=POLICY, expires_at=past(-expires_in))
    full = opening.prepared(asked, RUNNER_ASKS, now=past(10), default_life=None)
    record = opening.opened(full, RUNNER_ASKS, None, past(10))
    assert await desk.interactions.open(record)
    return await desk.get(record.id)


async def document(desk: Desk, record: Record) -> dict[str, Any]:
    found: dict[str, Any] = await desk.interactions.collection.get(record.id)
    return found


async def is_whole(desk: Desk, id: str) -> bool:
    trail = await desk.interactions.trail(id)
    assert trail.disagreements() == []
    return bool(len(trail.history) == trail.facts["rev"] + 1)


@each_write
async def test_it_matches_what_was_read_and_adds_one_entry_to_the_chain(
    still: Desk, name: str
) -> None:
    record = await opened(still)
    written = await WRITES[name](still, record, EARLIER)
    assert written is not None
    assert written == await still.get(record.id)
    assert (written.rev, len(written.history)) == (record.rev + 1, len(record.history) + 1)
    assert await is_whole(still, record.id)


@each_write
async def test_it_misses_once_somebody_else_has_written(still: Desk, name: str) -> None:
    record = await opened(still)
    noted = await still.interactions.note(record, "seen", "bob")
    assert await WRITES[name](still, record, EARLIER) is None
    assert await still.get(record.id) == noted


@each_write
async def test_it_misses_what_has_settled_even_at_its_revision(still: Desk, name: str) -> None:
    record = await opened(still)
    closed = await still.interactions.expire(record, EARLIER)
    assert await WRITES[name](still, replace(record, rev=closed.rev), EARLIER) is None
    assert await still.get(record.id) == closed


@each_write
async def test_it_is_bound_to_the_deadline_where_it_may_lead_to_an_answer(
    still: Desk, name: str
) -> None:
    record = await opened(still, expires_in=-5)
    matched = await WRITES[name](still, record, EARLIER) is not None
    assert matched == (name not in IN_TIME)
    assert await is_whole(still, record.id)


@pytest.mark.parametrize("name", TIMED)
async def test_what_a_clock_does_misses_before_its_time(still: Desk, name: str) -> None:
    record = await opened(still)
    assert await WRITES[name](still, record, LATER) is None
    assert await still.get(record.id) == record


async def test_b4_keeps_the_votes_and_uses_the_link_up(still: Desk) -> None:
    record = await opened(still)
    voted = await still.interactions.vote(record, Ballot((VOTE,), links=(LINK,)))
    assert (voted.votes, voted.links) == ((VOTE,), (LINK,))
    assert (voted.state, voted.outbox) == ("pending", record.outbox), "nobody is told of a vote"
    entry = voted.history[-1]
    assert (entry["what"], entry["by"]) == ("voted", "$by")
    assert entry["outcome"] == audit.digest(YES.model_dump_json())


async def test_a_reminder_is_told_once_and_the_next_time_is_looked_at(still: Desk) -> None:
    record = await opened(still)
    reminded = await still.interactions.remind(record, EARLIER, 1)
    assert [e["what"] for e in reminded.outbox] == ["requested", "reminder"]
    assert reminded.reminded == 1
    assert await still.interactions.remind(record, EARLIER, 1) is None, "at the other broker"
    assert await climbed(still, reminded, EARLIER) is not None
    next_at = (await document(still, record))["next_at"]
    assert next_at == record.opened_at + timedelta(seconds=2), "the second reminder"


async def test_a_step_names_more_people_everywhere_they_are_named(still: Desk) -> None:
    record = await opened(still)
    after = await climbed(still, record, EARLIER)
    assert after is not None
    assert after.audience.approvers == ("ann", "bob", "$namespace", "dora")
    assert after.request().audience == after.audience
    assert (after.climbed, after.priority, after.request().priority) == (1, "high", "high")
    assert after.outbox[-1]["told"] == {"added": ["$namespace", "dora"], "notify": ["$$ROOT"]}
    kept = await document(still, record)
    assert {"who:$namespace", "who:dora", "priority:high"} <= set(kept["words"])
    assert await climbed(still, record, EARLIER) is None, "at the other broker"


async def test_an_edited_audience_takes_the_votes_that_do_not_count_along(still: Desk) -> None:
    record = await opened(still)
    voted = await still.interactions.vote(record, Ballot((VOTE,)))
    after = await edited(still, voted, EARLIER)
    assert after is not None
    assert (after.audience.approvers, after.votes) == (("bob", "$due"), ())
    assert after.history[-1]["voided"] == "1"
    assert "who:ann" not in (await document(still, record))["words"]


async def test_claims_links_and_moved_deadlines_are_kept_as_they_are_given(still: Desk) -> None:
    record = await opened(still)
    claimed = await still.interactions.claim(record, CLAIM, "$state")
    assert claimed.claim == CLAIM
    assert (await still.interactions.claim(claimed, None, "ann")).claim is None
    linked = await still.interactions.relink(
        await still.get(record.id), (LINK,), "linked", "$by", "lnk_1"
    )
    assert (linked.links, linked.history[-1]["link"]) == ((LINK,), "lnk_1")
    late = await opened(still, expires_in=-5)
    thawed = await still.interactions.thaw(late, LATER, AT)
    kept = (await document(still, late))["expires_at"]
    assert thawed.expires_at == kept
    assert abs(kept - LATER) < timedelta(milliseconds=1)


async def test_an_end_at_a_steps_time_has_no_decider_and_the_deadline_is_no_matter(
    still: Desk,
) -> None:
    record = await opened(still)
    assert await still.interactions.expire(record) is None, "the deadline itself is ahead"
    ended = await still.interactions.expire(record, EARLIER)
    assert (ended.state, ended.resolution.by, ended.resolution.channel) == (
        "expired",
        None,
        "timer",
    )
