"""Claims, audiences that operators edit, lists that are narrowed, and the audit trail."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from placet import audit
from placet.domain.audience import AnswerPolicy, Audience, Priority
from placet.process.auth import PERSON_SCOPES, Scope
from placet_broker.rules.record import Record
from tests.integration.broker.desk import Desk

pytestmark = pytest.mark.integration

ANN = Audience(initiator="zoe", approvers=("ann",))


async def post(desk: Desk, path: str, headers: dict[str, str], **body: Any) -> Any:
    return await desk.http.post(path, json=body, headers=headers)


async def test_a_claim_is_shown_ends_by_itself_and_stops_nobody(desk: Desk) -> None:
    record = await desk.ask(audience=Audience(initiator="zoe", approvers=("ann", "bob")))
    ann, bob, eve = [await desk.key(who) for who in ("ann", "bob", "eve")]
    claimed = await post(desk, f"/v1/inputs/{record.id}/claim", ann)
    assert claimed.json()["claimed"]["by"] == "ann"
    until = (await desk.get(record.id)).claim
    assert until is not None
    assert timedelta(minutes=9) < until.until - record.opened_at <= timedelta(minutes=11)
    assert (await post(desk, f"/v1/inputs/{record.id}/claim", eve)).status_code == 403
    left = await post(desk, f"/v1/inputs/{record.id}/release", bob)
    assert left.json()["claimed"]["by"] == "ann", "it is not bob's to release"
    assert (await desk.answer(record.id, True, bob)).status_code == 202
    late = await post(desk, f"/v1/inputs/{record.id}/claim", ann)
    assert (late.status_code, late.json()["code"]) == (409, "settled")
    record = await desk.ask(call_id="c2", audience=ANN)
    await post(desk, f"/v1/inputs/{record.id}/claim", ann)
    assert "claimed" not in (await post(desk, f"/v1/inputs/{record.id}/release", ann)).json()
    whats = [entry["what"] for entry in (await desk.get(record.id)).history]
    assert whats == ["opened", "claimed", "released"]


async def test_an_operator_edits_an_audience_and_it_is_in_the_history(desk: Desk) -> None:
    record = await desk.ask(audience=ANN, policy=AnswerPolicy(quorum=2))
    await desk.answer(record.id, True, await desk.key("ann"))
    path = f"/v1/inputs/{record.id}/audience"
    assert (await post(desk, path, await desk.key("ann"), add=["bob"])).status_code == 403
    operator = await desk.key("root", Scope.OPERATE, Scope.INPUTS_READ)
    reply = await post(desk, path, operator, add=["bob", "group:x"], remove=["ann"])
    assert reply.json()["request"]["audience"]["approvers"] == ["bob", "group:x"]
    assert "votes" not in reply.json(), "CP-37: ann is not among them any more"
    entry = (await desk.get(record.id)).history[-1]
    assert (entry["what"], entry["by"]) == ("audience edited", "root")
    assert (entry["was"], entry["approvers"], entry["voided"]) == ("ann", "bob,group:x", "1")
    for names, pointer in ((["a\u202eb"], "/add/0"), (["x" * 300], "/add/0")):
        odd = await post(desk, path, operator, add=names)
        assert (odd.status_code, odd.json()["errors"][0]["pointer"]) == (400, pointer)
    other = await desk.key("root", *PERSON_SCOPES, Scope.OPERATE, namespace="other")
    assert (await post(desk, path, other, add=["eve"])).status_code == 404


async def test_an_audience_is_never_emptied_into_everybody(desk: Desk) -> None:
    record = await desk.ask(audience=Audience(approvers=("ann",)))
    operator = await desk.key("root", Scope.OPERATE, Scope.INPUTS_READ)
    reply = await post(desk, f"/v1/inputs/{record.id}/audience", operator, remove=["ann"])
    assert reply.status_code == 400
    assert (await desk.get(record.id)).audience.approvers == ("ann",)


def ids(*records: Record) -> list[str]:
    """In the order of a list: by age, and by id within a millisecond."""
    return [each.id for each in sorted(records, key=lambda each: (each.opened_at, each.id))]


async def test_lists_are_narrowed_by_what_people_look_for(desk: Desk) -> None:
    groups = desk.platform.auth.directory.groups
    await groups.put("default", "leads", ["ann"])
    mine = await desk.ask(audience=ANN, labels=("billing", "q3"), priority=Priority.URGENT)
    grouped = await desk.ask(call_id="c2", audience=Audience(approvers=("group:leads",)))
    open_ = await desk.ask(call_id="c3", run_id="run_2")
    other = await desk.ask(call_id="c4", audience=Audience(initiator="bob"), labels=("billing",))
    reader = await desk.key("ann")

    async def found(query: str, headers: dict[str, str] = reader) -> list[str]:
        reply = await desk.http.get(f"/v1/inputs?{query}", headers=headers)
        assert reply.status_code == 200, reply.text
        return [each["id"] for each in reply.json()["items"]]

    assert await found("state=pending") == ids(mine, grouped, open_, other)
    assert await found("state=pending&mine=true") == ids(mine, grouped, open_)
    assert await found("label=billing") == ids(mine, other)[::-1], "newest first"
    assert await found("label=billing&label=q3") == [mine.id]
    assert await found("priority=urgent") == [mine.id]
    assert await found("run=run_2") == [open_.id]
    assert await found("kind=confirm") == []
    blind = await desk.key("ann", Scope.INPUTS_ANSWER)
    assert await found("state=pending", blind) == ids(mine, grouped, open_), "its own alone"
    pages: list[str] = []
    cursor = ""
    while True:
        reply = await desk.http.get(
            f"/v1/inputs?state=pending&mine=true&limit=1{cursor}", headers=reader
        )
        pages += [each["id"] for each in reply.json()["items"]]
        if reply.json()["next_cursor"] is None:
            break
        cursor = f"&cursor={reply.json()['next_cursor']}"
    assert pages == ids(mine, grouped, open_)


@pytest.mark.parametrize("change", ["answered", "taken away"])
async def test_a_page_is_whole_whatever_leaves_it_while_it_is_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    asked = ids(*[await desk.ask(call_id=f"c{n}", audience=ANN) for n in range(4)])
    reader = await desk.key("ann")
    operator = await desk.key("root", Scope.OPERATE, Scope.INPUTS_READ)
    collection = desk.interactions.collection
    find, left = collection.find, [asked[0]]

    async def late(where: dict[str, Any], **how: Any) -> Any:
        if "_id" in where and left:
            id = left.pop()
            if change == "answered":
                assert (await desk.answer(id, True, await desk.key("zoe"))).status_code == 202
            else:
                edit = {"add": ["bob"], "remove": ["ann"]}
                reply = await post(desk, f"/v1/inputs/{id}/audience", operator, **edit)
                assert reply.status_code == 200, reply.text
        return await find(where, **how)

    monkeypatch.setattr(collection, "find", late)
    reply = await desk.http.get("/v1/inputs?state=pending&mine=true&limit=2", headers=reader)
    assert [each["id"] for each in reply.json()["items"]] == asked[1:3]
    assert not left, "it left while the page was read"
    assert reply.json()["next_cursor"] is not None


async def test_what_one_may_answer_one_may_read_and_else_it_is_not_there(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    for who, status in (("ann", 200), ("zoe", 200), ("eve", 404)):
        blind = await desk.key(who, Scope.INPUTS_ANSWER)
        reply = await desk.http.get(f"/v1/inputs/{record.id}", headers=blind)
        assert reply.status_code == status, who
    tried = await desk.answer(record.id, True, await desk.key("eve", Scope.INPUTS_ANSWER))
    assert tried.status_code == 404
    refused = (await desk.get(record.id)).refused
    assert [each["by"] for each in refused] == ["eve"], "the try is kept all the same"


async def exported(desk: Desk, headers: dict[str, str], query: str = "") -> bytes:
    reply = await desk.http.get(f"/v1/audit{query}", headers=headers)
    assert reply.status_code == 200, reply.text
    return bytes(reply.content)


async def _some_history(desk: Desk) -> tuple[Record, str, bytes]:
    record = await desk.ask(audience=ANN, policy=AnswerPolicy(quorum=2))
    await desk.answer(record.id, True, await desk.key("eve"))
    await desk.answer(record.id, True, await desk.key("ann"))
    await desk.answer(record.id, True, await desk.key("zoe"))
    await desk.ask(call_id="c2")
    operator = await desk.key("root", Scope.OPERATE, Scope.INPUTS_READ)
    key = (await desk.http.get("/v1/audit/key", headers=operator)).json()["key"]
    return record, key, await exported(desk, operator)


async def test_an_export_is_whole_and_tells_what_was_refused(desk: Desk) -> None:
    record, key, export = await _some_history(desk)
    assert audit.verified(export, key) == []
    first, second, end = (orjson.loads(line) for line in export.splitlines())
    assert first["id"] == record.id
    assert [entry["what"] for entry in first["history"]] == ["opened", "voted", "settled"]
    assert (first["refused_count"], first["refused"][0]["by"]) == (1, "eve")
    assert (second["state"], end["lines"]) == ("pending", 2)


async def test_a_change_of_any_byte_of_an_export_is_found(desk: Desk) -> None:
    _, key, export = await _some_history(desk)
    for at in range(len(export)):
        changed = export[:at] + bytes([export[at] ^ 1]) + export[at + 1 :]
        assert audit.verified(changed, key), f"byte {at} was changed"
        assert audit.verified(export[:at] + export[at + 1 :], key), f"byte {at} was removed"
    lines = export.splitlines(keepends=True)
    for gone in range(len(lines)):
        assert audit.verified(b"".join(lines[:gone] + lines[gone + 1 :]), key)
    assert audit.verified(lines[1] + lines[0] + lines[2], key)
    assert audit.verified(export + lines[0], key)
    assert audit.verified(b"", key)


async def test_whoever_writes_an_export_anew_has_another_key(desk: Desk) -> None:
    _, key, export = await _some_history(desk)
    forger = audit.Export(audit.signing_key("11" * 32))
    kept, *_ = (orjson.loads(line) for line in export.splitlines())
    forged = forger.line(kept) + forger.end(kept and (await desk.get(kept["id"])).opened_at)
    assert audit.verified(forged, audit.public_key(audit.signing_key("11" * 32))) == []
    assert audit.verified(forged, key)


async def test_an_export_covers_a_span_of_time_and_one_namespace(desk: Desk) -> None:
    _, key, _ = await _some_history(desk)
    operator = await desk.key("root", Scope.OPERATE)
    none = await exported(desk, operator, "?until=2020-01-01T00:00:00Z")
    assert (audit.verified(none, key), len(none.splitlines())) == ([], 1)
    other = await desk.key("root", Scope.OPERATE, namespace="other")
    assert len((await exported(desk, other)).splitlines()) == 1
    reader = await desk.key("ann")
    assert (await desk.http.get("/v1/audit", headers=reader)).status_code == 403


async def test_a_row_that_was_changed_in_the_database_is_found(desk: Desk) -> None:
    record, _, _ = await _some_history(desk)
    reader = await desk.key("ann")
    path = f"/v1/audit/{record.id}"
    assert (await desk.http.get(path, headers=reader)).json()["intact"] is True
    kept = await desk.interactions.collection.get(record.id)
    changes: list[dict[str, Any]] = [
        {"request": kept["request"].replace("staging", "production")},
        {"history": kept["history"][:-1]},
        {"resolution": {**kept["resolution"], "outcome": '{"state":"declined"}'}},
    ]
    for change in changes:
        await desk.interactions.collection.update(record.id, {}, {"$set": change})
        assert (await desk.http.get(path, headers=reader)).json()["flaws"] != []
        back = {name: kept[name] for name in change}
        await desk.interactions.collection.update(record.id, {}, {"$set": back})
    assert (await desk.http.get(path, headers=reader)).json()["flaws"] == []


@pytest.mark.parametrize("what", ["claim", "release", "extend"])
async def test_who_may_not_answer_does_not_hear_how_it_settled(desk: Desk, what: str) -> None:
    record = await desk.ask(audience=ANN)
    await desk.answer(record.id, True, await desk.key("ann"))
    body = {"expires_at": "2030-01-01T00:00:00Z"} if what == "extend" else {}
    blind = await desk.key("eve", Scope.INPUTS_ANSWER)
    reply = await post(desk, f"/v1/inputs/{record.id}/{what}", blind, **body)
    assert (reply.status_code, "ann" in reply.text) == (404, False)
    reader = await desk.key("eve")
    assert (await post(desk, f"/v1/inputs/{record.id}/{what}", reader, **body)).status_code == 403
