"""Asking: the runner and other services over the bus and REST, again and again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from placet.bus.port import Bus
from placet.domain.interaction import ConfirmRequest
from placet.errors import Unavailable
from placet.ids import new_id
from placet.process.auth import Scope
from placet_broker.rules import opening
from tests.integration.broker.desk import (
    Desk,
    Heard,
    answer_message,
    approval,
    close_message,
    ended_message,
    of_service,
    past,
    request_message,
)
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

REPLIES = "placet.reply.billing-app.1"


async def replies(bus: Bus, queue: str = REPLIES) -> Heard:
    heard = Heard()
    await bus.consume(queue, heard.handle, prefetch=4)
    return heard


async def exists(desk: Desk, id: str) -> bool:
    return await desk.interactions.get(id) is not None


async def dead(desk: Desk) -> list[str]:
    return [letter.reason for letter in await desk.runner.dead()]


async def test_a_request_of_the_runner_opens_in_its_namespace(desk: Desk) -> None:
    request = approval(namespace="team-a")
    await desk.runner.publish(request_message(request))
    await eventually(lambda: exists(desk, request.id))
    record = await desk.get(request.id)
    assert (record.namespace, record.publisher) == ("team-a", "service:placet-runner")
    assert record.expires_at is None, (
        "L22: the operator's word on deadlines is the runner's to know"
    )
    await eventually(lambda: desk.events.of_type("input.requested"))
    assert desk.events.deliveries[0].key == "team-a.input.requested"


async def test_b1_again_publishes_the_same_event_and_opens_nothing(desk: Desk) -> None:
    request = approval()
    for _ in range(3):
        await desk.runner.publish(request_message(request))
    await eventually(lambda: len(desk.events.of_type("input.requested")) == 3)
    assert len({d.event_id for d in desk.events.deliveries}) == 1
    assert (await desk.get(request.id)).rev == 0


async def test_b2_asking_again_about_a_settled_one_brings_its_resolution(desk: Desk) -> None:
    """Traps 15 and 22: neither is it opened anew, nor is the second copy an error."""
    request = approval()
    await desk.runner.publish(request_message(request))
    await eventually(lambda: exists(desk, request.id))
    await desk.answer(request.id, True, await desk.key("alice"))
    await eventually(lambda: len(desk.resolutions.bodies) == 1)
    desk.hub.lose()
    await desk.runner.publish(request_message(request))
    await eventually(lambda: len(desk.resolutions.bodies) == 2)
    assert desk.resolutions.bodies[0] == desk.resolutions.bodies[1]
    assert (await desk.get(request.id)).state == "answered"


async def test_the_same_id_with_another_call_is_refused_with_the_reason(desk: Desk) -> None:
    """AP-02: an id is not a yes for whatever call comes with it."""
    request = approval()
    await desk.runner.publish(request_message(request))
    await eventually(lambda: exists(desk, request.id))
    await desk.runner.publish(request_message(approval(id=request.id, args={"name": "production"})))
    [reason] = await eventually(lambda: dead(desk))
    assert request.id in reason
    assert (await desk.get(request.id)).digest == request.with_digest().digest


async def test_a_digest_that_is_not_of_what_is_asked_is_refused(desk: Desk) -> None:
    forged = approval().model_copy(update={"digest": "sha256:" + "0" * 64})
    await desk.runner.publish(request_message(forged))
    [reason] = await eventually(lambda: dead(desk))
    assert "digest" in reason
    assert not await exists(desk, forged.id)


async def test_trap_11_a_close_before_its_request_keeps_the_question_closed(desk: Desk) -> None:
    request = approval()
    digest = request.with_digest().digest
    await desk.runner.publish(close_message(request.id, "cancelled", digest=digest))
    await eventually(lambda: desk.resolutions.bodies)
    await desk.runner.publish(request_message(request))
    await eventually(lambda: len(desk.resolutions.bodies) == 2)
    assert {body["outcome"]["state"] for body in desk.resolutions.bodies} == {"cancelled"}
    assert desk.events.of_type("input.requested") == []
    alice = await desk.key("alice")
    assert (await desk.http.get("/v1/inputs", headers=alice)).json()["items"] == []
    assert (await desk.answer(request.id, True, alice)).status_code == 404


async def test_b6_a_close_is_confirmed_by_the_resolution_whatever_it_says(desk: Desk) -> None:
    answered, open_ = await desk.ask(), await desk.ask(call_id="call_2")
    await desk.answer(answered.id, True, await desk.key("alice"))
    await eventually(lambda: desk.resolutions.bodies)
    for record in (answered, open_):
        await desk.runner.publish(close_message(record.id))
    await eventually(lambda: len(desk.resolutions.bodies) == 3)
    states = {(b["input_id"], b["outcome"]["state"]) for b in desk.resolutions.bodies}
    assert states == {(answered.id, "answered"), (open_.id, "superseded")}


async def test_a_service_asks_and_gets_the_resolution_where_it_wants_it(desk: Desk) -> None:
    billing = await desk.map_user("billing-app")
    heard = await replies(billing)
    message = request_message(of_service(), reply_to=REPLIES, correlation_id="c-7")
    await billing.publish(message)
    [event] = await eventually(lambda: desk.events.of_type("input.requested"))
    assert event["data"]["asked_by"] == "service:billing"
    await desk.answer(event["input_id"], True, await desk.key("alice"))
    [reply] = await eventually(lambda: heard.bodies)
    assert (reply["input_id"], reply["outcome"]["content"]) == (event["input_id"], True)
    assert heard.deliveries[0].correlation_id == "c-7"
    assert desk.resolutions.bodies == [], "the runner alone gets placet.resolutions of its own"
    await billing.publish(message)
    await eventually(lambda: len(heard.bodies) == 2)


async def test_the_six_named_fields_are_enough_and_the_id_is_derived(desk: Desk) -> None:
    billing = await desk.map_user("billing-app")
    body = (
        b'{"call": {"id": "1", "tool": "refund", "args": {"eur": 5}}, "risk": "high", '
        b'"agent_id": "billing", "run_id": "inv-1", "context": {}, '
        b'"requested_at": "2026-11-30T10:00:00Z"}'
    )
    for _ in range(2):
        await billing.publish(request_message(of_service(), body=body))
    await eventually(lambda: len(desk.events.of_type("input.requested")) == 2)
    assert len({event["input_id"] for event in desk.events.bodies}) == 1


async def test_namespace_and_identity_of_a_service_never_come_from_the_body(desk: Desk) -> None:
    billing = await desk.map_user("billing-app")
    await billing.publish(request_message(of_service(namespace="team-a")))
    [event] = await eventually(lambda: desk.events.of_type("input.requested"))
    assert event["namespace"] == "default"


async def test_an_id_that_two_services_use_names_a_question_of_each(desk: Desk) -> None:
    billing = await desk.map_user("billing-app")
    other = await desk.map_user("other-app", service="other")
    heard = await replies(billing)
    request = of_service(id=new_id("inp"))
    for bus in (billing, other, billing, other):
        await bus.publish(request_message(request))
    await eventually(lambda: len(desk.events.of_type("input.requested")) == 4)
    asked = {(e["data"]["asked_by"], e["input_id"]) for e in desk.events.bodies}
    assert sorted(who for who, _ in asked) == ["service:billing", "service:other"]
    assert request.id not in {id for _, id in asked}
    changed = request.model_copy(update={"call": approval(args={"name": "production"}).call})
    await billing.publish(request_message(changed, reply_to=REPLIES))
    [problem] = await eventually(lambda: heard.bodies)
    assert (problem["status"], problem["code"]) == (409, "id_taken")


@pytest.mark.parametrize("run", [{"run_id": "run_1"}, {"root_run_id": "run_1"}])
async def test_only_the_runner_names_a_run_that_placet_holds(
    desk: Desk, run: dict[str, str]
) -> None:
    billing = await desk.map_user("billing-app")
    await billing.publish(request_message(of_service(**run)))
    [reason] = await eventually(lambda: dead(desk))
    assert "only the runner" in reason


async def test_an_unknown_user_and_an_unreadable_message_are_dead_with_the_reason(
    desk: Desk,
) -> None:
    """Invariant 11."""
    stranger = desk.hub.bus("stranger")
    await stranger.open()
    await stranger.publish(request_message(of_service()))
    await desk.runner.publish(request_message(approval(), body=b"{nonsense"))
    await stranger.publish(answer_message(new_id("inp"), True))
    reasons = await eventually(lambda: _when(desk, 3))
    assert sum("stands for no service" in reason for reason in reasons) == 2


async def _when(desk: Desk, count: int) -> list[str]:
    reasons = await dead(desk)
    return reasons if len(reasons) == count else []


async def test_a_reply_goes_to_the_senders_own_queue_and_nowhere_else(desk: Desk) -> None:
    billing = await desk.map_user("billing-app")
    await billing.publish(request_message(of_service(), reply_to="placet.runner.resolutions"))
    await billing.publish(request_message(of_service(), reply_to="placet.reply.other-app.1"))
    reasons = await eventually(lambda: _when(desk, 2))
    assert all("reply_to" in reason for reason in reasons)


async def test_a_deadline_of_a_service_is_bounded(desk: Desk) -> None:
    billing = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    now = datetime.now(UTC)
    for seconds, status in ((59, 400), (31 * 86_400, 400), (65, 202)):
        asked = of_service(requested_at=now, expires_at=now + timedelta(seconds=seconds))
        reply = await desk.http.post(
            "/v1/requests", content=asked.model_dump_json(), headers=billing
        )
        assert reply.status_code == status, seconds


async def test_a_service_waits_on_the_rest_call_and_sends_it_again(desk: Desk) -> None:
    billing = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    alice = await desk.key("alice")
    asked = of_service().model_dump_json()
    reply = await desk.http.post("/v1/requests?wait=0", content=asked, headers=billing)
    assert (reply.status_code, reply.json()["state"]) == (202, "pending")
    id = reply.json()["id"]
    timed_out = await desk.http.post("/v1/requests?wait=0.05", content=asked, headers=billing)
    assert timed_out.json()["state"] == "pending", "cp-25: a wait that ends is nobody's no"
    states: list[str] = []

    async def wait() -> None:
        reply = await desk.http.post("/v1/requests?wait=20", content=asked, headers=billing)
        states.append(f"{reply.status_code} {reply.json()['state']}")

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await desk.answer(id, True, alice)
    assert states == ["200 answered"]


async def test_a_service_withdraws_its_own_request_and_no_other(desk: Desk) -> None:
    billing = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    other = await desk.key(None, Scope.RUNS_WRITE, service="other")
    asked = of_service().model_dump_json()
    id = (await desk.http.post("/v1/requests", content=asked, headers=billing)).json()["id"]
    path = f"/v1/requests/{id}/withdraw"
    assert (await desk.http.post(path, headers=other)).status_code == 404
    assert (await desk.http.post(path, headers=billing)).json()["state"] == "withdrawn"
    assert (await desk.http.post(path, headers=billing)).json()["state"] == "withdrawn"


async def test_a_service_withdraws_over_the_bus_and_is_told_so(desk: Desk) -> None:
    billing, other = (
        await desk.map_user("billing-app"),
        await desk.map_user("other", service="other"),
    )
    heard = await replies(billing)
    own = "inp_" + "7" * 32
    await billing.publish(request_message(of_service(id=own), reply_to=REPLIES))
    id = opening.own_id("default", "service:billing", own)
    await eventually(lambda: exists(desk, id))
    await other.publish(close_message(id, "withdrawn", run_id="invoice-7"))
    await eventually(lambda: dead(desk))
    assert (await desk.get(id)).pending
    await billing.publish(close_message(own, "withdrawn", run_id="invoice-7"))
    [told] = await eventually(lambda: heard.bodies)
    assert (told["input_id"], told["outcome"]["state"], told["by"]) == (id, "withdrawn", None)


async def test_an_answer_over_the_bus_is_its_users_and_gets_a_reply(desk: Desk) -> None:
    record = await desk.ask()
    service = await desk.map_user("checker", service="checker")
    queue = "placet.reply.checker.1"
    heard = await replies(service, queue)
    await service.publish(answer_message(record.id, "maybe", queue))
    [problem] = await eventually(lambda: heard.bodies)
    assert (problem["status"], (await desk.get(record.id)).pending) == (400, True)
    message = answer_message(record.id, True, queue)
    await service.publish(message)
    await service.publish(replace(message, event_id=new_id("evt")))
    await eventually(lambda: len(heard.bodies) == 3)
    assert {body["by"]["id"] for body in heard.bodies[1:]} == {"service:checker"}
    await service.publish(answer_message(record.id, False, queue))
    await eventually(lambda: len(heard.bodies) == 4)
    assert heard.bodies[3]["input"]["state"] == "answered"
    assert {d.correlation_id for d in heard.deliveries} == {"mine"}


@pytest.mark.parametrize("user", ["placet-runner", "placet-notifier"])
async def test_placets_own_services_cannot_answer(desk: Desk, user: str) -> None:
    record = await desk.ask()
    bus = desk.hub.bus(user)
    await bus.open()
    await bus.publish(answer_message(record.id, True))
    await eventually(lambda: dead(desk))
    assert (await desk.get(record.id)).pending


async def test_trap_23_an_answer_is_acked_after_its_write(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the database is away the message stays where it is; then it settles, once."""
    record = await desk.ask()
    service = await desk.map_user("checker", service="checker")
    queue = "placet.reply.checker.1"
    heard = await replies(service, queue)
    away, settle = [1, 2, 3], desk.interactions.settle

    async def flaky(*args: object) -> object:
        if away:
            away.pop()
            raise Unavailable("MongoDB is away")
        return await settle(*args)

    monkeypatch.setattr(desk.interactions, "settle", flaky)
    await service.publish(answer_message(record.id, True, queue))
    [reply] = await eventually(lambda: heard.bodies)
    assert reply["outcome"]["content"] is True
    assert away == []
    assert await dead(desk) == []


