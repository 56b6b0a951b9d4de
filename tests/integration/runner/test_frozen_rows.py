"""The rows of a run that waits for a freeze, on both stores."""

from datetime import UTC, datetime

import pytest

from placet.domain.freeze import Freeze
from placet.ids import new_id
from placet.kernel.journal import Frozen, RunCancelled
from placet_runner.ports import Image, Step
from placet_runner.rules.frozen import frozen_entry
from placet_runner.store.changes import MOST_GAPS
from tests.integration.runner.book import Book, answer, asking, must

pytestmark = pytest.mark.integration
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def made(lifted: bool = False) -> Freeze:
    ended = {"lifted_at": NOW, "lifted_by": "root"} if lifted else {}
    return Freeze(id=new_id("frz"), reason="an incident", by="root", at=NOW, **ended)


def lifted(freeze: Freeze) -> Freeze:
    return freeze.model_copy(update={"lifted_at": NOW, "lifted_by": "root"})


async def frozen(book: Book, *freezes: Freeze, asks: int = 0) -> Image:
    """Parked, waiting for these freezes and so many answers."""
    held = await book.held()
    asked = asking(held, asks)
    step = Step(
        entries=[*asked.entries, *(Frozen(freeze_id=f.id, by=f.by) for f in freezes)],
        asks=[*asked.asks, *(frozen_entry(held.id, f) for f in freezes)],
        outbox=asked.outbox,
    )
    return must(await book.runs.ask_and_park(held, step))


async def test_r8_records_a_lift_once_and_wakes_the_run_whatever_else_is_open(book: Book) -> None:
    one, other = made(), made()
    run = await frozen(book, one, other, asks=1)
    assert await book.runs.claim(run.id, "early", "op_0") is None
    stirred = must(await book.runs.record_lift(run.id, lifted(one)))
    assert stirred.wake
    assert stirred.document["outbox"][-1]["key"] == "wake"
    assert [e["freeze"] for e in stirred.settled] == [one.id]
    assert await book.runs.record_lift(run.id, lifted(one)) is None
    assert await book.runs.claim(run.id, "here", "op_1") is not None


async def test_r8_records_no_lift_of_what_is_not_waited_for_or_has_ended(book: Book) -> None:
    freeze = made()
    run = await frozen(book, freeze)
    assert await book.runs.record_lift(run.id, made(lifted=True)) is None
    must(await book.runs.abort(run.id, RunCancelled(), []))
    assert await book.runs.record_lift(run.id, lifted(freeze)) is None


async def test_r8_an_answer_wakes_a_run_whose_only_other_wait_is_a_freeze(book: Book) -> None:
    run = await frozen(book, made(), asks=2)
    first = must(await book.runs.record_answer(run.id, answer(run, 0)))
    assert not first.wake, "the other question is open"
    last = must(await book.runs.record_answer(run.id, answer(run, 1)))
    assert (last.wake, last.document["outbox"][-1]["key"]) == (True, "wake")


async def test_r13_and_r18_leave_no_freeze_to_be_closed(book: Book) -> None:
    aborted = await frozen(book, made(), asks=1)
    ended = must(await book.runs.abort(aborted.id, RunCancelled(), []))
    assert [(e["kind"], e["closing"]) for e in ended.open] == [("tool_approval", "cancelled")]


async def test_runs_are_found_by_freezes_that_are_not_active_any_more(book: Book) -> None:
    assert not await book.runs.any_frozen()
    one, other = made(), made()
    run, both = await frozen(book, one), await frozen(book, one, other, asks=1)
    await book.parked()
    gone = await frozen(book, one)
    await book.runs.abort(gone.id, RunCancelled(), [])
    assert await book.runs.any_frozen()

    async def found(*active: Freeze) -> set[str]:
        return {each.id for each in await book.runs.frozen([f.id for f in active], 10)}

    assert await found(one, other) == set()
    assert await found(one) == {both.id}
    assert await found(other) == {run.id, both.id} == await found()
    await book.runs.record_lift(run.id, lifted(one))
    assert await found(other) == {both.id}, "what is recorded is not found again"
    many = [made() for _ in range(MOST_GAPS)]
    assert await found(*many, one, other) == set()
    assert await found(*many, other) == {both.id}


async def test_a_frozen_run_is_looked_at_again_by_itself(book: Book) -> None:
    run = await frozen(book, made())
    await book.runs._runs.update(run.id, {}, [{"$set": {"outbox": []}}])
    await book.runs.asked_again(run.id, [])
    assert (await book.now(run)).document["due"] is not None
