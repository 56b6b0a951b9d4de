"""One-time links: they show, and decide nothing until somebody has shown who they are."""

import re
from typing import Any

import pytest

from placet.domain.audience import AnswerPolicy, Audience
from placet.process.access import SESSION_COOKIE
from placet.process.auth import Scope
from placet_broker.rules.record import Record
from tests.integration.broker.desk import ORIGIN, Desk
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

ANN = Audience(initiator="zoe", approvers=("ann", "bob"))
SCANNERS = ("Mozilla/5.0 (compatible; SafeLinks)", "Barracuda", "Slackbot-LinkExpanding 1.0")
OWN = {"Origin": ORIGIN}


async def gateway(desk: Desk) -> dict[str, str]:
    """The credential of a program that reaches people."""
    scopes = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS)
    return await desk.key(None, *scopes, service="mailer")


async def link(desk: Desk, record: Record, person: str = "ann", **more: Any) -> dict[str, Any]:
    body = {"person": person, "content": True, **more}
    reply = await desk.http.post(
        f"/v1/inputs/{record.id}/links", json=body, headers=await gateway(desk)
    )
    assert reply.status_code == 201, reply.text
    made: dict[str, Any] = reply.json()
    return made


async def code(desk: Desk, record: Record, made: dict[str, Any]) -> str:
    reply = await desk.http.post(
        f"/v1/inputs/{record.id}/links/{made['id']}/code", headers=await gateway(desk)
    )
    assert reply.status_code == 201, reply.text
    return str(reply.json()["code"])


async def press(desk: Desk, made: dict[str, Any], code: str = "", **more: Any) -> Any:
    headers = {**OWN, **more.pop("headers", {})}
    return await desk.http.post(made["path"], data={"code": code}, headers=headers, **more)


async def logged_in(desk: Desk, person: str) -> dict[str, str]:
    return {"Cookie": f"{SESSION_COOKIE}={await desk.session(person)}"}


