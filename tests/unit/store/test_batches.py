"""Group commit: who shares a batch, who waits, who hears of a failure."""

import asyncio
from collections.abc import Sequence

import pytest

from placet.store.batches import Batches

pytestmark = pytest.mark.unit


class Slow:
    """Work that can be held back and remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = asyncio.Event()

    async def __call__(self, items: Sequence[str]) -> Sequence[str | Exception]:
        self.batches.append(list(items))
        await self.go.wait()
        if "poison" in items:
            raise RuntimeError("all of them")
        return [ValueError(item) if item == "bad" else item.upper() for item in items]


async def test_calls_that_arrive_during_a_batch_share_the_next_one() -> None:
    work = Slow()
    batches: Batches[str, str] = Batches(work)
    first = batches.submit("a")
    await asyncio.sleep(0)
    rest = [batches.submit(each) for each in "bcd"]
    work.go.set()
    assert await asyncio.gather(first, *rest) == ["A", "B", "C", "D"]
    assert work.batches == [["a"], ["b", "c", "d"]]


async def test_one_key_never_goes_twice_in_a_batch_and_keeps_its_order() -> None:
    work = Slow()
    work.go.set()
    batches: Batches[str, str] = Batches(work)
    answers = [batches.submit(item, key=item[0]) for item in ("a1", "b1", "a2", "c1", "a3")]
    await asyncio.gather(*answers)
    assert work.batches == [["a1", "b1", "c1"], ["a2"], ["a3"]]


async def test_a_batch_stays_under_its_limits_and_a_giant_goes_alone() -> None:
    work = Slow()
    work.go.set()
    batches: Batches[str, str] = Batches(work, most=3, most_bytes=10)
    sizes = {"a": 6, "b": 6, "c": 99, "d": 1, "e": 1, "f": 1, "g": 1}
    await asyncio.gather(*(batches.submit(each, size=size) for each, size in sizes.items()))
    assert work.batches == [["a"], ["b"], ["c"], ["d", "e", "f"], ["g"]]


async def test_a_failure_of_one_is_not_a_failure_of_all() -> None:
    work = Slow()
    work.go.set()
    batches: Batches[str, str] = Batches(work)
    answers = [batches.submit(each) for each in ("a", "bad", "c")]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert [type(each) for each in results] == [str, ValueError, str]


async def test_work_that_raises_fails_its_whole_batch_and_the_next_one_goes_on() -> None:
    work = Slow()
    work.go.set()
    batches: Batches[str, str] = Batches(work)
    answers = [batches.submit(each) for each in ("a", "poison")]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert [type(each) for each in results] == [RuntimeError, RuntimeError]
    assert await batches.submit("b") == "B"


async def test_a_caller_that_leaves_does_not_stop_the_others() -> None:
    work = Slow()
    batches: Batches[str, str] = Batches(work)
    gone, stays = batches.submit("a"), batches.submit("b")
    await asyncio.sleep(0)
    gone.cancel()
    work.go.set()
    assert await stays == "B"
    await batches.drain()
    assert work.batches == [["a", "b"]]


async def test_batches_that_are_kept_apart_go_at_once_after_a_rest_and_collect_after_one_another() -> (
    None
):
    work = Slow()
    work.go.set()
    batches: Batches[str, str] = Batches(work, apart=0.5)
    await batches.submit("a")
    soon = batches.submit("b")
    await asyncio.sleep(0.05)
    assert work.batches == [["a"]]
    await asyncio.gather(soon, batches.submit("c"))
    assert work.batches == [["a"], ["b", "c"]]
    await asyncio.sleep(0.5)
    rested = batches.submit("d")
    await asyncio.sleep(0.05)
    assert rested.done()


async def test_a_full_batch_goes_at_once_even_if_batches_are_kept_apart() -> None:
    work = Slow()
    work.go.set()
    batches: Batches[str, str] = Batches(work, most=2, apart=60)
    async with asyncio.timeout(10):
        await asyncio.gather(*(batches.submit(each) for each in "abcd"))
        soon = batches.submit("e")
        await asyncio.sleep(0.05)
        assert not soon.done()
        await asyncio.gather(soon, batches.submit("f"))
    assert work.batches == [["a", "b"], ["c", "d"], ["e", "f"]]
