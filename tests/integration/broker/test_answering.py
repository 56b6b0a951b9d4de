"""Answering over REST: who, what, once; and what everybody else hears."""

import anyio
import pytest

from placet import audit
from placet.domain.audience import Audience
from placet.domain.interaction import (
    ConfirmRequest,
    FreeTextRequest,
    MultipleChoiceRequest,
    ReviewRequest,
    ToolCall,
)
from placet.ids import new_id
from placet.process.auth import Scope
from tests.integration.broker.desk import Desk, approval, close_message, of_service, past
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


async def test_the_answer_that_settles_is_202_and_carries_the_input(desk: Desk) -> None:
    record = await desk.ask()
    reply = await desk.answer(record.id, True, await desk.key("alice"))
    assert reply.status_code == 202
    body = reply.json()
    assert (body["id"], body["state"]) == (record.id, "answered")
    assert body["resolution"]["by"]["id"] == "alice"
    assert body["resolution"]["outcome"]["decision"] == "approved"
    assert body["resolution"]["channel"] == "rest"


async def test_invariant_3_the_first_answer_wins_and_later_ones_learn_how(desk: Desk) -> None:
    """AP-26, AP-27, AP-30, AP-32."""
    record = await desk.ask(scopes=("once", "stage", "run"))
    alice, bob = await desk.key("alice"), await desk.key("bob")
    assert (await desk.answer(record.id, True, alice)).status_code == 202
    again = await desk.answer(record.id, {"decision": "approved", "reason": "sure"}, bob)
    assert again.status_code == 200
    assert again.json()["resolution"]["by"]["id"] == "alice"
    for content in (False, {"decision": "approved", "scope": "run"}, {"decision": "skipped"}):
        other = await desk.answer(record.id, content, bob)
        assert other.status_code == 409
        assert other.headers["content-type"] == "application/problem+json"
        problem = other.json()
        assert problem["code"] == "settled"
        assert problem["input"]["resolution"]["by"]["id"] == "alice"
        assert "approved by alice" in problem["detail"]


async def test_cp_17_fifty_identical_answers_at_once_settle_once(desk: Desk) -> None:
    record = await desk.ask()
    alice = await desk.key("alice")
    statuses: list[int] = []

    async def answer() -> None:
        statuses.append((await desk.answer(record.id, True, alice)).status_code)

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(answer)
    assert sorted(statuses) == [200] * 49 + [202]
    await eventually(lambda: desk.resolutions.bodies)
    assert [e["what"] for e in (await desk.get(record.id)).history] == ["opened", "settled"]


async def test_different_answers_at_once_leave_one_and_an_unbroken_chain(desk: Desk) -> None:
    """Trap 21: without `rev` in the filter the chain would fork."""
    record = await desk.ask()
    alice, mallory = await desk.key("alice"), await desk.key("mallory", Scope.INPUTS_READ)
    statuses: list[int] = []

    async def answer(content: object, headers: dict[str, str]) -> None:
        statuses.append((await desk.answer(record.id, content, headers)).status_code)

    async def look(number: int) -> None:
        await desk.interactions.note(await desk.get(record.id), "seen", f"p{number}")

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(answer, number % 2 == 0, alice)
            group.start_soon(answer, True, mallory)
            group.start_soon(look, number)
    settled = await desk.get(record.id)
    assert statuses.count(202) == 1
    assert audit.flaws(settled.history) == []
    assert [e["what"] for e in settled.history].count("settled") == 1


@pytest.mark.parametrize(
    "content", [None, "", 0, 1, "false", "true", "yes", {}, [], {"decision": "ok"}]
)
async def test_cp_07_nothing_but_true_or_approved_is_a_yes(desk: Desk, content: object) -> None:
    record = await desk.ask()
    alice = await desk.key("alice")
    reply = await desk.answer(record.id, content, alice)
    assert reply.status_code == 400
    assert reply.json()["errors"]
    assert (await desk.get(record.id)).pending
    missing = await desk.http.post(f"/v1/inputs/{record.id}", json={}, headers=alice)
    assert missing.status_code == 400