async def test_cp_33_a_scanner_that_follows_a_link_changes_nothing(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    made = await link(desk, record)
    before = await desk.get(record.id)
    for number in range(10):
        agent = {"User-Agent": SCANNERS[number % 3]}
        for method in ("GET", "HEAD"):
            reply = await desk.http.request(method, made["path"], headers=agent)
            assert reply.status_code == 200
    after = await desk.get(record.id)
    assert (after.rev, after.history, after.links) == (before.rev, before.history, before.links)
    page = (await desk.http.get(made["path"])).text
    assert "drop_database" in page
    assert "<b>ann</b>" in page
    assert "Approve" in page


async def test_cp_34_a_link_proves_nobody_whoever_holds_it(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    made = await link(desk, record)
    assert (await press(desk, made)).status_code == 401
    bob = await press(desk, made, headers=await logged_in(desk, "bob"))
    assert bob.status_code == 403, "it was forwarded to somebody else, though he may answer himself"
    assert "for ann" in bob.text
    assert (await press(desk, made, "00000000")).status_code == 403
    foreign = await desk.http.post(
        made["path"], data={"code": "1"}, headers={"Origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    assert (await desk.get(record.id)).pending
    whats = [(e["what"], e["by"]) for e in (await desk.get(record.id)).history]
    assert ("wrong code", None) in whats, "nobody knows whose it was"
    assert [each["by"] for each in (await desk.get(record.id)).refused] == ["bob"]


async def test_a_code_that_was_sent_to_the_person_answers_once(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    made = await link(desk, record)
    sent = await code(desk, record, made)
    reply = await press(desk, made, sent)
    assert reply.status_code == 303
    settled = await desk.get(record.id)
    assert settled.resolution is not None
    assert settled.resolution.by is not None
    assert (settled.resolution.by.id, settled.resolution.channel) == ("ann", "link")
    assert settled.links[0].used_at is not None, "used up in the write that settled it"
    second = await press(desk, made, sent)
    assert second.status_code == 409
    page = (await desk.http.get(made["path"])).text
    assert "approved by ann" in page, "CP-33: a later click tells who decided, and when"
    assert "decides nothing" in page or "button" not in page


async def test_a_session_of_the_person_answers_as_well(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    made = await link(desk, record, action="decline", content=None)
    page = (await desk.http.get(made["path"])).text
    assert ">Deny</button>" in page
    assert (await press(desk, made, headers=await logged_in(desk, "ann"))).status_code == 303
    assert (await desk.get(record.id)).state == "declined"


async def test_a_code_is_asked_for_by_the_page_and_sent_by_the_gateway(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    made = await link(desk, record)
    asked = await desk.http.post(f"{made['path']}/code", headers=OWN)
    assert asked.status_code == 303
    await eventually(lambda: desk.events.of_type("input.code_requested"))
    (event,) = desk.events.of_type("input.code_requested")
    assert event["data"] == {"link": made["id"], "person": "ann"}
    assert made["token"] not in str(desk.events.bodies), "an event opens nothing"
    first, second = await code(desk, record, made), await code(desk, record, made)
    assert (await press(desk, made, first)).status_code in ((303,) if first == second else (403,))
    assert (await press(desk, made, second)).status_code == 303


async def test_five_wrong_codes_kill_a_link(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    made = await link(desk, record)
    sent = await code(desk, record, made)
    wrong = "11111111" if sent != "11111111" else "22222222"
    for _ in range(5):
        assert (await press(desk, made, wrong)).status_code == 403
    assert (await press(desk, made, sent)).status_code == 409
    assert (await desk.get(record.id)).pending


async def test_a_link_is_bound_to_what_was_shown(desk: Desk) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    record = await desk.ask(audience=ANN, policy=AnswerPolicy(quorum=2), args_schema=schema)
    made = await link(desk, record)
    sent = await code(desk, record, made)
    edit = {"decision": "approved", "args": {"name": "other"}}
    await desk.answer(record.id, edit, await desk.key("bob"))
    late = await press(desk, made, sent)
    assert (late.status_code, "has changed" in late.text) == (409, True)
    assert [vote.by for vote in (await desk.get(record.id)).votes] == ["bob"]


async def test_a_vote_uses_a_link_up(desk: Desk) -> None:
    record = await desk.ask(audience=ANN, policy=AnswerPolicy(quorum=2))
    made = await link(desk, record)
    sent = await code(desk, record, made)
    assert (await press(desk, made, sent)).status_code == 303
    assert [vote.by for vote in (await desk.get(record.id)).votes] == ["ann"]
    assert (await press(desk, made, sent)).status_code == 409


async def test_who_makes_links_must_be_allowed_to_and_they_must_fit(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    path = f"/v1/inputs/{record.id}/links"
    body = {"person": "ann", "content": True}
    refused = await desk.http.post(path, json=body, headers=await desk.key("ann"))
    assert refused.status_code == 403
    own = await gateway(desk)
    for change, status in (
        ({"person": "eve"}, 403),
        ({"content": 7}, 400),
        ({"seconds": 5}, 400),
        ({"more": 1}, 400),
    ):
        reply = await desk.http.post(path, json={**body, **change}, headers=own)
        assert reply.status_code == status, change
    other = await desk.key(
        None, Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS,
        service="mailer", namespace="other",
    )  # fmt: skip
    assert (await desk.http.post(path, json=body, headers=other)).status_code == 404


async def test_a_token_is_kept_nowhere_and_none_can_be_guessed(desk: Desk) -> None:
    record = await desk.ask(audience=ANN)
    made = await link(desk, record)
    kept = str(await desk.interactions.collection.get(record.id))
    secret = made["token"].partition(".")[2]
    assert secret not in kept
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", secret)
    for odd in ("x", ".", f"{record.id}.x", made["token"][:-1], f"{'0' * 32}.{secret}", "%00.x"):
        assert (await desk.http.get(f"/l/{odd}")).status_code == 404, odd


async def test_ap_39_an_expired_link_says_so_and_offers_nothing(still: Desk) -> None:
    record = await still.ask(audience=ANN)
    made = await link(still, record, seconds=60)
    kept = await still.interactions.collection.get(record.id)
    (each,) = kept["links"]
    old = {**each, "until": record.opened_at}
    await still.interactions.collection.update(record.id, {}, {"$set": {"links": [old]}})
    page = await still.http.get(made["path"])
    assert "This link has expired" in page.text
    assert "<button" not in page.text
    sent = await press(still, made, "12345678")
    assert (sent.status_code, "expired" in sent.text) == (409, True)
