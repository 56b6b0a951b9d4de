"""What an author's own code raises, contained: it never ends the process and never breaks a store."""

import asyncio
from collections.abc import Callable
from typing import Any

from placet.domain.visible import storable_text


def ours_to_pass_on(error: BaseException) -> bool:
    """Whether an exception is a cancellation of the running task, and nothing that the author's code did."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def said(error: BaseException, longest: int = 10_000) -> str:
    """The words of an exception, as text that can be kept; its name where it has none, or can't say them."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an exception's own __str__ is the author's code too
        text = ""
    return storable_text(text or type(error).__name__)[:longest]


async def in_thread(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What a sync function returns, run where it may take its time.

    A `StopIteration` becomes a RuntimeError: no future can carry one, so its caller would wait for ever.
    """

    def run() -> Any:
        try:
            return function(*args, **named)
        except StopIteration as error:
            raise RuntimeError(f"StopIteration: {said(error)}") from error

    return await asyncio.to_thread(run)
