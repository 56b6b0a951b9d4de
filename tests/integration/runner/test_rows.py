"""Every row of the run's protocol, for its match and for its miss, on both stores."""

import pytest

from placet.domain.heritage import Birth, ChildEnd
from placet.domain.interaction import InputState
from placet.domain.run import RunStatus
from placet.ids import derived_id, new_id
from placet.kernel.journal import RunCancelled, RunCompleted, ToolStarted
from placet_runner.ports import Document, Image, Step
from placet_runner.rules.families import child_entry
from tests.integration.runner.book import ENTRY, NOW, Book, answer, asking, closes, message, must
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration
STEP = Step(entries=[ENTRY])


async def stale(book: Book, image: Image) -> Image:
    """The image of a holder whose run was taken over meanwhile."""
    await book.runs.hand_back(image)
    must(await book.runs.claim(image.id, "other", new_id("op")))
    return image


# R1


async def test_r1_creates_a_queued_run_with_its_start_in_the_outbox(book: Book) -> None:
    run = await book.now(await book.queued())
    assert (run.status, run.epoch, run.seq, run.lease_op, run.wake) == ("queued", 0, 0, None, False)
    assert [entry["key"] for entry in run.document["outbox"]] == ["start"]


async def test_r1_creates_no_second_run_of_one_id(book: Book) -> None:
    run = await book.queued()
    assert not await book.runs.create(run.document)


# R2


async def test_r2_claims_a_free_run_and_raises_the_epoch(book: Book) -> None:
    run = must(await book.runs.claim((await book.queued()).id, "here", "op_1"))
    assert (run.status, run.epoch, run.lease_op, run.wake) == ("running", 1, "op_1", False)


async def test_r2_does_not_claim_a_held_run(book: Book) -> None:
    held = await book.held()
    assert await book.runs.claim(held.id, "other", "op_2") is None


async def test_r2_does_not_claim_a_parked_run_that_waits(book: Book) -> None:
    parked = await book.parked()
    assert await book.runs.claim(parked.id, "other", "op_2") is None


async def test_r2_does_not_claim_an_ended_run(book: Book) -> None:
    run = await book.queued()
    must(await book.runs.abort(run.id, RunCancelled(), []))
    assert await book.runs.claim(run.id, "other", "op_2") is None


async def test_r2_takes_a_run_over_once_its_lease_has_run_out(book: Book) -> None:
    run = await book.abandoned()
    taken = await eventually(lambda: book.runs.claim(run.id, "other", "op_2"))
    assert taken is not None
    assert taken.epoch == run.epoch + 1


# R3


async def test_r3_renews_the_lease_of_this_very_claim(book: Book) -> None:
    held = await book.held()
    renewed = must(await book.runs.renew(held))
    assert renewed.document["lease"]["until"] >= held.document["lease"]["until"]


async def test_r3_renews_nothing_after_a_takeover(book: Book) -> None:
    assert await book.runs.renew(await stale(book, await book.held())) is None


async def test_r3_puts_no_lease_on_a_run_that_was_parked_meanwhile(book: Book) -> None:
    held = await book.held()
    must(await book.runs.ask_and_park(held, asking(held)))
    assert await book.runs.renew(held) is None
    assert (await book.now(held)).lease_op is None


# R4, R10, R11, R12: an append by the holder


@pytest.mark.parametrize(
    "row", ["append", "apply_answers", "finish_call", "take_over", "ask_and_go_on"]
)
async def test_r4_and_its_like_append_once_and_move_seq(book: Book, row: str) -> None:
    held = await book.held()
    write = getattr(book.runs, row)
    after = must(await write(held, STEP))
    assert after.seq == held.seq + 1
    assert after.document["journal"][-1]["type"] == ENTRY.type
    assert await write(held, STEP) is None, "the same place in the journal is taken"


