"""Group commit: calls that arrive while a batch is under way go together in the next one."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call(Generic[T, R]):
    """One caller's item, how many bytes it is, what it must not share a batch with, its answer."""

    item: T
    size: int
    key: Hashable | None
    answer: asyncio.Future[R]


class Batches(Generic[T, R]):
    """Runs `work` on lists of items, one list at a time and each as long as the limits allow.

    There is no waiting for company: an item that finds nothing under way goes at once, unless the
    list before it began less than `apart` seconds ago; then it goes when they are over, or `most`
    wait. `work` returns one result or exception for each item; what it raises goes to all of them.
    Items that have the same key never share a batch, and keep their order.
    """

    def __init__(
        self,
        work: Callable[[Sequence[T]], Awaitable[Sequence[R | Exception]]],
        *,
        most: int = 500,
        most_bytes: int = 12 * 1024 * 1024,
        apart: float = 0.0,
    ) -> None:
        self._work = work
        self._most = most
        self._most_bytes = most_bytes
        self._apart = apart
        self._not_before = 0.0
        self._full = asyncio.Event()
        self._waiting: deque[Call[T, R]] = deque()
        self._running: asyncio.Task[None] | None = None

    def submit(self, item: T, *, size: int = 0, key: Hashable | None = None) -> asyncio.Future[R]:
        """Queue an item; cancelling the future that is returned leaves the batch alone."""
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append(Call(item, size, key, answer))
        if len(self._waiting) >= self._most:
            self._full.set()
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return answer

    async def drain(self) -> None:
        """Return when nothing is under way or waiting."""
        while self._running is not None:
            await asyncio.wait([self._running])

    async def _run(self) -> None:
        try:
            while self._waiting:
                if self._apart:
                    await self._keep_apart()
                await self._do(self._take())
        finally:
            self._running = None

    async def _keep_apart(self) -> None:
        now = asyncio.get_running_loop().time
        if len(self._waiting) < self._most and (early := self._not_before - now()) > 0:
            self._full.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(early):
                    await self._full.wait()
        self._not_before = now() + self._apart

    async def _do(self, batch: Sequence[Call[T, R]]) -> None:
        results: Sequence[R | Exception]
        try:
            results = await self._work([call.item for call in batch])
        except Exception as error:  # noqa: BLE001 - whatever it was, each caller must hear it
            results = [error] * len(batch)
        for call, result in zip(batch, results, strict=True):
            if call.answer.done():
                continue
            if isinstance(result, Exception):
                call.answer.set_exception(result)
            else:
                call.answer.set_result(result)

    def _take(self) -> list[Call[T, R]]:
        batch: list[Call[T, R]] = []
        left: list[Call[T, R]] = []
        keys: set[Hashable] = set()
        size = 0
        while self._waiting and len(batch) < self._most:
            call = self._waiting.popleft()
            if call.key is not None and call.key in keys:
                left.append(call)
                continue
            if batch and size + call.size > self._most_bytes:
                left.append(call)
                break
            batch.append(call)
            size += call.size
            if call.key is not None:
                keys.add(call.key)
        self._waiting.extendleft(reversed(left))
        return batch
