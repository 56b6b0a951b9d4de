"""What time does before a deadline: reminders, escalation; with a clock that is turned by hand."""

from typing import Any

import pytest

from placet import audit
from placet.domain.audience import AnswerPolicy, Audience, EscalationStep, Priority
from placet.errors import Invalid
from placet.testing.clock import HandClock
from placet_broker.rules.record import Record
from tests.integration.broker.desk import Desk, approval
from tests.integration.broker.due.turned import DAY, HOUR, INSTANT, sweep

pytestmark = pytest.mark.integration

ANN = Audience(initiator="zoe", approvers=("ann",))


async def asked(desk: Desk, clock: HandClock, policy: AnswerPolicy, **changes: Any) -> Record:
    given = {"expires_at": clock.now() + DAY, "audience": ANN, "requested_at": clock.now()}
    return await desk.ask(approval(policy=policy, **{**given, **changes}))


def step(hours: float | None = None, **does: Any) -> EscalationStep:
    return EscalationStep(after_seconds=None if hours is None else int(hours * 3600), **does)


async def told(desk: Desk, kind: str) -> list[dict[str, Any]]:
    await desk.broker.outbox.drain()
    return [event["data"] for event in desk.events.of_type(f"input.{kind}")]


async def test_reminders_come_at_their_times_and_once(desk: Desk, clock: HandClock) -> None:
    record = await asked(desk, clock, AnswerPolicy(reminders=(3600, 7200)))
    clock.turn(HOUR - INSTANT)
    await sweep(desk)
    assert await told(desk, "reminder") == []
    clock.turn(INSTANT)
    await sweep(desk)
    await sweep(desk)
    assert [each["number"] for each in await told(desk, "reminder")] == [1]
    clock.turn(HOUR)
    await sweep(desk)
    reminders = await told(desk, "reminder")
    assert [each["number"] for each in reminders] == [1, 2]
    assert reminders[0]["for"] == ["zoe", "ann"]
    assert (await desk.get(record.id)).pending


async def test_missed_reminders_are_one(desk: Desk, clock: HandClock) -> None:
    record = await asked(desk, clock, AnswerPolicy(reminders=(3600, 7200, 10_800)))
    await desk.broker.outbox.drain()
    clock.turn(3 * HOUR)
    await sweep(desk)
    assert [each["number"] for each in await told(desk, "reminder")] == [3]
    assert (await desk.get(record.id)).reminded == 3


async def test_a_step_adds_people_raises_the_priority_and_tells(
    desk: Desk, clock: HandClock
) -> None:
    policy = AnswerPolicy(
        escalation=(step(1, add=("lea",), priority=Priority.URGENT, notify=("boss",)),)
    )
    record = await asked(desk, clock, policy)
    lea = await desk.key("lea")
    assert (await desk.answer(record.id, True, lea)).status_code == 403
    clock.turn(HOUR)
    await sweep(desk)
    current = await desk.get(record.id)
    assert current.audience.approvers == ("ann", "lea")
    assert current.request().audience.approvers == ("ann", "lea")
    assert current.priority == "urgent"
    (event,) = await told(desk, "escalated")
    assert (event["number"], event["added"], event["notify"]) == (1, ["lea"], ["boss"])
    assert current.digest == record.digest
    mine = await desk.http.get("/v1/inputs?mine=true&priority=urgent", headers=lea)
    assert [each["id"] for each in mine.json()["items"]] == [record.id]
    assert (await desk.answer(record.id, True, lea)).status_code == 202
    history = (await desk.get(record.id)).history
    assert [e["what"] for e in history] == ["opened", "escalated", "settled"]
    assert audit.flaws(history) == []


async def test_a_priority_is_never_lowered(desk: Desk, clock: HandClock) -> None:
    policy = AnswerPolicy(escalation=(step(1, priority=Priority.LOW),))
    record = await asked(desk, clock, policy, priority=Priority.HIGH)
    clock.turn(HOUR)
    await sweep(desk)
    assert (await desk.get(record.id)).priority == "high"