async def test_b8_an_ended_run_marks_what_it_applied_and_nothing_else(desk: Desk) -> None:
    mine, foreign = await desk.ask(), await desk.ask(run_id="run_2")
    alice = await desk.key("alice")
    for record in (mine, foreign):
        await desk.answer(record.id, True, alice)
    message = ended_message("run_1", [mine.id, foreign.id, new_id("inp")])
    await desk.runner.publish(message)
    await desk.runner.publish(message)

    async def applied() -> bool:
        return (await desk.get(mine.id)).applied

    await eventually(applied)
    assert not (await desk.get(foreign.id)).applied
    notifier = desk.hub.bus("placet-notifier")
    await notifier.open()
    await notifier.publish(ended_message("run_2", [foreign.id]))
    [reason] = await eventually(lambda: dead(desk))
    assert "only the runner" in reason


async def test_b5_the_timer_expires_and_the_runner_hears_of_it(desk: Desk) -> None:
    """Invariant 10: silence has no decider."""
    request = approval(expires_at=past(-0.3))
    await desk.runner.publish(request_message(request))
    [resolution] = await eventually(lambda: desk.resolutions.bodies)
    assert resolution["outcome"]["state"] == "expired"
    assert (resolution["by"], resolution["outcome"]["decision"]) == (None, None)
    [event] = await eventually(lambda: desk.events.of_type("input.resolved"))
    assert event["data"]["by"] is None


