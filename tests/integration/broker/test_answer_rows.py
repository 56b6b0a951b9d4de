"""What answering does, row by row of the systems that Placet learned from."""

from typing import Any

import anyio
import pytest

from placet.domain.audience import Audience
from placet.domain.interaction import (
    FormRequest,
    InteractionRequest,
    Option,
    Question,
    QuestionsRequest,
)
from placet.domain.interaction import MultipleChoiceRequest as Choice
from placet.ids import new_id
from placet.process.auth import Scope
from placet_broker.rules.record import Record
from tests.integration.broker.desk import Desk, approval, past

pytestmark = pytest.mark.integration

NAMED = Audience(initiator="alice", approvers=("carol",))
COLOURS = (Option(label="Green"), Option(label="Red"))
ONE = Question(question="Which?", header="Which", options=COLOURS)
MANY = Question(question="Which days?", header="Days", options=COLOURS, multi_select=True)
FREE = Question(question="Why?", header="Why", options=COLOURS, allow_other=True)


async def questions(desk: Desk, *asked: Question) -> Record:
    request = QuestionsRequest(id=new_id("inp"), questions=asked, requested_at=past(0))
    return await desk.ask(request)


async def test_c5_ap_26_ap_32_the_same_answer_twice_is_200_and_one_decision(desk: Desk) -> None:
    """The retry is recognised before anything else is said of a settled input."""
    record, alice = await desk.ask(), await desk.key("alice")
    first = await desk.answer(record.id, True, alice, digest=record.digest)
    again = await desk.answer(record.id, True, alice, digest=record.digest)
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["resolution"] == first.json()["resolution"]
    assert [entry["what"] for entry in (await desk.get(record.id)).history] == ["opened", "settled"]


async def test_c6_ap_27_another_answer_is_409_with_the_input_as_it_settled(desk: Desk) -> None:
    record, alice = await desk.ask(), await desk.key("alice")
    await desk.answer(record.id, True, alice)
    other = await desk.answer(record.id, False, await desk.key("bob"))
    assert other.status_code == 409
    settled = other.json()["input"]
    assert (settled["id"], settled["state"]) == (record.id, "answered")
    assert settled["resolution"]["by"]["id"] == "alice"
    assert settled["resolution"]["channel"] == "rest"


async def test_ap_30_an_approval_is_used_once_however_often_it_is_sent(desk: Desk) -> None:
    record, alice = await desk.ask(), await desk.key("alice")
    await desk.answer(record.id, True, alice)
    settled = await desk.get(record.id)
    assert await desk.interactions.mark_applied(settled) is not None
    again = await desk.answer(record.id, True, alice)
    assert (again.status_code, again.json()["applied"]) == (200, True)
    widened = await desk.answer(record.id, {"decision": "approved", "args": {"name": "x"}}, alice)
    assert widened.status_code in (400, 409)


async def test_ap_37_a_stale_card_is_never_applied_to_what_is_live(desk: Desk) -> None:
    stale, live = await desk.ask(call_id="c1"), await desk.ask(call_id="c2", args={"name": "prod"})
    alice = await desk.key("alice")
    await desk.answer(stale.id, False, alice)
    late = await desk.answer(stale.id, True, alice, digest=stale.digest)
    crossed = await desk.answer(live.id, True, alice, digest=stale.digest)
    assert (late.json()["code"], crossed.json()["code"]) == ("settled", "shown_differs")
    assert "denied by alice" in late.json()["detail"]
    assert (await desk.get(live.id)).pending


async def test_c10_who_is_not_named_is_403(desk: Desk) -> None:
    record = await desk.ask(audience=NAMED)
    service = await desk.key(None, Scope.INPUTS_ANSWER, Scope.ANSWER_AS, service="portal")
    for reply in (
        await desk.answer(record.id, True, await desk.key("bob")),
        await desk.answer(record.id, True, service, **{"from": "bob"}),
        await desk.answer(record.id, True, await desk.key("alice"), **{"from": "carol"}),
    ):
        assert reply.status_code == 403
    assert (await desk.get(record.id)).pending


async def test_c11_a_key_that_answers_for_others_and_names_nobody_is_400(desk: Desk) -> None:
    record = await desk.ask(audience=NAMED)
    service = await desk.key(None, Scope.INPUTS_ANSWER, Scope.ANSWER_AS, service="portal")
    reply = await desk.answer(record.id, True, service)
    assert reply.status_code == 400
    assert [error["pointer"] for error in reply.json()["errors"]] == ["/from"]


async def test_c12_an_approver_who_is_not_the_initiator_may_answer(desk: Desk) -> None:
    record = await desk.ask(audience=NAMED)
    reply = await desk.answer(record.id, True, await desk.key("carol"))
    assert (reply.status_code, reply.json()["resolution"]["by"]["id"]) == (202, "carol")


async def test_c13_where_nobody_is_named_the_credential_is_enough(desk: Desk) -> None:
    for number, more in enumerate(({}, {"from": "dora"})):
        record = await desk.ask(call_id=f"c{number}")
        service = await desk.key(None, Scope.INPUTS_ANSWER, Scope.ANSWER_AS, service="portal")
        reply = await desk.answer(record.id, True, service, **more)
        by = reply.json()["resolution"]["by"]["id"]
        assert (reply.status_code, by) == (202, more.get("from", "service:portal"))


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_c33_turning_a_question_down_takes_no_content(desk: Desk, action: str) -> None:
    asked = await questions(desk, ONE)
    alice = await desk.key("alice")
    reply = await desk.answer(asked.id, "Red", alice, action=action)
    assert (reply.status_code, (await desk.get(asked.id)).pending) == (400, True)
    gate = await desk.ask()
    long = await desk.answer(gate.id, {"reason": "x" * 1001}, alice, action=action)
    assert long.status_code == 400
    told = await desk.answer(gate.id, {"reason": "x" * 1000}, alice, action=action)
    assert told.json()["resolution"]["outcome"]["reason"] == "x" * 1000


