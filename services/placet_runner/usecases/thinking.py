"""Asking the model, as often as its failures call for."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from placet.agents.agent import Agent
from placet.agents.asking_model import ask_model
from placet.errors import ModelError
from placet.kernel import Fail
from placet.process import logs
from placet.process.backoff import full_jitter
from placet_runner.usecases.grip import Grip

MODEL_TRIES = 5
MODEL_BACKOFF = (timedelta(seconds=1), timedelta(seconds=30))

_log = logs.get(__name__)


async def think(agent: Agent, grip: Grip, stopping: asyncio.Event) -> Fail | None:
    """Ask the model; its reply is noted. What is returned ends the run.

    What the first call is made from needs no write of its own: nothing ran yet.
    """
    if grip.state.steps and not await grip.flush():
        return None
    for attempt in range(1, MODEL_TRIES + 1):
        try:
            await _ask(agent, grip, stopping)
        except ModelError as error:
            grip.hand.metrics.replied("failed")
            if not error.transient or attempt == MODEL_TRIES:
                return Fail(error.code, str(error))
            _log.warning("model_failed", run_id=grip.image.id, attempt=attempt, reason=str(error))
            if await _stopped_within(stopping, full_jitter(attempt, *MODEL_BACKOFF)):
                return None
        else:
            return None
    raise AssertionError


async def _ask(agent: Agent, grip: Grip, stopping: asyncio.Event) -> None:
    """A reply is noted; a deploy cuts the call off: another replica can ask again."""
    asking = asyncio.ensure_future(ask_model(agent, grip.state))
    told = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({asking, told}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            grip.note(asking.result())
            grip.hand.metrics.replied("ok")
    finally:
        asking.cancel()
        told.cancel()


async def _stopped_within(stopping: asyncio.Event, span: timedelta) -> bool:
    """Wait before the next try; True if this replica is told to stop meanwhile."""
    with suppress(TimeoutError):
        async with asyncio.timeout(span.total_seconds()):
            await stopping.wait()
    return stopping.is_set()