@pytest.mark.parametrize(
    "row", ["append", "apply_answers", "finish_call", "take_over", "ask_and_go_on"]
)
async def test_r4_and_its_like_write_nothing_after_a_takeover(book: Book, row: str) -> None:
    held = await stale(book, await book.held())
    assert await getattr(book.runs, row)(held, STEP) is None


async def test_r4_takes_out_only_the_messages_that_it_used(book: Book) -> None:
    held = await book.held()
    later = message("later")
    must(await book.runs.message(held.id, later))
    first = held.inbox[0]["id"]
    after = must(await book.runs.append(held, Step(entries=[ENTRY], used_messages=[first])))
    assert [m["id"] for m in after.inbox] == [later.id]


async def test_r10_takes_out_only_the_answers_that_it_applied(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held, 2)))
    must(await book.runs.record_answer(held.id, answer(held, 0)))
    after = must(
        await book.runs.apply_answers(
            asked, Step(entries=[ENTRY], used_inputs=[answer(held, 0).input_id])
        )
    )
    assert [w["id"] for w in after.waiting] == [answer(held, 1).input_id]


# R5, R5b


async def test_r5_asks_and_holds_nothing(book: Book) -> None:
    parked = await book.parked()
    assert (parked.status, parked.lease_op) == ("input_required", None)
    assert [w["resolution"] for w in parked.waiting] == [None]
    assert "tool_approval" in [entry["key"] for entry in parked.document["outbox"]]


async def test_r5_does_not_park_over_something_new(book: Book) -> None:
    held = await book.held()
    must(await book.runs.message(held.id, message()))
    assert await book.runs.ask_and_park(held, asking(held)) is None


