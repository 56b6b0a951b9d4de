"""The net: what a kill, a lost queue or a lost message left behind. Any replica, any time, no lock."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from placet.bus.port import Bus
from placet.domain.interaction import RequestAdapter
from placet.domain.run import QUEUE
from placet.errors import PlacetError
from placet.messages import CommandName, RunCommand
from placet.process import logs
from placet.process.outbox import Sent, outgoing
from placet_runner.ports import Document, Image, Runs
from placet_runner.rules.families import again_entry, ending_entry
from placet_runner.rules.frozen import is_freeze
from placet_runner.rules.runs import NEXT, command_entry, is_child, request_entry
from placet_runner.usecases.replica import Replica
from placet_runner.usecases.thaw import Thaw

BATCH = 100
"""Runs that are in memory at once."""
AT_ONCE = 32

_log = logs.get(__name__)

WOKEN = timedelta(minutes=1)
"""A wake that was published is trusted for that long: only a lost queue loses it."""
ELSEWHERE = timedelta(seconds=10)
"""A run of an agent that is not loaded here is left to a replica that has it."""
FAILED = timedelta(seconds=5)
"""After that, what could not be published is tried again."""

Send = Callable[[str, Sequence[Document]], Awaitable[Sent]]
Now = Callable[[], datetime]


class Sweep:
    """The four sweeps, over one index: outbox, runnable, ask again, close again; and lifted freezes."""

    def __init__(
        self, runs: Runs, replica: Replica, thaw: Thaw, send: Send, bus: Bus, now: Now
    ) -> None:
        self._runs = runs
        self._replica = replica
        self._thaw = thaw
        self._send = send
        self._bus = bus
        self._now = now

    async def once(self) -> int:
        """Look at every run that is due, and at those whose freeze was lifted; returns how many of either."""
        thawed = await self._thaw.once()
        due = await self._runs.due(self._now(), BATCH)
        gate = asyncio.Semaphore(AT_ONCE)

        async def look(image: Image) -> None:
            async with gate:
                try:
                    await self._look(image)
                except PlacetError as error:
                    _log.warning("sweep_failed", run_id=image.id, reason=str(error))

        await asyncio.gather(*(look(image) for image in due))
        return max(len(due), thawed)

    async def _look(self, image: Image) -> None:
        """Each branch moves `due`: what was done, and what could not be done, is not found at once again."""
        now = self._now()
        if image.document["outbox"]:
            sent = await self._send(image.id, image.document["outbox"])
            if sent.failed:
                await self._runs.postpone(image.id, FAILED)
                return
        again = [e for e in image.open if e["ask_again_at"] <= now]
        if again:
            await self._publish([_repeat(image, e) for e in again if not is_freeze(e)])
            if any(map(is_freeze, again)):
                await self._thaw.look(image)
            ids = [entry["id"] for entry in again]
            await self._runs.asked_again(image.id, ids, stir=_unheeded(image, again))
        if _runnable(image, now):
            await self._revive(image)

    async def _revive(self, image: Image) -> None:
        """Take the run up here, or wake whoever has room and knows its agent."""
        if not await self._replica.knows(image.document):
            await self._runs.postpone(image.id, ELSEWHERE)
            return
        if await self._replica.take_up(image.id, wait=False):
            return
        wake = RunCommand(command=CommandName.WAKE, run_id=image.id)
        await self._publish([command_entry(wake, f"{image.id}.swept")])
        await self._runs.postpone(image.id, WOKEN)

    async def _publish(self, entries: Sequence[Document]) -> None:
        await asyncio.gather(*(self._bus.publish(outgoing(entry)) for entry in entries))


def _runnable(image: Image, now: datetime) -> bool:
    """A guess by our own clock; the claim itself decides by the database's."""
    lease = image.document["lease"]
    if not image.status.live or (lease and lease["until"] > now - timedelta(seconds=1)):
        return False
    return image.status != "input_required" or image.wake or not image.open


def _unheeded(image: Image, again: Sequence[Document]) -> bool:
    """Whether a message waits for runs below, which may not have heard of it."""
    overtakes = any(message["mode"] != QUEUE for message in image.inbox)
    return image.status.live and overtakes and any(map(is_child, again))


def _repeat(image: Image, entry: Document) -> Document:
    """The question again, whole; or the wish to close it, where the run does not wait for it any more."""
    if entry["kind"] == NEXT:
        return again_entry(image.document, entry)
    if entry["closing"] or not image.status.live:
        return ending_entry(image.document, entry, entry["closing"] or "cancelled")
    if is_child(entry):
        return again_entry(image.document, entry)
    return request_entry(RequestAdapter.validate_python(entry["request"]))
