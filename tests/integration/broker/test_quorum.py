"""How many must say yes, who can't, and what becomes of votes."""

from functools import partial
from typing import Any

import pytest

from placet import audit
from placet.domain.audience import AnswerPolicy, Audience
from placet.domain.interaction import ConfirmRequest, FreeTextRequest
from placet.errors import Invalid
from placet.ids import new_id
from placet.process.auth import PERSON_SCOPES, Scope
from placet_broker.rules.record import Record
from tests.integration.broker.desk import Desk, Heard, answer_message, approval, of_service
from tests.integration.broker.test_directory import delegate
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

TWO = AnswerPolicy(quorum=2)
FOUR_EYES = AnswerPolicy(exclude_initiator=True)
THREE = Audience(initiator="zoe", approvers=("ann", "bob", "carol"))
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


async def asked(desk: Desk, policy: AnswerPolicy = TWO, **changes: Any) -> Record:
    given = {"audience": THREE, "policy": policy, "scopes": ("once", "stage", "run"), **changes}
    return await desk.ask(approval(**given))


async def say(desk: Desk, record: Record, who: str, content: Any = True, **more: Any) -> Any:
    return await desk.answer(record.id, content, await desk.key(who), **more)


async def test_two_people_approve_and_each_counts_once(desk: Desk) -> None:
    record = await asked(desk)
    first = await say(desk, record, "ann")
    assert (first.status_code, first.json()["state"]) == (202, "pending")
    assert [vote["by"] for vote in first.json()["votes"]] == ["ann"]
    again = await say(desk, record, "ann")
    assert (again.status_code, len(again.json()["votes"])) == (200, 1), "CP-37: twice is one"
    last = await say(desk, record, "bob")
    assert (last.status_code, last.json()["state"]) == (202, "answered")
    resolution = last.json()["resolution"]
    assert (resolution["by"]["id"], resolution["voters"]) == ("bob", ["ann", "bob"])
    for who in ("ann", "bob"):
        assert (await say(desk, record, who)).status_code == 200, "their word stands already"
    late = await say(desk, record, "carol", False)
    assert (late.status_code, late.json()["code"]) == (409, "settled")
    history = (await desk.get(record.id)).history
    assert [entry["what"] for entry in history] == ["opened", "voted", "settled"]
    assert audit.flaws(history) == []


async def test_cp_37_a_changed_vote_a_no_settles_and_nobody_else_votes(desk: Desk) -> None:
    record = await asked(desk)
    await say(desk, record, "ann", {"decision": "approved", "scope": "run"})
    changed = await say(desk, record, "ann", {"decision": "approved", "scope": "once"})
    assert (changed.status_code, len(changed.json()["votes"])) == (202, 1)
    outsider = await say(desk, record, "mallory")
    assert outsider.status_code == 403
    cancel = await say(desk, record, "mallory", None, action="cancel")
    assert cancel.status_code == 403, "nor does anybody else end it"
    no = await say(desk, record, "ann", False)
    assert (no.status_code, no.json()["state"]) == (202, "declined")
    assert no.json()["resolution"]["by"]["id"] == "ann"
    assert "voters" not in no.json()["resolution"]


async def test_the_narrowest_scope_among_the_votes_holds(desk: Desk) -> None:
    record = await asked(desk)
    await say(desk, record, "ann", {"decision": "approved", "scope": "run", "grant": "named"})
    last = await say(
        desk, record, "bob", {"decision": "approved", "scope": "stage", "grant": "exact"}
    )
    outcome = last.json()["resolution"]["outcome"]
    assert (outcome["scope"], outcome["grant"]) == ("stage", "exact")


async def test_cp_37_votes_are_void_when_arguments_are_edited(desk: Desk) -> None:
    record = await asked(desk, args_schema=SCHEMA)
    await say(desk, record, "ann")
    edit = {"decision": "approved", "args": {"name": "copy"}}
    edited = (await say(desk, record, "bob", edit)).json()
    assert [vote["by"] for vote in edited["votes"]] == ["bob"], "ann said yes to something else"
    assert edited["proposed_args"] == {"name": "copy"}
    assert edited["digest"] != record.digest
    bare = await say(desk, record, "carol")
    assert (bare.status_code, bare.json()["code"]) == (409, "shown_differs"), "which call is meant?"
    old = await say(desk, record, "carol", digest=record.digest)
    assert old.json()["code"] == "shown_differs"
    last = (await say(desk, record, "carol", digest=edited["digest"])).json()
    assert last["state"] == "answered"
    assert last["resolution"]["outcome"]["args"] == {"name": "copy"}
    assert last["resolution"]["voters"] == ["bob", "carol"]
    assert last["resolution"]["digest"] == record.digest, "the run knows what it asked"


