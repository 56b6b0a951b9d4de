"""Several answers in one request: all of them settle, or none does."""

from typing import Any

import anyio
import pytest

from placet import audit
from placet.domain.audience import Audience
from placet.domain.interaction import FreeTextRequest
from placet.process.auth import Scope
from placet_broker.rules.record import Record
from tests.integration.broker.desk import Desk, approval, past
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


async def asks(desk: Desk, *tools: str, **changes: Any) -> list[Record]:
    made = []
    for number, tool in enumerate(tools):
        made.append(await desk.ask(approval(tool=tool, call_id=f"c{number}", **changes)))
    return made


def yes(record: Record, **more: Any) -> dict[str, Any]:
    return {"id": record.id, "action": "accept", "content": True, **more}


async def states(desk: Desk, records: list[Record]) -> list[str]:
    return [str((await desk.get(record.id)).state) for record in records]


async def test_a_batch_settles_all_and_again_is_200(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b", "c"), await desk.key("alice")
    answers = [yes(records[0]), {"id": records[1].id, "action": "decline"}, yes(records[2])]
    reply = await desk.answer_all(answers, alice)
    assert reply.status_code == 202, reply.text
    inputs = reply.json()["inputs"]
    assert [each["id"] for each in inputs] == [record.id for record in records]
    assert [each["state"] for each in inputs] == ["answered", "declined", "answered"]
    assert {each["resolution"]["by"]["id"] for each in inputs} == {"alice"}
    again = await desk.answer_all(answers, alice)
    assert (again.status_code, again.json()) == (200, reply.json())
    await eventually(lambda: len(desk.resolutions.bodies) == 3)
    for record in records:
        chain = (await desk.get(record.id)).history
        assert [entry["what"] for entry in chain] == ["opened", "settled"]
        assert audit.flaws(chain) == []


async def test_ap_21_one_stale_answer_refuses_the_batch_and_says_which(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b", "c"), await desk.key("alice")
    await desk.answer(records[1].id, False, alice)
    reply = await desk.answer_all([yes(record) for record in records], alice)
    assert reply.status_code == 409
    problem = reply.json()
    assert (problem["code"], problem["input"]["id"]) == ("settled", records[1].id)
    assert [each["pointer"] for each in problem["conflicts"]] == ["/answers/1"]
    assert "denied by alice" in problem["detail"]
    assert await states(desk, records) == ["pending", "declined", "pending"]


async def test_ap_21_a_forged_digest_or_an_unknown_id_refuses_the_batch(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b"), await desk.key("alice")
    forged = await desk.answer_all([yes(records[0]), yes(records[1], digest="sha256:x")], alice)
    assert (forged.status_code, forged.json()["code"]) == (409, "shown_differs")
    unknown = await desk.answer_all([yes(records[0]), {"id": "inp_1", "content": True}], alice)
    assert unknown.status_code == 404
    assert "inp_1" in unknown.json()["detail"]
    assert await states(desk, records) == ["pending", "pending"]


async def test_c26_one_answer_that_does_not_fit_leaves_both_pending(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b"), await desk.key("alice")
    bad = {"decision": "approved", "scope": "once", "reason": 7}
    reply = await desk.answer_all([yes(records[0]), yes(records[1], content=bad)], alice)
    assert reply.status_code == 400
    (error,) = reply.json()["errors"]
    assert error["pointer"] == "/answers/1/content/reason"
    assert await states(desk, records) == ["pending", "pending"]
    assert desk.resolutions.bodies == []


async def test_every_answer_that_does_not_fit_is_listed(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b", "c"), await desk.key("alice")
    answers = [yes(records[0], content=""), yes(records[1]), yes(records[2], content="false")]
    reply = await desk.answer_all(answers, alice)
    pointers = [error["pointer"] for error in reply.json()["errors"]]
    assert pointers == ["/answers/0/content", "/answers/2/content"]


async def test_who_may_not_answer_one_answers_none(desk: Desk) -> None:
    (own,) = await asks(desk, "a")
    other = await desk.ask(approval(audience=Audience(initiator="bob")))
    reply = await desk.answer_all([yes(own), yes(other)], await desk.key("alice"))
    assert reply.status_code == 403
    assert other.id in reply.json()["detail"]
    assert await states(desk, [own, other]) == ["pending", "pending"]
    assert (await desk.get(other.id)).refused_count == 1


async def test_c11_a_batch_that_does_not_say_who_names_the_answer(desk: Desk) -> None:
    records = await asks(desk, "a", "b", audience=Audience(initiator="bob"))
    service = await desk.key(None, Scope.INPUTS_ANSWER, Scope.ANSWER_AS, service="portal")
    reply = await desk.answer_all([yes(records[0], **{"from": "bob"}), yes(records[1])], service)
    assert reply.status_code == 400
    assert [error["pointer"] for error in reply.json()["errors"]] == ["/answers/1/from"]
    said = [yes(record, **{"from": "bob"}) for record in records]
    assert (await desk.answer_all(said, service)).status_code == 202


@pytest.mark.parametrize("turned", [False, True])
async def test_cp_01_answers_are_addressed_and_go_by_no_position(desk: Desk, turned: bool) -> None:
    delete, send = await asks(desk, "delete", "send")
    answers = [{"id": send.id, "content": False}, {"id": delete.id, "content": True}]
    reply = await desk.answer_all(answers[::-1] if turned else answers, await desk.key("alice"))
    assert reply.status_code == 202
    assert await states(desk, [delete, send]) == ["answered", "declined"]


async def test_cp_01_an_answer_without_an_id_is_400_and_nothing_settles(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b"), await desk.key("alice")
    reply = await desk.answer_all([yes(records[0]), {"content": True}], alice)
    assert reply.status_code == 400
    assert [error["pointer"] for error in reply.json()["errors"]] == ["/answers/1/id"]
    twice = await desk.answer_all([yes(records[0]), yes(records[0], content=False)], alice)
    assert twice.status_code == 400
    assert await states(desk, records) == ["pending", "pending"]


async def test_cp_02_twenty_shuffled_answers_reach_their_own_questions(desk: Desk) -> None:
    tokens = [f"token {number}" for number in range(20)]
    asked = []
    for number, token in enumerate(tokens):
        request = FreeTextRequest(
            id=f"inp_{number:032x}", run_id="run_1", message=token, requested_at=past(0)
        )
        asked.append(await desk.ask(request))
    answers = [
        {"id": record.id, "content": f"for {token}"}
        for record, token in zip(asked, tokens, strict=True)
    ]
    answers = [answers[number * 7 % 20] for number in range(20)]
    assert (await desk.answer_all(answers, await desk.key("alice"))).status_code == 202
    await eventually(lambda: len(desk.resolutions.bodies) == 20)
    heard = {each["input_id"]: each["outcome"]["content"] for each in desk.resolutions.bodies}
    assert heard == {record.id: f"for {t}" for record, t in zip(asked, tokens, strict=True)}


async def test_a_batch_of_an_agent_answers_nothing_of_another(desk: Desk) -> None:
    ours = await desk.ask(approval(path=("ops", "helper"), agent_id="agt_2", call_id="c1"))
    theirs = await desk.ask(approval(path=("sales",), agent_id="agt_9", call_id="c2"))
    alice = await desk.key("alice")
    both = [yes(ours), yes(theirs)]
    reply = await desk.answer_all(both, alice, "/v1/agents/ops/inputs")
    assert reply.status_code == 404
    assert theirs.id in reply.json()["detail"]
    assert await states(desk, [ours, theirs]) == ["pending", "pending"]
    assert (await desk.answer_all(both[:1], alice, "/v1/agents/ops/inputs")).status_code == 202
    assert (await desk.answer_all(both[1:], alice, "/v1/agents/agt_9/inputs")).status_code == 202


async def test_with_a_part_that_ran_out_the_batch_is_409_and_that_part_expired(still: Desk) -> None:
    (alive,) = await asks(still, "a")
    late = await still.ask(approval(expires_at=past()))
    reply = await still.answer_all([yes(alive), yes(late)], await still.key("alice"))
    assert reply.status_code == 409
    assert reply.json()["input"]["state"] == "expired"
    assert await states(still, [alive, late]) == ["pending", "expired"]


async def test_a_part_that_was_settled_in_the_same_way_counts_as_done(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b"), await desk.key("alice")
    await desk.answer(records[0].id, True, await desk.key("bob"))
    reply = await desk.answer_all([yes(record) for record in records], alice)
    assert reply.status_code == 202
    by = [each["resolution"]["by"]["id"] for each in reply.json()["inputs"]]
    assert by == ["bob", "alice"]


async def test_each_on_its_own_gives_a_result_for_each(desk: Desk) -> None:
    records, alice = await asks(desk, "a", "b", "c"), await desk.key("alice")
    await desk.answer(records[1].id, False, alice)
    answers = [yes(records[0]), yes(records[1]), yes(records[2], content=""), {"id": "inp_1"}]
    reply = await desk.answer_all(answers, alice, mode="each")
    assert reply.status_code == 200
    results = reply.json()["results"]
    assert [each["status"] for each in results] == [202, 409, 400, 404]
    assert [each["id"] for each in results] == [each["id"] for each in answers]
    assert results[0]["input"]["state"] == "answered"
    assert results[1]["problem"]["input"]["state"] == "declined"
    assert results[2]["problem"]["errors"]
    assert await states(desk, records) == ["answered", "declined", "pending"]


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_holds_one_to_a_hundred_answers(desk: Desk, count: int) -> None:
    answers = [{"id": f"inp_{n:032x}", "content": True} for n in range(count)]
    reply = await desk.answer_all(answers, await desk.key("alice"))
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/answers"


async def test_c38_batches_that_race_settle_each_input_once_and_never_half(desk: Desk) -> None:
    records = await asks(desk, "a", "b", "c", "d")
    people = [await desk.key(f"p{number}") for number in range(6)]
    statuses: list[int] = []

    async def answer(number: int) -> None:
        content = number % 2 == 0
        pair = records if number < 4 else records[number % 2 :: 2]
        answers = [yes(record, content=content) for record in pair]
        statuses.append((await desk.answer_all(answers, people[number])).status_code)

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(answer, number)
    assert 202 in statuses
    settled = [await desk.get(record.id) for record in records]
    for record in settled:
        assert audit.flaws(record.history) == []
        assert [entry["what"] for entry in record.history] == ["opened", "settled"]
    half = {str(record.state) for record in settled[::2]}, {str(r.state) for r in settled[1::2]}
    assert [len(each) for each in half] == [1, 1], "a batch was applied in part"