async def test_r5b_asks_and_keeps_the_lease(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    assert asked.lease_op == held.lease_op
    assert len(asked.open) == 1


# R6


async def test_r6_takes_what_arrived(book: Book) -> None:
    held = await book.held()
    must(await book.runs.message(held.id, message("new")))
    taken = must(await book.runs.take(held))
    assert not taken.wake
    assert taken.inbox[-1]["text"] == "new"


async def test_r6_misses_when_nothing_arrived_or_the_run_was_lost(book: Book) -> None:
    held = await book.held()
    assert await book.runs.take(held) is None
    lost = await stale(book, held)
    must(await book.runs.message(held.id, message()))
    assert await book.runs.take(lost) is None


# R7


async def test_r7_parks(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    parked = must(await book.runs.park(asked))
    assert (parked.status, parked.lease_op) == ("input_required", None)


async def test_r7_does_not_park_over_an_answer_that_came_first(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    must(await book.runs.record_answer(held.id, answer(held)))
    assert await book.runs.park(asked) is None


# R8


async def test_r8_records_an_answer_of_a_held_run_and_sets_wake(book: Book) -> None:
    held = await book.held()
    must(await book.runs.ask_and_go_on(held, asking(held)))
    recorded = must(await book.runs.record_answer(held.id, answer(held)))
    assert recorded.wake
    assert recorded.settled[0]["resolution"]["outcome"]["content"] is True


async def test_r8_puts_a_wake_in_the_outbox_of_a_free_run_once_all_are_settled(book: Book) -> None:
    parked = await book.parked(asks=2)
    first = must(await book.runs.record_answer(parked.id, answer(parked, 0)))
    assert not first.wake
    assert "wake" not in [entry["key"] for entry in first.document["outbox"]]
    second = must(await book.runs.record_answer(parked.id, answer(parked, 1)))
    assert second.wake
    assert "wake" in [entry["key"] for entry in second.document["outbox"]]


async def test_r8_records_nothing_twice(book: Book) -> None:
    parked = await book.parked()
    must(await book.runs.record_answer(parked.id, answer(parked)))
    again = answer(parked, state=InputState.DECLINED)
    assert await book.runs.record_answer(parked.id, again) is None
    assert (await book.now(parked)).settled[0]["resolution"]["outcome"]["state"] == "answered"


async def test_r8_records_nothing_for_an_ended_run(book: Book) -> None:
    parked = await book.parked()
    must(await book.runs.abort(parked.id, RunCancelled(), []))
    assert await book.runs.record_answer(parked.id, answer(parked)) is None


async def test_r8_keeps_an_answer_that_looks_like_a_field_as_it_is(book: Book) -> None:
    parked = await book.parked()
    sly = answer(parked).model_copy(
        update={"outcome": answer(parked).outcome.model_copy(update={"content": "$lease"})}
    )
    recorded = must(await book.runs.record_answer(parked.id, sly))
    assert recorded.settled[0]["resolution"]["outcome"]["content"] == "$lease"


# R9


def intent() -> Step:
    return Step(entries=[ENTRY, ToolStarted(call_id="call_0", key="key_1", attempt=1)])


async def test_r9_claims_applies_and_writes_the_intent_in_one(book: Book) -> None:
    parked = await book.parked()
    resumed = must(await book.runs.resume(parked, answer(parked), intent(), "here", "op_9"))
    assert (resumed.status, resumed.epoch, resumed.lease_op) == (
        "running",
        parked.epoch + 1,
        "op_9",
    )
    assert (resumed.waiting, resumed.seq) == ([], parked.seq + 2)
    assert resumed.document["journal"][-1]["type"] == "tool.started"


async def test_r9_resumes_once(book: Book) -> None:
    parked = await book.parked()
    must(await book.runs.resume(parked, answer(parked), intent(), "here", "op_9"))
    assert await book.runs.resume(parked, answer(parked), intent(), "other", "op_8") is None


async def test_r9_does_not_resume_a_held_run(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    assert await book.runs.resume(asked, answer(asked), intent(), "other", "op_9") is None


# R13


async def test_r13_completes_and_lets_go(book: Book) -> None:
    held = await book.held()
    step = Step(entries=[RunCompleted(text="done")], fields={"text": "done"})
    ended = must(await book.runs.end(held, RunStatus.COMPLETED, step))
    assert (ended.status, ended.lease_op, ended.document["text"]) == ("completed", None, "done")


async def test_r13_does_not_complete_over_a_message(book: Book) -> None:
    held = await book.held()
    must(await book.runs.message(held.id, message()))
    assert await book.runs.end(held, RunStatus.COMPLETED, STEP) is None


async def test_r13_marks_the_open_questions_of_a_failed_run_for_closing(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    failed = must(await book.runs.end(asked, RunStatus.FAILED, STEP))
    assert [w["closing"] for w in failed.open] == ["cancelled"]


# R14


async def test_r14_hands_back_with_a_wake(book: Book) -> None:
    back = must(await book.runs.hand_back(await book.held()))
    assert back.lease_op is None
    assert "wake" in [entry["key"] for entry in back.document["outbox"]]
    must(await book.runs.claim(back.id, "other", "op_2"))


async def test_r14_hands_back_nothing_that_was_taken_over(book: Book) -> None:
    assert await book.runs.hand_back(await stale(book, await book.held())) is None


# R15, R15c


async def test_r15_accepts_a_message_once_and_wakes(book: Book) -> None:
    parked = await book.parked()
    said = message()
    told = must(await book.runs.message(parked.id, said))
    assert told.wake
    assert told.inbox[-1]["id"] == said.id
    assert await book.runs.message(parked.id, said) is None, "a second copy is known"


async def test_r15_accepts_nothing_for_an_ended_run(book: Book) -> None:
    run = await book.queued()
    must(await book.runs.abort(run.id, RunCancelled(), []))
    assert await book.runs.message(run.id, message()) is None


async def test_r15c_queues_a_message_without_waking_a_parked_run(book: Book) -> None:
    parked = await book.parked()
    told = must(await book.runs.queue_message(parked.id, message(mode="queue")))
    assert not told.wake
    held = await book.held()
    assert must(await book.runs.queue_message(held.id, message(mode="queue"))).wake


async def test_r15c_queues_a_message_once(book: Book) -> None:
    parked = await book.parked()
    said = message(mode="queue")
    must(await book.runs.queue_message(parked.id, said))
    assert await book.runs.queue_message(parked.id, said) is None


# R16, R17


async def test_r16_asks_the_broker_to_close_and_parks(book: Book) -> None:
    parked = await book.parked()
    must(await book.runs.message(parked.id, message()))
    held = must(await book.runs.claim(parked.id, "here", "op_2"))
    gone = must(await book.runs.supersede(held, closes(held)))
    assert (gone.status, gone.lease_op) == ("input_required", None)
    assert [(w["closing"], w["resolution"]) for w in gone.waiting] == [("superseded", None)]
    assert "close" in [entry["key"] for entry in gone.document["outbox"]]


async def test_r16_misses_when_something_else_arrived(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    must(await book.runs.record_answer(held.id, answer(held)))
    assert await book.runs.supersede(asked, closes(asked)) is None


async def test_r17_asks_the_broker_to_close_and_goes_on(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    gone = must(await book.runs.withdraw(asked, closes(asked, "withdrawn")))
    assert gone.lease_op == held.lease_op
    assert [w["closing"] for w in gone.open] == ["withdrawn"]


async def test_r17_withdraws_nothing_after_a_takeover(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    assert await book.runs.withdraw(await stale(book, asked), closes(asked, "withdrawn")) is None


# R18, R19


async def test_r18_ends_a_run_at_once_and_fences_its_holder(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    aborted = must(await book.runs.abort(held.id, RunCancelled(by="alice"), []))
    assert (aborted.status, aborted.lease_op, aborted.epoch) == ("cancelled", None, held.epoch + 1)
    assert [w["closing"] for w in aborted.open] == ["cancelled"], (
        "open until the broker says how it ended"
    )
    assert await book.runs.append(asked, STEP) is None


async def test_r18_ends_nothing_twice(book: Book) -> None:
    run = await book.queued()
    must(await book.runs.abort(run.id, RunCancelled(), []))
    assert await book.runs.abort(run.id, RunCancelled(), []) is None


async def test_r19_notes_how_a_question_of_an_ended_run_ended_and_nothing_else(book: Book) -> None:
    parked = await book.parked()
    must(await book.runs.abort(parked.id, RunCancelled(), []))
    noted = must(await book.runs.note_closed(parked.id, answer(parked)))
    assert noted.status == "cancelled"
    assert noted.open == []
    assert await book.runs.note_closed(parked.id, answer(parked)) is None


async def test_r19_notes_nothing_on_a_live_run(book: Book) -> None:
    parked = await book.parked()
    assert await book.runs.note_closed(parked.id, answer(parked)) is None


# R21


async def test_r21_takes_a_grant_back_once_and_says_so_to_the_holder(book: Book) -> None:
    held = await book.held()
    taken = must(await book.runs.revoke(held.id, "grt_1", "alice", NOW))
    assert [(each["id"], each["by"]) for each in taken.revoked] == [("grt_1", "alice")]
    assert taken.wake, "the holder looks before it parks"
    assert await book.runs.revoke(held.id, "grt_1", "bob", NOW) is None
    parked = await book.parked()
    assert not must(await book.runs.revoke(parked.id, "grt_1", "alice", NOW)).wake


async def test_r21_takes_nothing_from_a_run_that_has_ended(book: Book) -> None:
    run = await book.queued()
    must(await book.runs.abort(run.id, RunCancelled(), []))
    assert await book.runs.revoke(run.id, "grt_1", "alice", NOW) is None


async def test_r8_wakes_a_run_whose_answer_grants_although_another_question_is_open(
    book: Book,
) -> None:
    parked = await book.parked(asks=2)
    granting = answer(parked)
    scoped = granting.model_copy(
        update={"outcome": granting.outcome.model_copy(update={"scope": "run"})}
    )
    recorded = must(await book.runs.record_answer(parked.id, scoped))
    assert recorded.wake
    must(await book.runs.claim(parked.id, "here", "op_x"))


async def test_r8_wakes_a_run_whose_question_was_taken_back(book: Book) -> None:
    parked = await book.parked(asks=2)
    withdrawn = answer(parked, state=InputState.WITHDRAWN)
    assert must(await book.runs.record_answer(parked.id, withdrawn)).wake


# R8 and R19 for a child run


async def test_r8_records_a_child_s_end_and_wakes_its_parent_once_nothing_is_open(
    book: Book,
) -> None:
    held = await book.held()
    asked = asking(held)
    step = Step(entries=asked.entries, asks=[*asked.asks, child(held)], outbox=asked.outbox)
    parked = must(await book.runs.ask_and_park(held, step))
    ended = must(await book.runs.record_child(parked.id, child_end(held)))
    assert ended.settled[0]["resolution"]["text"] == "done"
    assert (ended.wake, [e["key"] for e in ended.document["outbox"]].count("wake")) == (False, 0)
    settled = must(await book.runs.record_answer(parked.id, answer(parked)))
    assert (settled.wake, settled.open) == (True, [])
    other = await book.held()
    parked = must(await book.runs.ask_and_park(other, Step(entries=[ENTRY], asks=[child(other)])))
    ended = must(await book.runs.record_child(parked.id, child_end(other)))
    assert ended.wake
    assert "wake" in [entry["key"] for entry in ended.document["outbox"]]


async def test_r8_records_a_child_s_end_once_for_a_live_parent_that_waits_for_it(
    book: Book,
) -> None:
    held = await book.held()
    assert await book.runs.record_child(held.id, child_end(held)) is None
    parked = must(await book.runs.ask_and_park(held, Step(entries=[ENTRY], asks=[child(held)])))
    must(await book.runs.record_child(parked.id, child_end(held)))
    again = child_end(held).model_copy(update={"status": RunStatus.FAILED})
    assert await book.runs.record_child(parked.id, again) is None
    assert (await book.now(parked)).settled[0]["resolution"]["status"] == "completed"


async def test_r8_sets_wake_for_a_holder_when_a_child_ends_meanwhile(book: Book) -> None:
    held = await book.held()
    must(await book.runs.ask_and_go_on(held, Step(entries=[ENTRY], asks=[child(held)])))
    ended = must(await book.runs.record_child(held.id, child_end(held)))
    assert (ended.wake, ended.lease_op) == (True, held.lease_op)


async def test_r19_notes_a_child_s_end_for_an_ended_parent_and_r8_does_not(book: Book) -> None:
    held = await book.held()
    parked = must(await book.runs.ask_and_park(held, Step(entries=[ENTRY], asks=[child(held)])))
    assert await book.runs.note_closed(parked.id, child_end(held)) is None
    aborted = must(await book.runs.abort(parked.id, RunCancelled(), []))
    assert aborted.open[0]["closing"] == "cancelled"
    assert await book.runs.record_child(parked.id, child_end(held)) is None
    noted = must(await book.runs.note_closed(parked.id, child_end(held)))
    assert (noted.open, noted.document["due"], noted.status) == ([], None, "cancelled")
    assert await book.runs.note_closed(parked.id, child_end(held)) is None


async def test_asking_a_child_again_stirs_its_parent_where_a_message_waits(book: Book) -> None:
    held = await book.held()
    parked = must(await book.runs.ask_and_park(held, Step(entries=[ENTRY], asks=[child(held)])))
    await book.runs.asked_again(parked.id, [child_end(held).run_id])
    assert not (await book.now(parked)).wake
    await book.runs.asked_again(parked.id, [child_end(held).run_id], stir=True)
    must(await book.runs.claim(parked.id, "here", "op_2"))


def child_end(parent: Image) -> ChildEnd:
    child_id = derived_id("run", parent.id, "child")
    return ChildEnd(run_id=child_id, status=RunStatus.COMPLETED, text="done")


def child(parent: Image) -> Document:
    birth = Birth(agent="leaf", agent_id="agt_x", messages=(message(),), parent_run_id=parent.id)
    return child_entry(child_end(parent).run_id, birth)
