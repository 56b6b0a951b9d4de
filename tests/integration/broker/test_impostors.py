"""Who is not who they say, or says more than their credential: nothing is answered, and it is kept."""

from typing import Any

import pytest

from placet.domain.audience import AnswerPolicy, Audience
from placet.domain.person import Person
from placet.process.access import SESSION_COOKIE
from placet.process.auth import Scope, nonce_of
from placet_broker.rules.record import Record
from tests.integration.broker.desk import (
    ORIGIN,
    Desk,
    Heard,
    answer_message,
    approval,
    close_message,
    of_service,
    request_message,
)
from tests.integration.broker.test_directory import delegate
from tests.integration.broker.test_links import code, link, logged_in, press
from tests.support.eventually import eventually
from tests.support.kinds import KINDS

pytestmark = pytest.mark.integration

ANN = Audience(initiator="zoe", approvers=("ann",))
ANSWERING = (Scope.INPUTS_ANSWER, Scope.ANSWER_AS)


async def refused(desk: Desk, record: Record) -> list[str]:
    """Who was refused, in order; nothing else has changed."""
    now = await desk.get(record.id)
    assert now.pending
    return [each["by"] for each in now.refused]


async def ask_over_rest(desk: Desk, headers: dict[str, str], **changes: Any) -> str:
    body = of_service(**changes).model_dump_json(exclude_defaults=True)
    reply = await desk.http.post("/v1/requests", content=body, headers=headers)
    assert reply.status_code == 202, reply.text
    return str(reply.json()["id"])


# A credential that can't answer learns nothing, and one that can may look.


async def test_who_can_neither_read_nor_answer_is_not_told_that_an_input_exists(
    still: Desk,
) -> None:
    record = await still.ask(audience=ANN)
    key = await still.key(None, Scope.ANSWER_AS, service="chat")
    for more in ({}, {"from": "ann"}):
        assert (await still.answer(record.id, True, key, **more)).status_code == 404
    assert (await still.http.get(f"/v1/inputs/{record.id}", headers=key)).status_code == 404
    assert await refused(still, record) == ["service:chat", "service:chat"]


async def test_a_key_that_answers_for_others_may_look_at_what_it_could_answer(
    still: Desk,
) -> None:
    record = await still.ask(audience=ANN)
    key = await still.key(None, *ANSWERING, service="chat")
    reply = await still.http.get(f"/v1/inputs/{record.id}", headers=key)
    assert (reply.status_code, reply.json().get("id")) == (200, record.id)


async def test_a_service_answers_as_no_other_service(still: Desk) -> None:
    audience = Audience(approvers=("service:auditor",))
    record = await still.ask(audience=audience)
    key = await still.key(None, *ANSWERING, Scope.INPUTS_READ, service="chat")
    answered = await still.answer(record.id, True, key, **{"from": "service:auditor"})
    assert answered.status_code == 403
    body = {"person": "service:auditor", "content": True}
    made = await still.http.post(f"/v1/inputs/{record.id}/links", json=body, headers=key)
    assert made.status_code == 403, "nor through a link"
    assert await refused(still, record) == ["service:chat"] * 2
    own = await still.key(None, Scope.INPUTS_ANSWER, service="auditor")
    assert (await still.answer(record.id, True, own)).status_code == 202


# Who asks does not answer, in whatever clothes.


async def test_a_requester_that_may_answer_for_others_answers_its_own_request_for_nobody(
    still: Desk,
) -> None:
    key = await still.key(None, *ANSWERING, Scope.RUNS_WRITE, service="billing")
    id = await ask_over_rest(still, key, audience=Audience(approvers=("service:billing", "ann")))
    for more in ({}, {"from": "ann"}, {"from": "service:billing"}):
        reply = await still.answer(id, True, key, **more)
        assert reply.status_code == 403
        assert "requester" in reply.json()["detail"]
    body = {"person": "ann", "content": True}
    made = await still.http.post(f"/v1/inputs/{id}/links", json=body, headers=key)
    assert made.status_code == 403
    assert await refused(still, await still.get(id)) == ["service:billing"] * 4


@pytest.mark.parametrize(
    ("service", "approvers", "answerable"),
    [
        ("billing", ("service:billing",), False),
        ("billing", ("service:billing", "service:other"), True),
        (None, ("alice",), False),
        (None, ("group:alone",), False),
        (None, ("group:alone", "ann"), True),
    ],
)
async def test_a_question_that_only_its_requester_could_answer_is_marked(
    still: Desk, service: str | None, approvers: tuple[str, ...], answerable: bool
) -> None:
    await still.platform.auth.directory.groups.put("default", "alone", ["alice"])
    key = await still.key("alice", Scope.RUNS_WRITE, service=service)
    id = await ask_over_rest(still, key, audience=Audience(approvers=approvers))
    assert (await still.get(id)).unanswerable is not answerable