async def test_a_decline_with_a_reason_and_a_skip_are_told_apart(desk: Desk) -> None:
    alice = await desk.key("alice")
    denied, skipped = await desk.ask(), await desk.ask()
    body = {"action": "decline", "content": {"reason": "not today"}}
    reply = await desk.http.post(f"/v1/inputs/{denied.id}", json=body, headers=alice)
    assert reply.json()["resolution"]["outcome"]["reason"] == "not today"
    reply = await desk.answer(skipped.id, {"decision": "skipped"}, alice)
    assert reply.json()["resolution"]["outcome"]["decision"] == "skipped"
    same = await desk.answer(denied.id, False, alice)
    assert same.status_code == 200, "false, denied and decline are one"


async def test_content_that_does_not_fit_lists_the_fields_and_settles_nothing(desk: Desk) -> None:
    now = past(0)
    choice = MultipleChoiceRequest(
        id=new_id("inp"), requested_at=now, message="Where?", options=("eu", "us")
    )
    record = await desk.ask(choice)
    alice = await desk.key("alice")
    for content in ("asia", 2, -1, True, 0.0, None):
        assert (await desk.answer(record.id, content, alice)).status_code == 400
    reply = await desk.answer(record.id, 1, alice)
    assert reply.json()["resolution"]["outcome"]["content"] == "us"
    assert (await desk.answer(record.id, "us", alice)).status_code == 200


async def test_an_answer_of_any_text_comes_back_as_it_was_given(desk: Desk) -> None:
    record = await desk.ask(
        FreeTextRequest(id=new_id("inp"), requested_at=past(0), message="Name?")
    )
    text = '$lease\n\u202e\U0001f600 $$NOW {"$set": 1}'
    reply = await desk.answer(record.id, text, await desk.key("alice"))
    assert reply.status_code == 202
    resolution = (await desk.get(record.id)).as_input().resolution
    assert resolution is not None
    assert resolution.outcome.content == text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"content": true, "content": false}',
        b'{"content": NaN}',
        b"[]",
        b'{"content": "\\ud83d"}',
        b'{"content": {"decision": "approved", "reason": 123456789012345678901234}}',
        b'{"contend": true}',
    ],
)
async def test_a_body_that_cannot_be_read_is_400_and_changes_nothing(
    desk: Desk, body: bytes
) -> None:
    record = await desk.ask()
    alice = await desk.key("alice")
    reply = await desk.http.post(f"/v1/inputs/{record.id}", content=body, headers=alice)
    assert reply.status_code == 400
    assert (await desk.get(record.id)).rev == 0


async def test_an_oversized_body_is_413(desk: Desk) -> None:
    record = await desk.ask()
    reply = await desk.answer(record.id, "x" * 1_100_000, await desk.key("alice"))
    assert reply.status_code == 413
    assert reply.json()["code"] == "too_large"


async def test_another_digest_than_what_is_asked_is_refused_as_shown_differs(desk: Desk) -> None:
    """AP-04, AP-37: a stale card is never applied to what is live, and uses nothing up."""
    record = await desk.ask()
    alice = await desk.key("alice")
    stale = await desk.answer(record.id, True, alice, digest="sha256:" + "0" * 64)
    assert (stale.status_code, stale.json()["code"]) == (409, "shown_differs")
    assert (await desk.answer(record.id, True, alice, digest=record.digest)).status_code == 202


async def test_cp_11_who_answered_comes_from_the_credential(desk: Desk) -> None:
    """Invariant 12."""
    record = await desk.ask()
    bob = await desk.key("bob")
    forged = await desk.answer(record.id, True, bob, **{"from": "alice"})
    assert forged.status_code == 403
    kept = await desk.get(record.id)
    assert kept.pending
    assert [(tried["by"], kept.refused_count) for tried in kept.refused] == [("bob", 1)]
    assert (await desk.answer(record.id, True, bob, **{"from": "bob"})).status_code == 202
    resolution = (await desk.get(record.id)).resolution
    assert resolution is not None
    assert resolution.by is not None
    assert resolution.by.id == "bob"


async def test_only_those_named_may_answer(desk: Desk) -> None:
    record = await desk.ask(audience=Audience(initiator="alice", approvers=("carol",)))
    assert (await desk.answer(record.id, True, await desk.key("bob"))).status_code == 403
    assert (await desk.answer(record.id, True, await desk.key("carol"))).status_code == 202