async def test_a_step_that_denies_is_nobodys_refusal(desk: Desk, clock: HandClock) -> None:
    record = await asked(desk, clock, AnswerPolicy(escalation=(step(1, deny=True),)))
    clock.turn(HOUR + INSTANT)
    await sweep(desk)
    ended = (await desk.get(record.id)).resolution
    assert ended is not None
    assert (ended.state, ended.by, ended.outcome.decision) == ("expired", None, None)


async def test_nothing_that_a_clock_does_approves(desk: Desk, clock: HandClock) -> None:
    policy = AnswerPolicy(
        quorum=2,
        reminders=(60, 120),
        escalation=(step(1, add=("lea",)), step(2, notify=("boss",)), step(None, add=("max",))),
    )
    record = await asked(desk, clock, policy, on_expiry="escalate")
    for _ in range(40):
        clock.turn(4 * HOUR)
        await sweep(desk)
        current = await desk.get(record.id)
        assert current.pending or current.state == "expired"
    assert (await desk.get(record.id)).state == "expired"


async def test_where_a_deadline_escalates_each_step_has_as_long_again(
    desk: Desk, clock: HandClock
) -> None:
    policy = AnswerPolicy(escalation=(step(add=("lea",)), step(add=("max",))))
    record = await asked(desk, clock, policy, on_expiry="escalate")
    ends = record.expires_at
    assert ends is not None
    for number, who in enumerate(("lea", "max"), 1):
        clock.at = ends + number * DAY - DAY + INSTANT
        await sweep(desk)
        current = await desk.get(record.id)
        assert (current.state, current.expires_at) == ("pending", ends + number * DAY)
        assert who in current.audience.approvers
        assert current.request().expires_at == current.expires_at
    clock.turn(DAY + INSTANT)
    await sweep(desk)
    assert (await desk.get(record.id)).state == "expired"


async def test_an_answer_after_a_deadline_that_escalates_is_taken(
    desk: Desk, clock: HandClock
) -> None:
    record = await asked(
        desk, clock, AnswerPolicy(escalation=(step(add=("lea",)),)), on_expiry="escalate"
    )
    clock.turn(DAY + INSTANT)
    reply = await desk.answer(record.id, True, await desk.key("lea"))
    assert reply.status_code == 403, "nobody has looked yet, and lea is not named"
    reply = await desk.answer(record.id, True, await desk.key("ann"))
    assert reply.status_code == 202, "its deadline has escalated and not ended it"
    whats = [entry["what"] for entry in (await desk.get(record.id)).history]
    assert whats == ["opened", "escalated", "settled"]


async def test_steps_stand_in_order_and_do_something(desk: Desk, clock: HandClock) -> None:
    with pytest.raises(ValueError, match="order of their times"):
        AnswerPolicy(escalation=(step(2, deny=True), step(1, deny=True)))
    with pytest.raises(ValueError, match="adds people"):
        step(1)
    with pytest.raises(Invalid, match="on_expiry"):
        await asked(desk, clock, AnswerPolicy(escalation=(step(add=("lea",)),)))


async def test_a_settled_question_is_left_alone(desk: Desk, clock: HandClock) -> None:
    record = await asked(
        desk, clock, AnswerPolicy(reminders=(3600,), escalation=(step(2, add=("lea",)),))
    )
    await desk.answer(record.id, True, await desk.key("ann"))
    for _ in range(3):
        clock.turn(2 * HOUR)
        await sweep(desk)
    assert await told(desk, "reminder") == []
    assert await told(desk, "escalated") == []


async def test_a_step_narrows_nothing_where_nobody_is_named(desk: Desk, clock: HandClock) -> None:
    policy = AnswerPolicy(escalation=(step(1, add=("lea",), priority=Priority.HIGH),))
    record = await asked(desk, clock, policy, audience=Audience())
    clock.turn(HOUR)
    await sweep(desk)
    assert (await desk.get(record.id)).priority == "high"
    assert not (await desk.get(record.id)).audience.names_somebody
    assert (await desk.answer(record.id, True, await desk.key("anybody"))).status_code == 202
