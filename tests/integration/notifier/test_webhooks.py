"""Webhooks reach whoever asked for them, at least once, whatever the receiver does."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from placet.clock import SystemClock
from placet.messages import EventType
from placet.process.auth import Scope
from tests.integration.notifier.desk import Desk, event
from tests.integration.notifier.receiver import Receiver
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


async def test_an_event_is_posted_signed_and_once(desk: Desk, receiver: Receiver) -> None:
    alice = await desk.key()
    webhook, secret = await desk.webhook(alice, receiver.url("ok"))
    happened = event(EventType.INPUT_REQUESTED, input_id="inp_1", data={"kind": "confirm"})
    await desk.publish(happened, desk.broker)
    await desk.publish(happened, desk.broker)
    await eventually(lambda: receiver.requests)
    await eventually(lambda: _ended(desk, alice, webhook))
    [received] = receiver.requests
    Webhook(secret).verify(received.body, received.headers)
    assert set(received.json) == {"type", "timestamp", "data"}
    assert received.json["data"]["input_id"] == "inp_1"
    assert (await desk.one(alice, webhook))["state"] == "delivered"


async def _ended(desk: Desk, key: dict[str, str], webhook: str) -> Any:
    found = await desk.one(key, webhook)
    return found if found and found["state"] != "pending" else None


async def _tried(desk: Desk, key: dict[str, str], webhook: str) -> Any:
    found = await desk.one(key, webhook)
    return found if found and (found["last_status"] or found["last_error"]) else None


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("busy", 429),
        ("reset", None),
        ("nonsense", None),
        ("hang", None),
        ("drip-head", None),
    ],
)
async def test_a_failure_is_kept_and_tried_again(
    desk: Desk, receiver: Receiver, path: str, status: int | None
) -> None:
    await fails_and_is_tried_again(desk, receiver, path, status)


@pytest.mark.parametrize(("path", "status"), [("redirect", 301), ("redirect-home", 307)])
async def test_ap_105_a_redirect_is_a_failure_and_not_followed(
    desk: Desk, receiver: Receiver, path: str, status: int
) -> None:
    await fails_and_is_tried_again(desk, receiver, path, status)


async def fails_and_is_tried_again(
    desk: Desk, receiver: Receiver, path: str, status: int | None
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url(path))
    await desk.publish(event())
    failed = await eventually(lambda: _tried(desk, alice, webhook))
    assert failed["state"] == "pending"
    assert failed["last_status"] == status
    assert [each.path for each in receiver.requests] == [f"/{path}"]
    await desk.hasten(failed["id"])
    await eventually(lambda: len(receiver.requests) == 2)
    assert {each.id for each in receiver.requests} == {failed["id"]}


async def test_a_busy_receiver_is_left_alone_for_as_long_as_it_asks(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url("busy"))
    await desk.publish(event())
    failed = await eventually(lambda: _tried(desk, alice, webhook))
    delivery = await desk.delivery(failed["id"])
    assert delivery.next_at is not None
    assert delivery.last_at is not None
    wait = delivery.next_at - delivery.last_at
    assert timedelta(seconds=100) <= wait < timedelta(seconds=110)


async def test_an_error_and_then_a_success_is_delivered_under_one_id(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, secret = await desk.webhook(alice, receiver.url("second-time"))
    await desk.publish(event())
    failed = await eventually(lambda: _tried(desk, alice, webhook))
    await desk.hasten(failed["id"])
    ended = await eventually(lambda: _ended(desk, alice, webhook))
    assert (ended["state"], ended["attempts"]) == ("delivered", 2)
    first, second = receiver.requests
    assert first.id == second.id
    assert first.body == second.body
    for each in (first, second):
        Webhook(secret).verify(each.body, each.headers)


@pytest.mark.parametrize("path", ["huge", "drip-body"])
async def test_a_success_with_an_endless_body_is_a_success_and_the_body_is_not_read(
    desk: Desk, receiver: Receiver, path: str
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url(path))
    await desk.publish(event())
    ended = await eventually(lambda: _ended(desk, alice, webhook))
    assert ended["state"] == "delivered"
    await eventually(lambda: receiver.open == 0)
    assert receiver.sent < 50_000_000


async def test_a_receiver_that_is_gone_is_never_called_again(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url("gone"))
    await desk.publish(event())
    ended = await eventually(lambda: _ended(desk, alice, webhook))
    assert ended["state"] == "failed"
    shown = (await desk.call("GET", f"/v1/webhooks/{webhook}", alice)).json()["webhook"]
    assert shown["disabled_at"]
    await desk.publish(event())
    await eventually(lambda: _count(desk, 2))
    assert len(await desk.deliveries(alice, webhook)) == 1
    again = await desk.call("POST", _redeliver(webhook, ended["id"]), alice)
    assert again.status_code == 409
    assert len(receiver.requests) == 1


def _redeliver(webhook: str, delivery: str) -> str:
    return f"/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver"


async def _count(desk: Desk, wanted: int) -> bool:
    return await desk.stored() == wanted


async def test_a_slow_receiver_holds_up_no_others(desk: Desk, receiver: Receiver) -> None:
    alice = await desk.key()
    await desk.webhook(alice, receiver.url("hang"))
    for _ in range(100):
        await desk.publish(event())
    await eventually(lambda: len(receiver.on("hang")) >= 8)
    await desk.webhook(alice, receiver.url("ok"), types=["run.failed"])
    await desk.publish(event(EventType.RUN_FAILED))
    await eventually(lambda: receiver.on("ok"), within=3)


async def test_only_what_happens_after_a_webhook_exists_goes_there(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    earlier = event(at=SystemClock().now() - timedelta(milliseconds=1))
    webhook, _ = await desk.webhook(alice, receiver.url("ok"))
    later = event()
    await desk.publish(earlier)
    await desk.publish(later)
    await eventually(lambda: _ended(desk, alice, webhook))
    assert [each.json["data"]["id"] for each in receiver.requests] == [later.id]


async def test_a_webhook_hears_only_its_types_and_its_namespace(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url("ok"), types=["run.failed"])
    await desk.publish(event())
    await desk.publish(event(EventType.RUN_FAILED, namespace="other"))
    wanted = event(EventType.RUN_FAILED)
    await desk.publish(wanted)
    await eventually(lambda: _ended(desk, alice, webhook))
    await eventually(lambda: _count(desk, 2))
    assert [each.json["data"]["id"] for each in receiver.requests] == [wanted.id]


async def test_after_a_kill_between_sending_and_recording_the_same_id_comes_again(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url("ok"))
    deliveries = desk.notifier.deliveries
    record = deliveries.record
    deliveries.record = _killed  # type: ignore[method-assign,assignment]
    await desk.publish(event())
    await eventually(lambda: receiver.requests)
    deliveries.record = record  # type: ignore[method-assign]
    claimed = await desk.one(alice, webhook)
    assert claimed["state"] == "pending"
    await desk.hasten(claimed["id"])  # the lease runs out
    await eventually(lambda: _ended(desk, alice, webhook))
    first, second = receiver.requests
    assert first.id == second.id == claimed["id"]
    assert first.body == second.body


async def _killed(*_: object) -> bool:
    raise RuntimeError("killed here")


async def test_a_process_killed_after_the_post_sends_the_same_id_when_it_is_back(
    receiver: Receiver, tmp_path: Path
) -> None:
    # The first run makes the webhook and one event, and dies at the crash point.
    assert await _run_process(tmp_path, receiver.url("ok"), crash=True) == -signal.SIGKILL
    assert len(receiver.requests) == 1
    assert await _run_process(tmp_path, receiver.url("ok"), crash=False) == 0
    first, second = receiver.requests
    assert first.id == second.id
    assert first.body == second.body


async def _run_process(folder: Path, url: str, *, crash: bool) -> int:
    asked = {"PLACET_CRASH_POINTS": "1", "PLACET_CRASH_AT": "webhook.sent:1"} if crash else {}
    words = [sys.executable, "-m", "tests.integration.notifier.process", str(folder), url]
    process = await asyncio.create_subprocess_exec(*words, env={**os.environ, **asked})
    async with asyncio.timeout(30):
        return await process.wait()


async def test_deliveries_that_a_killed_notifier_did_not_write_are_made_up_for(
    still: Desk, receiver: Receiver
) -> None:
    alice = await still.key()
    webhook, _ = await still.webhook(alice, receiver.url("ok"))
    happened = event()
    await still.notifier.log.append("default", [happened])
    await still.notifier.record(happened, 100)
    assert len(await still.deliveries(alice, webhook)) == 1
    assert await still.stored() == 1


async def test_two_replicas_make_one_try(two: Desk, receiver: Receiver) -> None:
    alice = await two.key()
    webhook, _ = await two.webhook(alice, receiver.url("ok"))
    for _ in range(40):
        await two.publish(event())

    async def done() -> bool:
        found = await two.deliveries(alice, webhook)
        return len(found) == 40 and all(each["state"] == "delivered" for each in found)

    await eventually(done)
    ids = [each.id for each in receiver.requests]
    assert len(ids) == len(set(ids)) == 40


async def test_a_secret_is_shown_once_and_rotates_with_an_overlap(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, old = await desk.webhook(alice, receiver.url("ok"))
    rotated = (await desk.call("POST", f"/v1/webhooks/{webhook}/rotate", alice)).json()
    assert rotated["secret"] != old
    assert rotated["webhook"]["old_secret_until"]
    await desk.publish(event())
    ended = await eventually(lambda: _ended(desk, alice, webhook))
    [received] = receiver.requests
    for secret in (old, rotated["secret"]):
        Webhook(secret).verify(received.body, received.headers)
    for path in ("", f"/{webhook}", f"/{webhook}/deliveries"):
        text = (await desk.call("GET", f"/v1/webhooks{path}", alice)).text
        assert "whsec_" not in text
    assert "whsec_" not in str(ended)


async def test_a_delivery_is_sent_again_when_an_operator_asks(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url("ok"))
    await desk.publish(event())
    ended = await eventually(lambda: _ended(desk, alice, webhook))
    again = await desk.call("POST", _redeliver(webhook, ended["id"]), alice)
    assert again.status_code == 202
    await eventually(lambda: len(receiver.requests) == 2)
    assert {each.id for each in receiver.requests} == {ended["id"]}
    await eventually(lambda: _ended(desk, alice, webhook))


async def test_what_is_to_be_sent_to_a_deleted_webhook_is_dropped(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url("busy"))
    await desk.publish(event())
    failed = await eventually(lambda: _tried(desk, alice, webhook))
    assert (await desk.call("DELETE", f"/v1/webhooks/{webhook}", alice)).status_code == 204
    await desk.hasten(failed["id"])

    async def dropped() -> bool:
        return (await desk.delivery(failed["id"])).state == "dropped"

    await eventually(dropped)
    assert len(receiver.requests) == 1


async def test_a_namespace_has_at_most_sixteen_webhooks_also_at_once(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    body = {"url": receiver.url("ok")}
    made = await asyncio.gather(
        *(desk.call("POST", "/v1/webhooks", alice, json=body) for _ in range(20))
    )
    assert sorted(each.status_code for each in made) == [201] * 16 + [409] * 4
    assert len((await desk.call("GET", "/v1/webhooks", alice)).json()["items"]) == 16


async def test_webhooks_are_for_operators_of_their_namespace(
    desk: Desk, receiver: Receiver
) -> None:
    alice, reader = await desk.key(), await desk.key(Scope.RUNS_READ, Scope.INPUTS_READ)
    other = await desk.key(namespace="other")
    webhook, _ = await desk.webhook(alice, receiver.url("ok"))
    assert (await desk.call("GET", "/v1/webhooks", {})).status_code == 401
    assert (await desk.call("GET", "/v1/webhooks", reader)).status_code == 403
    assert (await desk.call("GET", "/v1/webhooks", other)).json()["items"] == []
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate"), ("GET", "/deliveries")):
        found = await desk.call(method, f"/v1/webhooks/{webhook}{path}", other)
        assert (found.status_code, found.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"url": "http://169.254.169.254/"},
        {"url": "ftp://example.com/"},
        {"url": "https://user:secret@example.com/"},
        {"url": ""},
        {},
        {"url": "https://example.com/", "types": ["run.exploded"]},
        {"url": "https://example.com/", "secret": "mine"},
        {"url": 5},
    ],
)
async def test_a_webhook_that_does_not_fit_is_refused_with_its_fields(
    still: Desk, body: dict[str, Any]
) -> None:
    alice = await still.key()
    refused = await still.call("POST", "/v1/webhooks", alice, json=body)
    assert refused.status_code == 400
    assert refused.json()["errors"]
    assert (await still.call("GET", "/v1/webhooks", alice)).json()["items"] == []


async def test_metrics_tell_the_backlog(desk: Desk, receiver: Receiver) -> None:
    alice = await desk.key()
    webhook, _ = await desk.webhook(alice, receiver.url("busy"))
    await desk.publish(event())
    await eventually(lambda: _tried(desk, alice, webhook))
    text = (await desk.http.get(desk.urls[0] + "/metrics")).text
    assert "placet_webhook_deliveries_pending 1.0" in text
    assert "placet_events_stored_total 1.0" in text
    assert 'placet_webhook_attempts_total{outcome="refused"} 1.0' in text


async def test_a_webhook_that_is_made_again_under_its_key_is_the_same_without_the_secret(
    desk: Desk, receiver: Receiver
) -> None:
    alice = await desk.key()
    keyed = alice | {"Idempotency-Key": "k1"}
    body = {"url": receiver.url("ok"), "types": ["input.requested"]}
    first, again = [await desk.call("POST", "/v1/webhooks", keyed, json=body) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {"webhook": first.json()["webhook"], "secret": None}
    other = await desk.call("POST", "/v1/webhooks", keyed, json=body | {"description": "x"})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert len((await desk.call("GET", "/v1/webhooks", alice)).json()["items"]) == 1


async def test_webhooks_and_their_deliveries_come_in_pages(desk: Desk, receiver: Receiver) -> None:
    alice = await desk.key()
    made = [(await desk.webhook(alice, receiver.url("ok")))[0] for _ in range(3)]
    for number in range(3):
        await desk.publish(event(EventType.INPUT_REQUESTED, input_id=f"inp_{number}"), desk.broker)
    path = f"/v1/webhooks/{made[0]}/deliveries"

    async def all_there() -> bool:
        return len((await desk.call("GET", path, alice)).json()["items"]) == 3

    await eventually(all_there)
    assert await _pages(desk, alice, "/v1/webhooks") == made
    assert len(set(await _pages(desk, alice, path))) == 3
    for each in ("/v1/webhooks", path):
        broken = await desk.call("GET", f"{each}?cursor=nonsense", alice)
        assert (broken.status_code, broken.json()["code"]) == (400, "invalid")


async def _pages(desk: Desk, key: dict[str, str], path: str) -> list[str]:
    seen, cursor = [], ""
    while True:
        page = (await desk.call("GET", f"{path}?limit=2{cursor}", key)).json()
        seen += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            return seen
        cursor = f"&cursor={page['next_cursor']}"