async def test_a_key_that_answers_for_others_must_say_for_whom(desk: Desk) -> None:
    record = await desk.ask(audience=Audience(initiator="alice"))
    gateway = await desk.key(
        None, Scope.INPUTS_ANSWER, Scope.INPUTS_READ, Scope.ANSWER_AS, service="gateway"
    )
    assert (await desk.answer(record.id, True, gateway)).status_code == 400
    assert (await desk.answer(record.id, True, gateway, **{"from": " "})).status_code == 400
    assert (await desk.answer(record.id, True, gateway, **{"from": "bob"})).status_code == 403
    person = {"id": "alice", "name": "Alice", "username": "al"}
    reply = await desk.answer(record.id, True, gateway, **{"from": person})
    assert reply.status_code == 202
    assert reply.json()["resolution"]["by"] == {"id": "alice", "name": None, "username": None}


async def test_a_requester_never_answers_its_own_request(desk: Desk) -> None:
    scopes = (Scope.RUNS_WRITE, Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS)
    billing = await desk.key(None, *scopes, service="billing")
    asked = of_service().model_dump_json()
    reply = await desk.http.post("/v1/requests", content=asked, headers=billing)
    id = reply.json()["id"]
    assert (await desk.answer(id, True, billing)).status_code == 403
    assert (await desk.answer(id, True, billing, **{"from": "alice"})).status_code == 403
    assert (await desk.answer(id, True, await desk.key("alice"))).status_code == 202


async def test_a_review_takes_its_own_scope_or_an_approver(desk: Desk) -> None:
    call = ToolCall(id="c", tool="send_mail")
    audience = Audience(approvers=("carol",))
    review = ReviewRequest(
        id=new_id("inp"), requested_at=past(0), call=call, audience=audience, run_id="run_1"
    )
    record = await desk.ask(review)
    plain = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER)
    content = {"outcome": "rerun"}
    assert (await desk.answer(record.id, content, await desk.key("bob", *plain))).status_code == 403
    reviewer = await desk.key("dave", *plain, Scope.REVIEWS_ANSWER)
    assert (await desk.answer(record.id, content, reviewer)).status_code == 202
    assert (
        await desk.answer(record.id, content, await desk.key("carol", *plain))
    ).status_code == 200


async def test_the_checks_come_in_order_404_then_403_then_400(desk: Desk) -> None:
    record = await desk.ask(audience=Audience(initiator="alice"))
    reader = await desk.key("bob", Scope.INPUTS_READ)
    nobody = await desk.key("eve", Scope.RUNS_READ)
    foreign = await desk.key("alice", namespace="other")
    assert (await desk.answer(record.id, {}, nobody)).status_code == 404
    assert (await desk.answer(record.id, {}, foreign)).status_code == 404
    assert (await desk.answer(record.id, {}, reader)).status_code == 403
    assert (await desk.answer(record.id, {}, await desk.key("alice"))).status_code == 400
    assert (await desk.answer("inp_" + "0" * 32, True, reader)).status_code == 404


async def test_the_path_of_an_agent_leads_to_its_own_inputs_alone(desk: Desk) -> None:
    record = await desk.ask()
    alice = await desk.key("alice")
    for agent, status in (("other", 404), ("agt_1", 202), ("ops", 200)):
        reply = await desk.http.post(
            f"/v1/agents/{agent}/inputs/{record.id}", json={"content": True}, headers=alice
        )
        assert reply.status_code == status


async def test_trap_20_an_answer_after_the_deadline_is_409_expired_and_expires_it(
    still: Desk,
) -> None:
    """AP-39, AP-41: also if no sweep has come by; the person learns what happened."""
    record = await still.ask(expires_at=past())
    reply = await still.answer(record.id, True, await still.key("alice"))
    assert reply.status_code == 409
    assert reply.json()["input"]["state"] == "expired"
    assert "nobody answered" in reply.json()["detail"]
    resolution = (await still.get(record.id)).resolution
    assert resolution is not None
    assert (resolution.by, resolution.outcome.decision) == (None, None)


