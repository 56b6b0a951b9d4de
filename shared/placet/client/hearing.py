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
        answered = [each for each in fresh if await _answered(each, on_input, from_)]
        run = await run.wait()
        for each in answered:
            run = await each.resumed()


async def _answered(asked: Input, on_input: OnInput, from_: str | None) -> bool:
    value = on_input(asked)
    if inspect.isawaitable(value):
        value = await value
    if value is None:
        return False
    await asked.accept(value, from_=from_)
    return True