async def test_what_was_left_in_an_outbox_is_published_by_the_sweep(still: Desk) -> None:
    """Trap 13: what dies between write and publish is found, and cleared by ids."""
    record = await still.ask()
    await still.broker.outbox.drain()
    still.hub.cut()
    reply = await still.answer(record.id, True, await still.key("alice"))
    assert reply.status_code == 202, "the answer is durable also while the bus is away"
    await still.broker.outbox.drain()
    assert len((await still.get(record.id)).outbox) >= 2
    still.hub.mend()
    await still.interactions.collection.update(record.id, {}, {"$set": {"due": past()}})
    await still.broker.use_cases.sweep_due()
    await eventually(lambda: still.resolutions.bodies and still.events.of_type("input.resolved"))

    async def cleared() -> bool:
        return (await still.get(record.id)).outbox == ()

    await eventually(cleared)


async def test_a_reply_that_nobody_takes_any_more_does_not_come_back_for_ever(desk: Desk) -> None:
    billing = await desk.map_user("billing-app")
    await billing.publish(request_message(of_service(), reply_to=REPLIES))
    [event] = await eventually(lambda: desk.events.of_type("input.requested"))
    await desk.answer(event["input_id"], True, await desk.key("alice"))

    async def cleared() -> bool:
        return (await desk.get(event["input_id"])).outbox == ()

    await eventually(cleared)


async def test_a_question_without_a_call_needs_no_id_either(desk: Desk) -> None:
    billing = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    asked = ConfirmRequest(requested_at=past(0), message="Send it?").model_dump_json()
    first = await desk.http.post("/v1/requests", content=asked, headers=billing)
    again = await desk.http.post("/v1/requests", content=asked, headers=billing)
    assert first.status_code == 202
    assert first.json()["id"] == again.json()["id"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"kind": "nope"}',
        b'{"kind": "confirm"}',
        b'{"kind": "confirm", "requested_at": "0001-01-01T00:00:00+14:00"}',
        b'{"kind": "confirm", "requested_at": "9999-12-31T23:59:59-14:00"}',
        b'{"kind": "confirm", "requested_at": "2026-11-30T00:00:00Z", "id": "inp_1"}',
        b'{"kind": "url", "requested_at": "2026-11-30T00:00:00Z", "url": "http://x.example"}',
    ],
)
async def test_a_request_that_cannot_be_is_400_with_the_fields(still: Desk, body: bytes) -> None:
    billing = await still.key(None, Scope.RUNS_WRITE, service="billing")
    reply = await still.http.post("/v1/requests", content=body, headers=billing)
    assert reply.status_code == 400
    assert reply.json()["errors"]
