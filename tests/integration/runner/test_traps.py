"""Where such a protocol goes wrong, trap by trap: each test fails if its rule is left out."""

from functools import partial

import pytest

from placet.agents.scripted import says
from placet.domain.heritage import Birth
from placet.ids import new_id
from placet.kernel.journal import RunCancelled, ToolStarted
from placet.messages import CommandName, RunCommand
from placet_runner.ports import Step
from placet_runner.rules.runs import CHUNK, LONG_TAIL, MAX_TRIES, command_entry, new_run
from placet_runner.store.expressions import clearing
from tests.integration.runner.agents import Ledger, agent
from tests.integration.runner.book import ENTRY, NOW, Book, answer, asking, message, must
from tests.integration.runner.test_rows import intent
from tests.support.eventually import eventually
from tests.support.system import system

pytestmark = pytest.mark.integration


async def test_trap_2_an_append_does_not_clear_a_wake(book: Book) -> None:
    held = await book.held()
    must(await book.runs.message(held.id, message()))
    appended = must(await book.runs.append(held, Step(entries=[ENTRY])))
    assert appended.wake
    assert await book.runs.park(appended) is None


async def test_trap_3_an_answer_recorded_after_the_park_brings_its_own_wake(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    must(await book.runs.park(asked))
    recorded = must(await book.runs.record_answer(held.id, answer(held)))
    assert "wake" in [entry["key"] for entry in recorded.document["outbox"]]


async def test_trap_4_a_run_recorded_and_left_alone_is_due_for_a_sweep(book: Book) -> None:
    parked = await book.parked()
    recorded = must(await book.runs.record_answer(parked.id, answer(parked)))
    assert recorded.document["due"] is not None
    must(await book.runs.claim(parked.id, "sweeper", "op_2"))


async def test_trap_5_two_answers_at_once_wake_the_run_whoever_was_second(book: Book) -> None:
    parked = await book.parked(asks=2)
    for number in (1, 0):
        recorded = must(await book.runs.record_answer(parked.id, answer(parked, number)))
    assert recorded.wake
    must(await book.runs.claim(parked.id, "here", "op_2"))


async def test_trap_5_settled_alone_makes_a_run_claimable_without_any_wake(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    must(await book.runs.record_answer(held.id, answer(held)))
    taken = must(await book.runs.take(asked))
    must(await book.runs.park(taken))
    must(await book.runs.claim(held.id, "other", "op_2"))


async def test_trap_6_a_claim_returns_the_message_that_its_own_write_stopped_announcing(
    book: Book,
) -> None:
    parked = await book.parked()
    must(await book.runs.message(parked.id, message("read me")))
    claimed = must(await book.runs.claim(parked.id, "here", "op_2"))
    assert not claimed.wake
    assert claimed.inbox[-1]["text"] == "read me"


async def test_trap_9_a_holder_does_not_write_an_answer_away(book: Book) -> None:
    held = await book.held()
    asked = must(await book.runs.ask_and_go_on(held, asking(held)))
    must(await book.runs.record_answer(held.id, answer(held)))
    appended = must(await book.runs.append(asked, Step(entries=[ENTRY])))
    assert len(appended.settled) == 1


async def test_trap_10_a_resume_is_pinned_to_the_image_it_was_decided_on(book: Book) -> None:
    parked = await book.parked(asks=2)
    must(await book.runs.record_answer(parked.id, answer(parked, 0)))
    read = await book.now(parked)
    must(await book.runs.message(parked.id, message()))
    held = must(await book.hasty.claim(parked.id, "fast", "op_2"))
    must(
        await book.hasty.append(
            held, Step(entries=[ToolStarted(call_id="call_0", key="k", attempt=1)])
        )
    )

    async def too_late() -> bool:
        """The lease has run out, the entry is open: all but the pin would match."""
        assert await book.runs.resume(read, answer(parked, 1), intent(), "slow", "op_3") is None
        return await book.runs.claim(parked.id, "third", "op_4") is not None

    assert await eventually(too_late)


async def test_trap_11_an_aborted_run_does_not_come_back(book: Book) -> None:
    parked = await book.parked()
    must(await book.runs.abort(parked.id, RunCancelled(), []))
    assert await book.runs.resume(parked, answer(parked), intent(), "here", "op_2") is None


async def test_trap_12_a_holder_can_not_complete_an_aborted_run(book: Book) -> None:
    held = await book.held()
    must(await book.runs.abort(held.id, RunCancelled(), []))
    assert await book.runs.append(held, Step(entries=[ENTRY])) is None


async def test_trap_15_what_an_abort_leaves_open_is_asked_to_close_again(book: Book) -> None:
    parked = await book.parked()
    aborted = must(await book.runs.abort(parked.id, RunCancelled(), []))
    assert aborted.open[0]["closing"] == "cancelled"
    assert aborted.document["due"] is not None


async def test_trap_18_clearing_takes_out_what_was_published_and_nothing_else(book: Book) -> None:
    run = await book.queued()
    first = [entry["id"] for entry in run.document["outbox"]]
    must(await book.runs.message(run.id, message()))
    change = clearing(first)
    after = must(await book.runs._update(run.id, {}, dict(change[0]["$set"])))
    assert [entry["key"] for entry in after.document["outbox"]] == ["wake"]


async def test_trap_19_a_copy_of_a_message_that_was_read_is_not_read_again(book: Book) -> None:
    held = await book.held()
    said = message()
    must(await book.runs.message(held.id, said))
    taken = must(await book.runs.take(held))
    must(await book.runs.append(taken, Step(entries=[ENTRY], used_messages=[said.id])))
    assert await book.runs.message(held.id, said) is None


async def test_trap_22_a_late_copy_of_a_write_finds_its_place_taken(book: Book) -> None:
    held = await book.held()
    must(await book.runs.append(held, Step(entries=[ENTRY])))
    assert await book.runs.append(held, Step(entries=[ENTRY, ENTRY])) is None
    assert (await book.now(held)).seq == 1


async def test_trap_23_entries_survive_a_chunk_that_two_holders_store(book: Book) -> None:
    held = await book.held()
    for _ in range(LONG_TAIL + 1):
        held = must(await book.runs.append(held, Step(entries=[ENTRY])))
    chunked = must(await book.runs.store_chunk(held))
    assert await book.runs.store_chunk(held) is None, "the older plan is void"
    assert chunked.document["base"] == CHUNK
    assert len(await book.runs.history(chunked)) == LONG_TAIL + 1


async def test_a_claim_drops_the_start_and_wake_that_it_makes_needless(book: Book) -> None:
    run = await book.queued()
    claimed = must(await book.runs.claim(run.id, "here", new_id("op")))
    assert claimed.document["outbox"] == []


async def test_a_wake_swept_twice_is_one_wake(book: Book) -> None:
    wake = RunCommand(command=CommandName.WAKE, run_id="run_1")
    assert command_entry(wake, "x") == command_entry(wake, "x")


async def test_due_is_set_while_anything_is_owed_and_null_once_nothing_is(book: Book) -> None:
    run = await book.queued()
    assert (await book.now(run)).document["due"] is not None
    aborted = must(await book.runs.abort(run.id, RunCancelled(), []))
    assert aborted.document["due"] is None
    parked = await book.parked()
    assert parked.document["due"] is not None


async def test_a_call_that_kills_every_holder_counts_the_claims_and_not_its_starts_as_progress(
    book: Book,
) -> None:
    run = await book.queued()
    intent = Step(entries=[ToolStarted(call_id="call_0", key="k", attempt=1)])
    for number in range(1, MAX_TRIES + 2):
        claim = partial(book.hasty.claim, run.id, "doomed", new_id("op"))
        held = await eventually(claim)
        assert held.document["tries"] == number
        must(await book.hasty.take_over(held, intent))


async def test_a_poison_run_fails_with_crash_loop_and_others_go_on() -> None:
    ledger = Ledger()
    async with system([agent(ledger, says("done"))]) as placet:
        document = new_run(
            "run_" + "0" * 32,
            "default",
            Birth(agent="ops", agent_id="agt_" + "0" * 32, messages=(message("go"),)),
            NOW,
        )
        assert await placet.runner.runs.create(document | {"tries": MAX_TRIES})
        poisoned = await placet.stands(document["_id"], "failed")
        assert poisoned.document["error"]["code"] == "crash_loop"
        assert (await placet.client.agent("ops").run("go")).status == "completed"


async def test_a_run_that_is_woken_and_parked_again_and_again_is_not_used_up(book: Book) -> None:
    parked = await book.parked()
    for _ in range(MAX_TRIES + 2):
        must(await book.runs.message(parked.id, message()))
        held = must(await book.runs.claim(parked.id, "here", new_id("op")))
        parked = must(await book.runs.park(held))
        assert parked.document["tries"] == 0


async def test_a_claim_of_agents_that_are_loaded_leaves_others_alone(book: Book) -> None:
    run = await book.queued()
    assert await book.runs.claim(run.id, "here", "op_1", ["another"]) is None
    assert (await book.now(run)).document["tries"] == 0
    must(await book.runs.claim(run.id, "here", "op_1", ["ops"]))