@pytest.mark.parametrize("reason", ["superseded", "withdrawn", "cancelled"])
async def test_an_answer_to_what_is_no_longer_asked_is_409_and_says_how(
    desk: Desk, reason: str
) -> None:
    """AP-34, AP-36: after an abort or a new message a late yes settles nothing."""
    record = await desk.ask()
    await desk.runner.publish(close_message(record.id, reason))

    async def closed() -> bool:
        return (await desk.get(record.id)).state == reason

    await eventually(closed)
    reply = await desk.answer(record.id, True, await desk.key("alice"))
    assert (reply.status_code, reply.json()["input"]["state"]) == (409, reason)


async def test_cp_10_an_answer_cannot_bring_another_call_along(desk: Desk) -> None:
    """AP-11: and the digest is of the whole call, whatever a page shortens."""
    record = await desk.ask()
    alice = await desk.key("alice")
    call = {"tool": "drop_database", "args": {"name": "production"}}
    for body in (
        {"content": True, "call": call},
        {"content": {"decision": "approved", "args": {"name": "production"}}},
        {"content": {"decision": "approved", "tool": "rm"}},
    ):
        reply = await desk.http.post(f"/v1/inputs/{record.id}", json=body, headers=alice)
        assert reply.status_code == 400
    assert (await desk.get(record.id)).pending
    assert (await desk.answer("inp_" + "f" * 32, True, alice)).status_code == 404


async def test_the_runner_hears_the_resolution_and_everybody_the_event_without_content(
    desk: Desk,
) -> None:
    """Invariant 1: the question is durable before anybody hears of it."""
    record = await desk.ask(approval())
    await eventually(lambda: desk.events.of_type("input.requested"))
    await desk.answer(
        record.id, {"decision": "denied", "reason": "a secret"}, await desk.key("alice")
    )
    await eventually(lambda: desk.resolutions.bodies and desk.events.of_type("input.resolved"))
    [resolution] = desk.resolutions.bodies
    assert (resolution["input_id"], resolution["digest"]) == (record.id, record.digest)
    assert resolution["outcome"]["reason"] == "a secret"
    [event] = desk.events.of_type("input.resolved")
    assert event["data"]["state"] == "declined"
    assert "a secret" not in str(event)
    assert {d.user_id for d in desk.resolutions.deliveries} == {"placet-broker"}

    async def cleared() -> bool:
        return (await desk.get(record.id)).outbox == ()

    await eventually(cleared)


async def test_a_confirm_declined_by_false_is_declined(desk: Desk) -> None:
    record = await desk.ask(ConfirmRequest(id=new_id("inp"), requested_at=past(0), message="Go?"))
    reply = await desk.answer(record.id, False, await desk.key("alice"))
    assert reply.json()["state"] == "declined"


async def test_the_list_shows_what_waits_oldest_first_page_by_page(desk: Desk) -> None:
    asked = [(await desk.ask(run_id=f"run_{n}")).id for n in range(5)]
    alice = await desk.key("alice")
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        params = {"state": "pending", "limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await desk.http.get("/v1/inputs", params=params, headers=alice)).json()
        found += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    opened = [(await desk.get(id)).opened_at for id in found]
    assert sorted(found) == sorted(asked)
    assert opened == sorted(opened)
    bad = await desk.http.get("/v1/inputs", params={"cursor": "x!"}, headers=alice)
    assert bad.status_code == 400
    other = await desk.key("alice", namespace="other")
    assert (await desk.http.get("/v1/inputs", headers=other)).json()["items"] == []
    by_agent = await desk.http.get("/v1/agents/ops/inputs?state=pending", headers=alice)
    assert len(by_agent.json()["items"]) == 5


async def test_one_input_has_an_etag_and_its_audit_an_intact_chain(desk: Desk) -> None:
    record = await desk.ask()
    alice = await desk.key("alice")
    first = await desk.http.get(f"/v1/inputs/{record.id}", headers=alice)
    assert first.json()["request"]["call"]["args"] == {"name": "staging"}
    headers = {**alice, "If-None-Match": first.headers["etag"]}
    assert (await desk.http.get(f"/v1/inputs/{record.id}", headers=headers)).status_code == 304
    await desk.answer(record.id, True, alice)
    assert (await desk.http.get(f"/v1/inputs/{record.id}", headers=headers)).status_code == 200
    audit = (await desk.http.get(f"/v1/audit/{record.id}", headers=alice)).json()
    assert audit["intact"] is True
    assert [entry["what"] for entry in audit["history"]] == ["opened", "settled"]
