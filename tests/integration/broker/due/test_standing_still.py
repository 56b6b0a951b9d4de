"""Deadlines under a freeze, with a clock that is turned by hand: no time passes for what is frozen."""

from datetime import timedelta
from typing import Any

import pytest

from placet import audit
from placet.domain.freeze import Freeze
from placet.testing.clock import HandClock
from tests.integration.broker.desk import Desk, of_service
from tests.integration.broker.due.turned import DAY, HOUR, INSTANT, sweep, text

pytestmark = pytest.mark.integration


async def freeze(desk: Desk, *tools: str, **fields: Any) -> Freeze:
    given = {"namespace": "default", "agent": None, "reason": "an incident", "by": "root"}
    made, _ = await desk.broker.freezes.freeze(**(given | fields), tools=tools)
    return made


async def lift(desk: Desk, stop: Freeze) -> None:
    await desk.broker.freezes.lift("default", stop.id, "root")


@pytest.mark.parametrize(("late", "state"), [(0 * INSTANT, "answered"), (INSTANT, "expired")])
async def test_after_it_is_lifted_a_question_has_as_much_time_left_as_before(
    desk: Desk, clock: HandClock, late: timedelta, state: str
) -> None:
    record = await desk.ask(expires_at=clock.now() + DAY)
    alice = await desk.key("alice")
    clock.turn(DAY - HOUR)
    stop = await freeze(desk, "drop_database")
    clock.turn(10 * DAY)
    await sweep(desk)
    assert (await desk.get(record.id)).pending
    await lift(desk, stop)
    clock.turn(HOUR + late)
    await sweep(desk)
    reply = await desk.answer(record.id, True, alice)
    assert reply.status_code == (202 if state == "answered" else 409)
    assert (await desk.get(record.id)).state == state


async def test_the_new_deadline_is_shown_and_stands_in_the_history(
    desk: Desk, clock: HandClock
) -> None:
    until = clock.now() + DAY
    record = await desk.ask(expires_at=until)
    stop = await freeze(desk)
    clock.turn(3 * DAY)
    await lift(desk, stop)
    await sweep(desk)
    moved = await desk.get(record.id)
    assert moved.expires_at == until + 3 * DAY == moved.request().expires_at
    assert [entry["what"] for entry in moved.history] == ["opened", "frozen"]
    assert (moved.history[-1]["was"], moved.history[-1]["to"]) == (
        until.isoformat(),
        (until + 3 * DAY).isoformat(),
    )
    assert audit.flaws(moved.history) == []
    clock.turn(DAY + INSTANT)
    await sweep(desk)
    assert (await desk.get(record.id)).state == "expired"


async def test_an_answer_within_the_frozen_time_is_taken_although_the_deadline_has_passed(
    desk: Desk, clock: HandClock
) -> None:
    record = await desk.ask(expires_at=clock.now() + DAY)
    clock.turn(DAY - INSTANT)
    await freeze(desk)
    clock.turn(5 * DAY)
    reply = await desk.answer(record.id, True, await desk.key("alice"))
    assert (reply.status_code, reply.json()["state"]) == (202, "answered")


async def test_a_freeze_that_began_after_the_deadline_saves_nothing(
    desk: Desk, clock: HandClock
) -> None:
    record = await desk.ask(expires_at=clock.now() + DAY)
    clock.turn(DAY + INSTANT)
    await freeze(desk)
    await sweep(desk)
    assert (await desk.get(record.id)).state == "expired"


async def test_overlapping_freezes_count_once_and_one_after_another_both(
    desk: Desk, clock: HandClock
) -> None:
    until = clock.now() + DAY
    record = await desk.ask(expires_at=until)
    first, second = await freeze(desk), await freeze(desk, "drop_database")
    clock.turn(2 * DAY)
    await lift(desk, first)
    clock.turn(DAY)
    await sweep(desk)
    await lift(desk, second)
    clock.turn(HOUR)
    third = await freeze(desk)
    clock.turn(DAY)
    await lift(desk, third)
    await sweep(desk)
    assert (await desk.get(record.id)).expires_at == until + 4 * DAY


async def test_a_long_freeze_leaves_no_history_of_its_own(desk: Desk, clock: HandClock) -> None:
    record = await desk.ask(expires_at=clock.now() + DAY)
    await freeze(desk)
    for _ in range(20):
        clock.turn(DAY)
        await sweep(desk)
    still = await desk.get(record.id)
    assert (still.state, len(still.history)) == ("pending", 1)


async def test_only_what_it_covers_stands_still(desk: Desk, clock: HandClock) -> None:
    """A question that names no tool stands still only under a freeze of all tools."""
    until = clock.now() + DAY
    other = await desk.ask(tool="look", expires_at=until)
    asked = await desk.ask(text(expires_at=until))
    covered = await desk.ask(expires_at=until)
    await freeze(desk, "drop_database")
    await freeze(desk, agent="another")
    await freeze(desk, namespace="elsewhere")
    clock.turn(2 * DAY)
    await sweep(desk)
    states = [(await desk.get(each.id)).state for each in (other, asked, covered)]
    assert states == ["expired", "expired", "pending"]


async def test_a_freeze_of_a_whole_agent_covers_all_its_questions(
    desk: Desk, clock: HandClock
) -> None:
    until = clock.now() + DAY
    asked = await desk.ask(text(expires_at=until, path=("root", "ops")))
    await freeze(desk, agent="root")
    clock.turn(2 * DAY)
    await sweep(desk)
    assert (await desk.get(asked.id)).pending


async def test_what_another_service_asks_is_no_call_of_ours(desk: Desk, clock: HandClock) -> None:
    asker = await desk.key(None, "runs:write", service="billing")
    body = of_service(expires_at=clock.now() + DAY, requested_at=clock.now()).model_dump(
        mode="json"
    )
    reply = await desk.http.post("/v1/requests", json=body, headers=asker)
    await freeze(desk)
    clock.turn(2 * DAY)
    await sweep(desk)
    assert (await desk.get(reply.json()["id"])).state == "expired"


async def test_an_extension_is_meant_as_it_says(desk: Desk, clock: HandClock) -> None:
    record = await desk.ask(expires_at=clock.now() + DAY)
    alice = await desk.key("alice")
    stop = await freeze(desk)
    clock.turn(HOUR)
    await lift(desk, stop)
    until = clock.now() + 3 * DAY
    reply = await desk.http.post(
        f"/v1/inputs/{record.id}/extend", json={"expires_at": until.isoformat()}, headers=alice
    )
    assert reply.status_code == 200
    clock.at = until + INSTANT
    await sweep(desk)
    assert (await desk.get(record.id)).state == "expired"


async def test_two_brokers_credit_the_same_time_once(desk: Desk, clock: HandClock) -> None:
    until = clock.now() + DAY
    record = await desk.ask(expires_at=until)
    stop = await freeze(desk)
    clock.turn(2 * DAY)
    await lift(desk, stop)
    read = await desk.get(record.id)
    turn = desk.broker.use_cases.sweep_due._endings.turn
    first, second = await turn(read), await turn(read)
    assert first.expires_at == until + 2 * DAY
    assert second is read, "it was moved meanwhile"
    assert (await desk.get(record.id)).expires_at == first.expires_at
    assert len((await desk.get(record.id)).history) == 2
