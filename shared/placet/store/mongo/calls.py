"""Calls of the driver, each in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Calls:
    """Calls that are under way. Whoever waits for one can be cancelled at any moment.

    The driver may lose a cancellation (before Python 3.12 `asyncio.wait_for` does, and it waits with
    that), and then a loop that was told to end goes on for ever. So it is not handed on to the driver:
    the caller is cancelled at once, and the call comes to its end unheard.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __call__(self, call: Coroutine[Any, Any, T]) -> T:
        """Make the call and wait for it."""
        task = asyncio.create_task(call)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def drain(self) -> None:
        """Return when none is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)