async def test_who_names_the_first_arguments_again_votes_for_those(desk: Desk) -> None:
    record = await asked(desk, args_schema=SCHEMA)
    shown = (await say(desk, record, "bob", {"decision": "approved", "args": {"name": "x"}})).json()
    back = {"decision": "approved", "args": {"name": "staging"}}
    reply = (await say(desk, record, "carol", back, digest=shown["digest"])).json()
    assert [vote["by"] for vote in reply["votes"]] == ["carol"]
    assert "proposed_args" not in reply
    assert reply["digest"] == record.digest


async def test_groups_are_read_when_it_settles(desk: Desk) -> None:
    groups = desk.platform.auth.directory.groups
    await groups.put("default", "leads", ["ann", "bob", "carol"])
    record = await asked(desk, audience=Audience(initiator="zoe", approvers=("group:leads",)))
    assert (await say(desk, record, "ann")).status_code == 202
    await groups.remove("default", "leads", "ann")
    second = await say(desk, record, "bob")
    assert (second.json()["state"], [v["by"] for v in second.json()["votes"]]) == (
        "pending",
        ["bob"],
    ), "CP-37: the vote of one who was removed is dropped"
    assert (await say(desk, record, "ann")).status_code == 403
    assert (await say(desk, record, "carol")).json()["state"] == "answered"


async def test_one_who_is_disabled_has_no_vote_any_more(desk: Desk) -> None:
    record = await asked(desk)
    await say(desk, record, "ann")
    await desk.platform.auth.directory.people.put("default", "ann")
    await desk.platform.auth.directory.people.disable("default", "ann")
    assert [v["by"] for v in (await say(desk, record, "bob")).json()["votes"]] == ["bob"]


async def test_ap_36_four_eyes_the_initiator_may_refuse_and_not_approve(desk: Desk) -> None:
    for content, status in ((True, 403), (False, 202)):
        record = await asked(desk, FOUR_EYES)
        reply = await say(desk, record, "zoe", content)
        assert reply.status_code == status
        if status == 403:
            assert reply.json()["code"] == "self_approval"
            assert (await desk.get(record.id)).refused_count == 1
    record = await asked(desk, FOUR_EYES)
    assert (await say(desk, record, "ann")).json()["state"] == "answered"


async def test_cp_36_an_operator_is_not_exempt_nor_a_delegate_nor_the_initiator_as_one(
    desk: Desk,
) -> None:
    directory = desk.platform.auth.directory
    await delegate(directory, "zoe", "dora")
    await delegate(directory, "ann", "zoe")
    await delegate(directory, "bob", "eve")
    record = await asked(desk, FOUR_EYES)
    admin = await desk.key("zoe", *PERSON_SCOPES, Scope.OPERATE, Scope.REVIEWS_ANSWER)
    refused = await desk.answer(record.id, True, admin)
    assert (refused.status_code, refused.json()["code"]) == (403, "self_approval")
    for who in ("zoe", "dora"):
        refused = await say(desk, record, who)
        assert (refused.status_code, refused.json()["code"]) == (403, "self_approval"), who
    yes = (await say(desk, record, "eve")).json()["resolution"]
    assert (yes["by"]["id"], yes["on_behalf_of"]) == ("eve", "bob")
    record = await asked(desk, FOUR_EYES)
    assert (await say(desk, record, "dora", False)).status_code == 202, "a delegate may refuse"


async def test_a_delegate_and_their_principal_are_one_vote(desk: Desk) -> None:
    await delegate(desk.platform.auth.directory, "ann", "eve")
    record = await asked(desk)
    await say(desk, record, "eve")
    both = await say(desk, record, "ann")
    assert [(v["by"], v["on_behalf_of"]) for v in both.json()["votes"]] == [("ann", "ann")]
    again = await say(desk, record, "eve")
    assert (again.json()["state"], len(again.json()["votes"])) == ("pending", 1)


async def test_linked_channels_are_seen_through_and_unlinked_ones_do_not_approve(
    desk: Desk,
) -> None:
    people = desk.platform.auth.directory.people
    await people.put("default", "ann")
    await people.link("default", "ann", "slack:U1")
    audience = Audience(initiator="zoe", approvers=("slack:U1", "slack:U9", "service:ci", "bob"))
    gateway = await desk.key(
        None, Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS, service="chat"
    )
    machine = await desk.key(None, Scope.INPUTS_READ, Scope.INPUTS_ANSWER, service="ci")
    record = await asked(desk, audience=audience)
    by_chat = await desk.answer(record.id, True, gateway, **{"from": "slack:U1"})
    assert [v["by"] for v in by_chat.json()["votes"]] == ["ann"]
    at_desk = await say(desk, record, "ann")
    assert at_desk.status_code == 200, "one person, whatever the channel"
    unlinked = await desk.answer(record.id, True, gateway, **{"from": "slack:U9"})
    assert unlinked.status_code == 403
    assert (await desk.answer(record.id, True, machine)).status_code == 403
    no = await desk.answer(record.id, False, machine)
    assert (no.status_code, no.json()["state"]) == (202, "declined"), "but anybody asked may refuse"


