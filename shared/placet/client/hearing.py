"""Telling a callback of each input of a run, and answering with what it returns."""

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from placet.client.inputs import Input
from placet.domain.run import RunStatus

if TYPE_CHECKING:
    from placet.client.asynchronous import Run

OnInput = Callable[[Input], Any | Awaitable[Any]]
"""Takes an input; returns its answer, or None to leave it for later."""


async def heard(run: "Run", on_input: OnInput, from_: str | None) -> "Run":
    """Go on with a run for as long as the callback answers what it asks.

    Each input is told of once. Returns the run once it has ended, or waits for nothing that the
    callback has not heard. Raises what the callback raises, and what answering raises.
    """
    known: set[str] = set()
    while True:
        fresh = [each for each in run.inputs if each.id not in known]
        if run.status is not RunStatus.INPUT_REQUIRED or not fresh:
            return run
        known |= {each.id for each in fresh}
        tried = [await _answered(each, on_input, from_) for each in fresh]
        answered = [each for each in tried if each is not None]
        run = await run.wait()
        for each in answered:
            run = await each.resumed()


async def _answered(asked: Input, on_input: OnInput, from_: str | None) -> Input | None:
    """The input as the callback's answer leaves it; None where it gives none."""
    value = on_input(asked)
    if inspect.isawaitable(value):
        value = await value
    return None if value is None else await asked.accept(value, from_=from_)