async def test_a_requester_gets_no_code_of_a_link_to_its_own_request(still: Desk) -> None:
    key = await still.key(None, *ANSWERING, Scope.RUNS_WRITE, service="billing")
    id = await ask_over_rest(still, key, audience=Audience(approvers=("ann",)))
    made = await link(still, await still.get(id))
    path = f"/v1/inputs/{id}/links/{made['id']}/code"
    assert (await still.http.post(path, headers=key)).status_code == 403
    assert await refused(still, await still.get(id)) == ["service:billing"]


async def test_nobody_answers_in_the_place_of_who_asked(still: Desk) -> None:
    id = await ask_over_rest(
        still, await still.key("alice"), audience=ANN.with_approvers(["alice"])
    )
    await delegate(still.platform.auth.directory, "alice", "bob")
    assert (await still.answer(id, True, await still.key("alice"))).status_code == 403
    assert (await still.answer(id, True, await still.key("bob"))).status_code == 403
    assert await refused(still, await still.get(id)) == ["alice", "bob"]


async def test_a_requester_answers_its_own_request_over_no_surface(desk: Desk) -> None:
    named = Audience(approvers=("service:billing",))
    scopes = (Scope.RUNS_WRITE, *ANSWERING)
    billing, heard = await desk.map_user("billing-app", *scopes), Heard()
    await billing.consume("placet.reply.billing-app.1", heard.handle, prefetch=1)
    await billing.publish(request_message(of_service(audience=named)))
    [event] = await eventually(lambda: desk.events.of_type("input.requested"))
    record = await desk.get(event["input_id"])
    for who in (None, "service:billing", "ann"):
        answer = answer_message(record.id, True, "placet.reply.billing-app.1", named=who)
        await billing.publish(answer)
    await eventually(lambda: len(heard.bodies) == 3)
    assert [each["status"] for each in heard.bodies] == [403] * 3
    key = await desk.key(None, *scopes, service="billing")
    assert (await desk.answer(record.id, True, key)).status_code == 403
    second = await desk.map_user("billing-too", *scopes)
    await second.publish(answer_message(record.id, True, "placet.reply.billing-too.1"))

    async def tried() -> bool:
        return await refused(desk, record) == ["service:billing"] * 5

    await eventually(tried)


async def test_a_service_that_uses_a_runs_id_first_gets_a_question_of_its_own(desk: Desk) -> None:
    billing = await desk.map_user("billing-app")
    coming = approval(audience=ANN)
    await billing.publish(request_message(of_service(id=coming.id, args={"name": "harmless"})))
    [event] = await eventually(lambda: desk.events.of_type("input.requested"))
    assert event["input_id"] != coming.id
    record = await desk.ask(coming)
    assert (record.id, record.publisher) == (coming.id, "service:placet-runner")
    withdrawal = close_message(coming.id, "withdrawn", "invoice-7")
    await billing.publish(withdrawal)
    own = event["input_id"]

    async def withdrawn() -> bool:
        return (await desk.get(own)).state == "withdrawn"

    await eventually(withdrawn)
    assert (await desk.get(record.id)).pending, "by that id it withdrew its own"
    assert (await desk.answer(record.id, True, await desk.key("ann"))).status_code == 202
    settled = await desk.get(record.id)
    assert settled.resolution is not None
    assert settled.resolution.digest == coming.with_digest().digest


# Somebody who is let in no more, whoever vouches for them.


async def disable(desk: Desk, person: str) -> None:
    people = desk.platform.auth.directory.people
    await people.put("default", person)
    await people.disable("default", person)


async def test_who_is_disabled_answers_through_no_gateway(still: Desk) -> None:
    record = await still.ask(audience=ANN)
    key = await still.key(None, *ANSWERING, Scope.INPUTS_READ, service="chat")
    await disable(still, "ann")
    assert (await still.answer(record.id, True, key, **{"from": "ann"})).status_code == 403
    assert await refused(still, record) == ["service:chat"]


async def test_who_is_disabled_answers_by_no_code(still: Desk) -> None:
    record = await still.ask(audience=ANN)
    made = await link(still, record)
    sent = await code(still, record, made)
    await disable(still, "ann")
    assert (await press(still, made, sent)).status_code == 404, (
        "as for anybody who may know nothing"
    )
    assert await refused(still, record) == ["ann"]


# Links.