async def test_a_linked_initiator_is_that_person_for_four_eyes(desk: Desk) -> None:
    people = desk.platform.auth.directory.people
    await people.put("default", "ann")
    await people.link("default", "ann", "slack:U1")
    audience = Audience(initiator="slack:U1", approvers=("ann", "bob"))
    record = await asked(desk, FOUR_EYES, audience=audience)
    refused = await say(desk, record, "ann")
    assert (refused.status_code, refused.json()["code"]) == (403, "self_approval")


async def test_a_confirm_takes_a_quorum_and_a_text_does_not(desk: Desk) -> None:
    fields = {"id": new_id("inp"), "run_id": "run_1", "agent_id": "agt_1"}
    at = approval().requested_at
    confirm = ConfirmRequest(**fields, requested_at=at, message="Now?", audience=THREE, policy=TWO)
    record = await desk.ask(confirm)
    assert (await say(desk, record, "ann")).json()["state"] == "pending"
    assert (await say(desk, record, "bob")).json()["state"] == "answered"
    text = FreeTextRequest(
        **{**fields, "id": new_id("inp")}, requested_at=at, message="Name?", policy=TWO
    )
    with pytest.raises(Invalid, match="a quorum and four eyes are for"):
        await desk.ask(text)
    with pytest.raises(Invalid, match="evaluator"):
        await asked(desk, accepts="anything")


async def test_an_audience_that_cannot_meet_its_policy_is_marked(desk: Desk) -> None:
    alone = Audience(initiator="zoe", approvers=("ann",))
    fine = await asked(desk, audience=alone)
    assert not fine.unanswerable, "the initiator may be one of two"
    record = await asked(
        desk, AnswerPolicy(quorum=2, exclude_initiator=True), audience=alone, call_id="c2"
    )
    assert record.unanswerable
    shown = await desk.http.get(f"/v1/inputs/{record.id}", headers=await desk.key("ann"))
    assert shown.json()["unanswerable"] is True
    empty = await asked(desk, audience=Audience(initiator="zoe", approvers=("group:nobody",)))
    assert empty.unanswerable
    operator = await desk.key("root", Scope.OPERATE, Scope.INPUTS_READ)
    edited = await desk.http.post(
        f"/v1/inputs/{record.id}/audience", json={"add": ["bob"]}, headers=operator
    )
    assert "unanswerable" not in edited.json()


async def test_a_batch_votes_as_single_answers_do(desk: Desk) -> None:
    voted, plain = await asked(desk), await desk.ask(call_id="c2", audience=THREE)
    answers = [{"id": r.id, "content": True} for r in (voted, plain)]
    reply = await desk.answer_all(answers, await desk.key("ann"))
    assert reply.status_code == 202
    assert [each["state"] for each in reply.json()["inputs"]] == ["pending", "answered"]
    again = await desk.answer_all(answers, await desk.key("ann"))
    assert again.status_code == 200
    last = await desk.answer_all(answers[:1], await desk.key("bob"))
    assert [each["state"] for each in last.json()["inputs"]] == ["answered"]


async def test_a_service_may_ask_for_two_people_as_well(desk: Desk) -> None:
    asks = await desk.key(None, Scope.RUNS_WRITE, service="billing")
    request = of_service(policy=TWO, audience=THREE, labels=("q3",))
    reply = await desk.http.post("/v1/requests", content=request.model_dump_json(), headers=asks)
    record = await desk.get(reply.json()["id"])
    assert (await say(desk, record, "ann")).json()["state"] == "pending"
    assert (await say(desk, record, "bob")).json()["state"] == "answered"


def told(heard: Heard, count: int) -> bool:
    return len(heard.bodies) == count


async def test_a_vote_over_the_bus_is_told_how_far_it_is_and_the_last_gets_the_resolution(
    desk: Desk,
) -> None:
    scopes = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS)
    chat, heard = await desk.map_user("chat", *scopes, service="chat"), Heard()
    await chat.consume("placet.reply.chat.1", heard.handle, prefetch=1)
    record = await asked(desk)
    for number, who in enumerate(("ann", "bob"), 1):
        await chat.publish(answer_message(record.id, True, "placet.reply.chat.1", named=who))
        await eventually(partial(told, heard, number))
    first, last = heard.bodies
    assert (first["status"], first["code"]) == (202, "voted")
    assert "1 of the 2" in first["detail"]
    assert [v["by"] for v in first["input"]["votes"]] == ["ann"]
    assert last["outcome"]["state"] == "answered"


async def test_the_initiator_sits_in_their_own_seat_whomever_they_stand_in_for(desk: Desk) -> None:
    await delegate(desk.platform.auth.directory, "ann", "zoe")
    record = await asked(desk)
    first = (await say(desk, record, "zoe")).json()
    assert [(v["by"], v["on_behalf_of"]) for v in first["votes"]] == [("zoe", "zoe")]
    assert (await say(desk, record, "ann")).json()["state"] == "answered", "two people, two seats"
