"""What a deadline does, at the instant and after it, with a clock that is turned by hand."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from placet import audit
from placet.domain.audience import Audience
from placet.domain.interaction import (
    ConfirmRequest,
    FormRequest,
    FreeTextRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    Option,
    Question,
    QuestionsRequest,
)
from placet.errors import Invalid
from placet.ids import new_id
from placet.process.auth import Scope
from placet.store.sqlite import SQLiteDatabase
from placet.testing.clock import HandClock
from placet_broker.rules.opening import Asker
from tests.integration.broker.desk import Desk, approval, of_service, opened
from tests.integration.broker.due.turned import DAY, INSTANT, sweep, text

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("late", "status"), [(-INSTANT, 202), (0 * INSTANT, 202), (INSTANT, 409)])
async def test_l24_an_answer_at_the_very_deadline_settles_and_one_after_it_is_refused(
    desk: Desk, clock: HandClock, late: timedelta, status: int
) -> None:
    until = clock.now() + DAY
    record = await desk.ask(expires_at=until)
    alice = await desk.key("alice")
    clock.at = until + late
    reply = await desk.answer(record.id, True, alice)
    assert reply.status_code == status
    if status == 409:
        assert reply.json()["input"]["state"] == "expired"
    await sweep(desk)
    assert (await desk.get(record.id)).state == ("answered" if status == 202 else "expired")


async def test_cp_25_real_expiry_is_expired_has_no_decider_and_says_that_nobody_answered(
    desk: Desk, clock: HandClock
) -> None:
    """L21, C9: and it is nobody's refusal."""
    record = await desk.ask(expires_at=clock.now() + DAY)
    clock.turn(DAY + INSTANT)
    await sweep(desk)
    expired = (await desk.get(record.id)).resolution
    assert expired is not None
    assert (expired.state, expired.by, expired.channel) == ("expired", None, "timer")
    assert (expired.outcome.decision, expired.outcome.content) == (None, None)
    late = await desk.answer(record.id, False, await desk.key("alice"))
    assert late.status_code == 409
    assert "nobody answered" in late.json()["detail"]


async def test_cp_25_a_wait_that_runs_out_settles_nothing(desk: Desk) -> None:
    asker = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    body = of_service().model_dump(mode="json")
    reply = await desk.http.post("/v1/requests?wait=0.01", json=body, headers=asker)
    assert (reply.status_code, reply.json()["state"]) == (202, "pending")
    record = await desk.get(reply.json()["id"])
    assert record.pending
    assert [entry["what"] for entry in record.history] == ["opened"]


async def test_cp_27_who_names_no_deadline_gets_the_default_of_a_week(
    desk: Desk, clock: HandClock
) -> None:
    billing = Asker("service:billing", "default")
    record = await desk.broker.use_cases.open_request(of_service(), billing)
    assert record.expires_at == clock.now() + timedelta(days=7)
    shown = (await desk.get(record.id)).request().expires_at
    assert shown == record.expires_at
    cancelled = await desk.answer(record.id, None, await desk.key("alice"), action="cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")


async def test_l22_with_the_operators_zero_it_waits_for_ever(clock: HandClock) -> None:
    """CP-27: `never` where the operator allows it."""
    async with opened(
        lambda _: SQLiteDatabase(":memory:", clock=clock),
        start=False,
        clock=clock,
        interaction_timeout_secs=0,
    ) as desk:
        record = await desk.ask()
        assert record.expires_at is None
        clock.turn(1000 * DAY)
        await sweep(desk)
        assert (await desk.answer(record.id, True, await desk.key("alice"))).status_code == 202


async def test_what_is_open_keeps_the_deadline_that_it_was_opened_with(
    desk: Desk, clock: HandClock
) -> None:
    request = approval(expires_at=clock.now() + DAY)
    first = await desk.ask(request)
    again = await desk.ask(request.model_copy(update={"expires_at": clock.now() + 9 * DAY}))
    assert again.expires_at == first.expires_at


# --- extending


async def extend(desk: Desk, id: str, to: datetime, headers: dict[str, str], **more: Any) -> Any:
    body = {"expires_at": to.isoformat(), **more}
    return await desk.http.post(f"/v1/inputs/{id}/extend", json=body, headers=headers)


async def test_who_may_answer_gives_more_time_and_the_history_says_who(
    desk: Desk, clock: HandClock
) -> None:
    record = await desk.ask(expires_at=clock.now() + DAY)
    alice, to = await desk.key("alice"), clock.now() + 3 * DAY
    reply = await extend(desk, record.id, to, alice)
    assert reply.status_code == 200, reply.text
    shown = reply.json()["request"]
    assert datetime.fromisoformat(shown["expires_at"]) == to
    assert shown["digest"] == record.digest
    assert (await extend(desk, record.id, to, alice)).status_code == 200
    chain = (await desk.get(record.id)).history
    assert [entry["what"] for entry in chain] == ["opened", "extended"]
    assert (chain[1]["by"], chain[1]["to"]) == ("alice", to.isoformat())
    assert audit.flaws(chain) == []
    clock.turn(2 * DAY)
    await sweep(desk)
    assert (await desk.get(record.id)).pending
    await sweep(desk)
    assert await desk.interactions.next_due() == DAY.total_seconds()
    clock.turn(DAY + INSTANT)
    await sweep(desk)
    assert (await desk.get(record.id)).state == "expired"