@pytest.mark.parametrize(
    ("asked", "content", "kept"),
    [
        ((ONE,), "Red", {"Which?": "Red"}),
        ((ONE,), 1, {"Which?": "Red"}),
        ((ONE,), "red", None),
        ((ONE,), ["Red"], None),
        ((ONE,), "", None),
        ((MANY,), ["Green", "Red"], {"Which days?": ["Green", "Red"]}),
        ((MANY,), [], None),
        ((MANY,), ["Red", "Red"], None),
        ((FREE,), "because", {"Why?": "because"}),
        ((FREE,), "x" * 2000, {"Why?": "x" * 2000}),
        ((FREE,), "x" * 2001, None),
        ((FREE,), "  ", None),
        ((ONE, FREE), {"Which?": "Red", "Why?": "so"}, {"Which?": "Red", "Why?": "so"}),
        ((ONE, FREE), {"Which?": "Red"}, None),
        ((ONE, FREE), "Red", None),
        ((ONE,), {"Which?": "Red", "Else?": "x"}, None),
    ],
)
async def test_c34_a_question_takes_what_it_offers_and_every_one_is_answered(
    still: Desk, asked: tuple[Question, ...], content: Any, kept: Any
) -> None:
    record = await questions(still, *asked)
    reply = await still.answer(record.id, content, await still.key("alice"))
    if kept is None:
        assert (reply.status_code, (await still.get(record.id)).pending) == (400, True)
        assert reply.json()["errors"]
    else:
        assert reply.json()["resolution"]["outcome"]["content"] == kept


async def test_c38_of_two_answers_at_once_one_wins(desk: Desk) -> None:
    record = await desk.ask()
    replies: list[Any] = []

    async def answer(person: str, content: bool) -> None:
        replies.append(await desk.answer(record.id, content, await desk.key(person)))

    async with anyio.create_task_group() as group:
        group.start_soon(answer, "alice", True)
        group.start_soon(answer, "bob", False)
    assert sorted(reply.status_code for reply in replies) == [202, 409]
    told = {(r.json().get("input") or r.json())["resolution"]["by"]["id"] for r in replies}
    assert len(told) == 1, "both hear of the same decider"


@pytest.mark.parametrize("word", ["always", "RUN", "stages", "", None, 7])
async def test_l14_an_unknown_scope_narrows_to_once(still: Desk, word: Any) -> None:
    record = await still.ask(scopes=("once", "stage", "run"))
    content = {"decision": "approved", "scope": word}
    reply = await still.answer(record.id, content, await still.key("alice"))
    assert reply.status_code == 202
    assert reply.json()["resolution"]["outcome"]["scope"] == "once"


@pytest.mark.parametrize("scope", ["stage", "run"])
async def test_l16_a_no_with_a_scope_is_a_no(still: Desk, scope: str) -> None:
    record = await still.ask(scopes=("once", "stage", "run"))
    content = {"decision": "denied", "scope": scope}
    reply = await still.answer(record.id, content, await still.key("alice"))
    outcome = reply.json()["resolution"]["outcome"]
    assert (outcome["state"], outcome["scope"]) == ("declined", None)


async def test_l18_an_unknown_or_answered_id_is_refused_and_changes_nothing(desk: Desk) -> None:
    record, alice = await desk.ask(), await desk.key("alice")
    await desk.answer(record.id, False, alice)
    before = await desk.get(record.id)
    assert (await desk.answer("inp_1", True, alice)).status_code == 404
    assert (await desk.answer(record.id, True, alice)).status_code == 409
    after = await desk.get(record.id)
    assert (after.state, after.rev, after.resolution) == (
        before.state,
        before.rev,
        before.resolution,
    )


@pytest.mark.parametrize("empty", [None, "", "  ", [], {}, 0, False])
async def test_cp_09_an_empty_answer_answers_no_choice_no_form_and_no_approval(
    still: Desk, empty: Any
) -> None:
    form = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
    asked: list[InteractionRequest] = [
        Choice(id=new_id("inp"), options=("north", "south"), requested_at=past(0)),
        FormRequest(id=new_id("inp"), form=form, requested_at=past(0)),
        QuestionsRequest(id=new_id("inp"), questions=(ONE,), requested_at=past(0)),
        approval(),
    ]
    alice = await still.key("alice")
    for request in asked:
        record = await still.ask(request)
        reply = await still.answer(record.id, empty, alice)
        # The index 0 names the first option, and `false` is a no.
        option = (
            empty == 0 and empty is not False and request.kind in ("multiple_choice", "questions")
        )
        no = empty is False and request.kind == "tool_approval"
        assert reply.status_code == (202 if option or no else 400), (request.kind, empty)
        assert (await still.get(record.id)).state != "answered" or option


async def test_cp_10_an_invented_id_is_404_and_another_call_in_the_body_is_400(desk: Desk) -> None:
    record, alice = await desk.ask(), await desk.key("alice")
    assert (await desk.answer(new_id("inp"), True, alice)).status_code == 404
    forged = {"decision": "approved", "args": {"name": "production"}}
    assert (await desk.answer(record.id, forged, alice)).status_code == 400
    other = await desk.answer(record.id, True, alice, call={"tool": "wire", "args": {}})
    assert other.status_code == 400
    assert (await desk.get(record.id)).pending
