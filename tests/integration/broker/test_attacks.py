"""Attempts on who may approve, how many must, and the proof of it; each came through once."""

from typing import Any

import orjson
import pytest

from placet import audit
from placet.domain.audience import AnswerPolicy, Audience
from placet.process.auth import ALL_SCOPES, Scope
from placet_broker.rules.record import MOST_ACTS
from tests.integration.broker.desk import Desk

pytestmark = pytest.mark.integration

ANN = Audience(initiator="zoe", approvers=("ann", "bob"))
ANY_ARGS = {"type": "object"}


async def export_of(desk: Desk, query: dict[str, str]) -> tuple[bytes, str]:
    operator = await desk.key("root", Scope.OPERATE, Scope.INPUTS_READ)
    key = (await desk.http.get("/v1/audit/key", headers=operator)).json()["key"]
    return (await desk.http.get("/v1/audit", params=query, headers=operator)).content, key


async def test_true_in_place_of_one_is_a_change_of_arguments(desk: Desk) -> None:
    record = await desk.ask(audience=ANN, args={"force": 1}, args_schema=ANY_ARGS)
    content = {"decision": "approved", "args": {"force": True}}
    reply = await desk.answer(record.id, content, await desk.key("ann"))
    assert reply.json()["resolution"]["outcome"]["args"] == {"force": True}


async def test_a_vote_for_true_is_no_vote_for_one(desk: Desk) -> None:
    policy = AnswerPolicy(quorum=2)
    record = await desk.ask(audience=ANN, policy=policy, args={"force": 1}, args_schema=ANY_ARGS)
    await desk.answer(record.id, True, await desk.key("ann"))
    content = {"decision": "approved", "args": {"force": True}}
    reply = await desk.answer(record.id, content, await desk.key("bob"))
    assert reply.json()["state"] == "pending"


@pytest.mark.parametrize("what", ["claim", "vote", "extend"])
async def test_nobody_makes_a_question_too_big_to_be_settled(desk: Desk, what: str) -> None:
    """Each of these leaves an entry; without an end to that the document outgrows the database."""
    record = await desk.ask(audience=ANN, policy=AnswerPolicy(quorum=2), scopes=("once", "run"))
    past = [audit.entry(record.head, what, record.opened_at, by="ann")] * MOST_ACTS
    full = {"history": [*record.history, *past]}
    await desk.interactions.collection.update(record.id, {}, {"$set": full})
    ann, bob = await desk.key("ann"), await desk.key("bob")
    path = f"/v1/inputs/{record.id}"
    match what:
        case "claim":
            reply = await desk.http.post(f"{path}/claim", headers=ann)
        case "extend":
            later = {"expires_at": "2026-01-01T00:00:00Z"}
            reply = await desk.http.post(f"{path}/extend", json=later, headers=ann)
        case _:
            reply = await desk.answer(record.id, True, ann)
    assert (reply.status_code, reply.json()["code"]) == (409, "too_many_acts")
    assert (await desk.answer(record.id, True, bob)).status_code == 202, "others go on"
    assert (await desk.answer(record.id, False, ann)).json()["state"] == "declined"


async def test_an_export_of_a_part_does_not_pass_for_another(desk: Desk) -> None:
    await desk.ask(audience=ANN)
    whole, key = await export_of(desk, {})
    part, _ = await export_of(desk, {"until": "2020-01-01T00:00:00Z"})
    ends = [orjson.loads(each.splitlines()[-1])["of"] for each in (whole, part)]
    assert ends == [
        {"namespace": "default", "since": None, "until": None},
        {"namespace": "default", "since": None, "until": "2020-01-01T00:00:00+00:00"},
    ]
    assert audit.verified(part, key) == []
    passed_off = part.replace(b'"2020-01-01T00:00:00+00:00"', b"null")
    assert audit.verified(passed_off, key) != []


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
async def test_an_export_from_outside_the_calendar_is_refused(desk: Desk, at: str) -> None:
    operator = await desk.key("root", *ALL_SCOPES)
    for bound in ("since", "until"):
        reply = await desk.http.get("/v1/audit", params={bound: at}, headers=operator)
        assert (reply.status_code, reply.json()["code"]) == (400, "invalid")


async def test_who_decided_is_compared_with_the_chain(desk: Desk) -> None:
    record = await desk.ask(audience=ANN, policy=AnswerPolicy(quorum=2))
    await desk.answer(record.id, True, await desk.key("ann"))
    await desk.answer(record.id, True, await desk.key("bob"))
    reader = await desk.key("ann")
    kept = (await desk.interactions.collection.get(record.id))["resolution"]
    forged: list[dict[str, Any]] = [
        {"by": {"id": "carol"}},
        {"voters": ["ann", "carol"]},
        {"on_behalf_of": "carol"},
        {"channel": "timer"},
    ]
    for each in forged:
        change = {"$set": {"resolution": {**kept, **each}}}
        await desk.interactions.collection.update(record.id, {}, change)
        shown = (await desk.http.get(f"/v1/audit/{record.id}", headers=reader)).json()
        assert shown["intact"] is False, each
        export, key = await export_of(desk, {})
        assert audit.verified(export, key) != []


@pytest.mark.parametrize("name", ["zoe ", " zoe", "jose\u0301"])
async def test_a_name_that_reads_as_another_names_nobody(desk: Desk, name: str) -> None:
    """Four eyes would take whoever is so called for somebody else."""
    record = await desk.ask(audience=Audience(), policy=AnswerPolicy(quorum=2))
    scopes = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS)
    gateway = await desk.key(None, *scopes, service="mailer")
    reply = await desk.answer(record.id, True, gateway, **{"from": name})
    assert reply.status_code == 400