async def test_a_deadline_moves_later_only_and_not_beyond_thirty_days(
    desk: Desk, clock: HandClock
) -> None:
    record, alice = await desk.ask(expires_at=clock.now() + 2 * DAY), await desk.key("alice")
    for to in (clock.now() + DAY, clock.now() + 31 * DAY):
        reply = await extend(desk, record.id, to, alice)
        assert reply.status_code == 400
        assert [error["pointer"] for error in reply.json()["errors"]] == ["/expires_at"]
    assert (await desk.get(record.id)).expires_at == record.expires_at


async def test_what_has_run_out_or_settled_is_not_extended(desk: Desk, clock: HandClock) -> None:
    late, done = await desk.ask(expires_at=clock.now() + DAY), await desk.ask()
    alice = await desk.key("alice")
    await desk.answer(done.id, False, alice)
    clock.turn(DAY + INSTANT)
    for record, state in ((late, "expired"), (done, "declined")):
        reply = await extend(desk, record.id, clock.now() + 9 * DAY, alice)
        assert (reply.status_code, reply.json()["input"]["state"]) == (409, state)


async def test_who_may_not_answer_extends_nothing(desk: Desk, clock: HandClock) -> None:
    record = await desk.ask(expires_at=clock.now() + DAY, audience=Audience(initiator="bob"))
    to = clock.now() + 2 * DAY
    assert (await extend(desk, record.id, to, await desk.key("mallory"))).status_code == 403
    asker = await desk.key(None, Scope.RUNS_WRITE, Scope.INPUTS_ANSWER, service="billing")
    body = of_service(expires_at=to).model_dump(mode="json")
    own = (await desk.http.post("/v1/requests", json=body, headers=asker)).json()["id"]
    assert (await extend(desk, own, to + DAY, asker)).status_code == 403
    assert (await desk.get(record.id)).refused_count == 1
    service = await desk.key(None, Scope.INPUTS_ANSWER, Scope.ANSWER_AS, service="portal")
    assert (await extend(desk, record.id, to, service)).status_code == 400
    assert (await extend(desk, record.id, to, service, **{"from": "bob"})).status_code == 200


# --- what expiry does

OPTIONS = (Option(label="Green"), Option(label="Red"))
ASKS: dict[str, tuple[type[Any], dict[str, Any], Any, Any]] = {
    "free_text": (FreeTextRequest, {}, "carry on", "carry on"),
    "multiple_choice": (MultipleChoiceRequest, {"options": ("a", "b")}, 1, "b"),
    "questions": (
        QuestionsRequest,
        {"questions": (Question(question="Which?", header="Which", options=OPTIONS),)},
        "Red",
        {"Which?": "Red"},
    ),
    "form": (
        FormRequest,
        {"form": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
        {"n": 3},
        {"n": 3},
    ),
}


def defaulted(kind: str, clock: HandClock, **changes: Any) -> InteractionRequest:
    model, parts, default, _ = ASKS[kind]
    given = {"on_expiry": "default", "default": default, "expires_at": clock.now() + DAY}
    request: InteractionRequest = model(
        **{"id": new_id("inp"), "requested_at": clock.now(), **parts, **given, **changes}
    )
    return request


@pytest.mark.parametrize("kind", ASKS)
async def test_a_declared_answer_is_taken_when_nobody_gave_one(
    desk: Desk, clock: HandClock, kind: str
) -> None:
    record = await desk.ask(defaulted(kind, clock))
    clock.turn(DAY + INSTANT)
    await sweep(desk)
    resolution = (await desk.get(record.id)).resolution
    assert resolution is not None
    assert (resolution.state, resolution.by) == ("expired", None)
    assert resolution.outcome.content == ASKS[kind][3]
    late = await desk.answer(record.id, ASKS[kind][2], await desk.key("alice"))
    assert late.status_code == 409, "the clock's answer is no person's, though it says the same"


@pytest.mark.parametrize(
    ("kind", "bad", "pointer"),
    [
        ("free_text", None, "/default"),
        ("free_text", 7, "/default"),
        ("multiple_choice", "c", "/default"),
        ("questions", "Blue", "/default/Which?"),
        ("form", {"n": "three"}, "/default/n"),
    ],
)
async def test_a_declared_answer_that_does_not_fit_is_refused_when_it_is_asked(
    desk: Desk, clock: HandClock, kind: str, bad: Any, pointer: str
) -> None:
    asker = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    body = defaulted(kind, clock, default=bad, id="").model_dump(mode="json")
    reply = await desk.http.post("/v1/requests", json=body, headers=asker)
    assert reply.status_code == 400
    assert pointer in [error["pointer"] for error in reply.json()["errors"]]


async def test_no_clock_answers_an_approval_or_a_confirm(desk: Desk, clock: HandClock) -> None:
    more: dict[str, Any] = {"on_expiry": "default", "default": True}
    for request in (approval(**more), ConfirmRequest(requested_at=clock.now(), **more)):
        with pytest.raises(Invalid, match="a clock answers no"):
            await desk.ask(request)
    with pytest.raises(Invalid, match="needs on_expiry"):
        await desk.ask(text(default="x"))


async def test_escalate_without_a_step_is_refused(desk: Desk) -> None:
    with pytest.raises(Invalid, match="escalate needs steps"):
        await desk.ask(approval(on_expiry="escalate"))


async def test_stop_travels_with_the_question_and_expires_as_any(
    desk: Desk, clock: HandClock
) -> None:
    record = await desk.ask(approval(on_expiry="stop", expires_at=clock.now() + DAY))
    assert (await desk.get(record.id)).request().on_expiry == "stop"
    clock.turn(DAY + INSTANT)
    await sweep(desk)
    resolution = (await desk.get(record.id)).resolution
    assert resolution is not None
    assert (resolution.state, resolution.outcome.content) == ("expired", None)
