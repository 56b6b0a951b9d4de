"""What the broker does by itself: expire, publish what was left behind, forget."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from placet.domain.interaction import InputState
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.ids import new_id
from placet.process.auth import Scope
from placet_broker.rules.settling import Settlement
from placet_broker.store import rows
from tests.integration.broker.desk import (
    Desk,
    approval,
    close_message,
    of_service,
    past,
    request_message,
)
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

YES = Settlement(
    Outcome(state=InputState.ANSWERED, content=True), channel="rest", by=Person(id="alice")
)
KEPT = timedelta(days=90)


async def make_due(desk: Desk, id: str, **more: Any) -> None:
    await desk.broker.outbox.drain()
    await desk.interactions.collection.update(id, {}, {"$set": {"due": past(), **more}})


async def due_of(desk: Desk, id: str) -> Any:
    return (await desk.interactions.collection.get(id))["due"]


async def test_one_record_that_fails_stops_no_other(
    still: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = await still.ask(expires_at=past()), await still.ask(expires_at=past())
    expire = still.interactions.expire

    async def fails(record: Any, at: Any = None) -> Any:
        if record.id == bad.id:
            msg = "string exceeds maximum length"
            raise TypeError(msg)
        return await expire(record, at)

    monkeypatch.setattr(still.interactions, "expire", fails)
    for id in (bad.id, good.id):
        await make_due(still, id)
    swept = await still.broker.use_cases.sweep_due()
    assert swept.failed == 1
    assert (await still.get(good.id)).state == "expired"
    assert await due_of(still, bad.id) > past(-1), "it is looked at again, and not at once"


async def test_one_document_that_cannot_be_read_stops_no_other(still: Desk) -> None:
    bad, good = await still.ask(), await still.ask(expires_at=past())
    await make_due(still, bad.id, state="nonsense")
    await make_due(still, good.id)
    await still.broker.use_cases.sweep_due()
    assert (await still.get(good.id)).state == "expired"
    assert await due_of(still, bad.id) > past(-1)


async def test_what_is_due_is_handled_sixteen_at_once(
    still: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    expire, running, most = still.interactions.expire, 0, 0
    sixteen = asyncio.Event()

    async def slow(record: Any, at: Any = None) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 16:
            sixteen.set()
        await sixteen.wait()  # fewer at once would wait for ever
        await asyncio.sleep(0.02)  # a seventeenth would come in now
        running -= 1
        return await expire(record, at)

    monkeypatch.setattr(still.interactions, "expire", slow)
    for _ in range(40):
        await make_due(still, (await still.ask(expires_at=past())).id)
    async with asyncio.timeout(30):
        await still.broker.use_cases.sweep_due()
    assert most == 16


async def test_while_the_bus_is_away_it_expires_and_does_not_publish_again_and_again(
    still: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = await still.ask(expires_at=past())
    waiting = [await still.ask() for _ in range(120)]
    await still.broker.outbox.drain()
    still.hub.cut()
    for record in waiting:
        outbox = list(record.outbox)
        await make_due(still, record.id, outbox=outbox)
    sweep, tries = still.broker.use_cases.sweep_due, 0
    publish = still.broker._bus.publish

    async def counted(message: Any) -> None:
        nonlocal tries
        tries += 1
        await publish(message)

    monkeypatch.setattr(still.broker._bus, "publish", counted)
    first = await sweep()
    assert first.failed
    assert tries <= 32
    await sweep()
    assert (await still.get(late.id)).state == "expired", "a hundred outboxes are before it"
    still.hub.mend()
    while (await sweep()).failed:
        pass
    await eventually(lambda: len(still.events.of_type("input.requested")) >= len(waiting))


async def test_a_publish_that_fails_is_tried_later_and_later(still: Desk) -> None:
    record = await still.ask()
    await still.interactions.postpone(record)
    first = await due_of(still, record.id) - past(0)
    opened_at = past(20)
    await still.interactions.collection.update(record.id, {}, {"$set": {"opened_at": opened_at}})
    await still.interactions.postpone(await still.get(record.id))
    second = await due_of(still, record.id) - past(0)
    assert timedelta(seconds=1) < first < timedelta(seconds=10)
    assert timedelta(seconds=15) < second < timedelta(seconds=31)


async def settled_long_ago(desk: Desk, days: int = 91, **changes: Any) -> Any:
    record = await desk.ask(**changes)
    settled = await desk.interactions.settle(record, YES)
    await desk.broker.outbox.drain()
    at = past(days * 86_400)
    change = {"resolution.at": at, "outbox": []}
    await desk.interactions.collection.update(record.id, {}, {"$set": change})
    return settled


async def test_b9_what_was_applied_is_forgotten_after_the_retention(still: Desk) -> None:
    settled = await settled_long_ago(still)
    applied = await still.interactions.mark_applied(settled)
    cleared = await still.interactions.collection.update(applied.id, {}, rows.clear([], KEPT))
    assert cleared["due"] == cleared["resolution"]["at"] + KEPT
    await still.broker.use_cases.sweep_due()
    kept = await still.get(applied.id)
    assert (kept.request_json, kept.history, kept.state) == ("", (), "answered")
    assert await due_of(still, applied.id) is None
    alice = await still.key("alice")
    assert (await still.http.get(f"/v1/inputs/{applied.id}", headers=alice)).status_code == 404


async def test_b9_what_was_not_applied_or_is_young_stays(still: Desk) -> None:
    waits = await settled_long_ago(still)
    young = await settled_long_ago(still, days=89, call_id="call_2")
    await still.interactions.mark_applied(young)
    for record in (waits, young):
        await make_due(still, record.id)
    await still.broker.use_cases.sweep_due()
    for record in (waits, young):
        assert (await still.get(record.id)).request_json
        assert await due_of(still, record.id) > past(-3600)


async def test_a_page_is_as_long_as_it_says_whatever_was_closed_unseen(desk: Desk) -> None:
    asked = [(await desk.ask(run_id=f"run_{n}")).id for n in range(5)]
    for id in asked:
        await desk.runner.publish(close_message(id, run_id="run_1"))
    unseen = [new_id("inp") for _ in range(5)]
    for id in unseen:
        await desk.runner.publish(close_message(id))

    async def all_closed() -> bool:
        found = [await desk.interactions.get(id) for id in (*asked, *unseen)]
        return all(record and not record.pending for record in found)

    await eventually(all_closed)
    alice = await desk.key("alice")
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        params = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await desk.http.get("/v1/inputs", params=params, headers=alice)).json()
        found += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert sorted(found) == sorted(asked)


async def test_no_service_takes_the_id_of_a_runs_question(desk: Desk) -> None:
    """Whoever knows a run and its call knows the id that the run will ask with."""
    billing = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    runs = approval()
    asked = of_service(id=runs.id).model_dump_json()
    reply = await desk.http.post("/v1/requests", content=asked, headers=billing)
    assert reply.status_code == 202
    mine = reply.json()["id"]
    assert mine != runs.id
    await desk.runner.publish(request_message(runs))

    async def opened() -> bool:
        return await desk.interactions.get(runs.id) is not None

    await eventually(opened)
    assert (await desk.get(runs.id)).publisher == "service:placet-runner"
    again = await desk.http.post("/v1/requests", content=asked, headers=billing)
    assert again.json()["id"] == mine
    same = of_service(id=mine).model_dump_json()
    assert (await desk.http.post("/v1/requests", content=same, headers=billing)).json()[
        "id"
    ] == mine
    other = of_service(id=runs.id, args={"name": "production"}).model_dump_json()
    reply = await desk.http.post("/v1/requests", content=other, headers=billing)
    assert (reply.status_code, reply.json()["code"]) == (409, "id_taken")
    gone = await desk.http.post(f"/v1/requests/{runs.id}/withdraw", headers=billing)
    assert (gone.json()["id"], gone.json()["state"]) == (mine, "withdrawn")
    assert (await desk.get(runs.id)).pending


async def test_a_request_with_an_id_that_no_message_can_carry_is_400(still: Desk) -> None:
    billing = await still.key(None, Scope.RUNS_WRITE, service="billing")
    body = of_service().model_dump_json().replace("invoice-7", "é" * 200)
    reply = await still.http.post("/v1/requests", content=body, headers=billing)
    assert reply.status_code == 400
    assert reply.json()["errors"]