async def test_the_session_of_another_namespace_is_kept_as_such(still: Desk) -> None:
    record = await still.ask(audience=ANN)
    made = await link(still, record)
    login = await still.platform.auth.sessions.create_link(namespace="other", person="ann")
    session = await still.platform.auth.sessions.login(login)
    reply = await press(still, made, headers={"Cookie": f"{SESSION_COOKIE}={session}"})
    assert reply.status_code == 403
    assert await refused(still, record) == ["ann of other"]


async def test_a_link_to_a_linked_channel_identity_is_that_persons(still: Desk) -> None:
    people = still.platform.auth.directory.people
    await people.put("default", "ann")
    await people.link("default", "ann", "slack:U1")
    record = await still.ask(audience=ANN)
    made = await link(still, record, "slack:U1")
    assert (await press(still, made, headers=await logged_in(still, "ann"))).status_code == 303
    resolution = (await still.get(record.id)).resolution
    assert resolution is not None
    assert resolution.by == Person(id="ann")


# The same on other surfaces.


async def test_a_review_may_be_answered_by_an_initiator_whose_group_approves(
    still: Desk,
) -> None:
    await still.platform.auth.directory.groups.put("default", "ops", ["zoe"])
    asked = KINDS["review"].request("inp_" + "7" * 32)
    named = Audience(initiator="zoe", approvers=("group:ops",))
    record = await still.ask(asked.model_copy(update={"audience": named}))
    content = KINDS["review"].right
    assert (await still.answer(record.id, content, await still.key("zoe"))).status_code == 202


async def test_a_batch_says_why_as_a_single_answer_does(still: Desk) -> None:
    record = await still.ask(audience=ANN, policy=AnswerPolicy(exclude_initiator=True))
    answers = [{"id": record.id, "content": True}]
    reply = await still.answer_all(answers, await still.key("zoe"))
    assert (reply.status_code, reply.json()["code"]) == (403, "self_approval")


async def test_a_try_on_the_page_of_who_may_know_nothing_is_kept(still: Desk) -> None:
    record = await still.ask(audience=ANN)
    login = await still.platform.auth.sessions.create_link(namespace="other", person="ann")
    session = await still.platform.auth.sessions.login(login)
    reply = await still.http.post(
        f"/inbox/{record.id}",
        data={"nonce": nonce_of(session), "act": "accept", "digest": record.digest},
        headers={"Cookie": f"{SESSION_COOKIE}={session}", "Origin": ORIGIN},
    )
    assert reply.status_code == 404
    assert await refused(still, record) == ["ann of other"]


@pytest.mark.parametrize("user", ["stranger", "placet-runner", "placet-notifier"])
async def test_a_try_over_the_bus_of_who_stands_for_no_service_is_kept(
    desk: Desk, user: str
) -> None:
    record = await desk.ask()
    bus = desk.hub.bus(user)
    await bus.open()
    before = await bus.dead_count()
    await bus.publish(answer_message(record.id, True))
    await bus.publish(answer_message(record.id, True, named="alice"))

    async def dead() -> bool:
        return await bus.dead_count() == before + 2

    await eventually(dead)
    assert await refused(desk, record) == [f"the AMQP user {user}"] * 2


FOREIGN = (
    "placet.runner.runs",
    "placet.runner.resolutions",
    "placet.runner.control.1",
    "placet.broker.requests",
    "placet.dead",
    "amq.topic",
    "amq.gen-JzTY20BRgKO",
    "amq.rabbitmq.reply-to-other",
    "placet.reply.another.1",
    "placet.reply.app",
    "placet.reply.app.",
    "placet.reply.app.b.1",
    "placet.reply.appendix.1",
    "placet.reply.",
    "placet.resolutions/resolution",
)


@pytest.mark.parametrize("queue", FOREIGN)
async def test_nothing_is_sent_to_a_queue_that_is_not_the_senders_own(
    desk: Desk, queue: str
) -> None:
    """Also not to `placet.reply.app.b.1`, which is a queue of the user `app.b`."""
    app = await desk.map_user("app", service="app")
    heard = Heard()
    if queue.startswith("placet.reply."):
        await desk.runner.consume(queue, heard.handle, prefetch=1)
    record = await desk.ask()
    seen = len(desk.resolutions.deliveries)
    await app.publish(answer_message(record.id, True, queue))
    await app.publish(request_message(of_service(run_id="mine"), reply_to=queue))

    async def dead() -> bool:
        return await app.dead_count() == 2

    await eventually(dead)
    assert await refused(desk, record) == ["the AMQP user app"]
    listed = await desk.http.get("/v1/inputs", headers=await desk.key("root"))
    assert [each["id"] for each in listed.json()["items"]] == [record.id], "nothing was opened"
    assert (heard.deliveries, len(desk.resolutions.deliveries)) == ([], seen)
