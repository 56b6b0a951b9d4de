"""Live streams: one look at the database for each namespace, however many listen to it."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from itertools import islice

from placet.errors import Conflict, PlacetError
from placet.process import logs
from placet.process.backoff import waits
from placet_notifier.ports import EventLog
from placet_notifier.rules.filters import Entry

KEPT = 2000
"""Events of a namespace in memory; a reader further behind reads the database."""

_log = logs.get(__name__)


class Gap(Conflict):
    """A stream can't be continued from there: events between are no longer kept."""


class Feed:
    """One namespace's newest events, as one task reads them."""

    def __init__(self, namespace: str, log: EventLog, poll: float) -> None:
        self.namespace = namespace
        self.last = 0
        self.readers = 0
        self._log = log
        self._poll = poll
        self._recent: deque[Entry] = deque(maxlen=KEPT)
        self._stored = asyncio.Event()
        self._advanced = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Begin at the newest event there is. Raises Unavailable."""
        async with self._opening:
            if self._task is None:
                _, self.last = await self._log.span(self.namespace)
                self._task = asyncio.get_running_loop().create_task(self._run())

    def close(self) -> None:
        """Read no more; whoever waits goes on."""
        if self._task is not None:
            self._task.cancel()
        self._advance()

    def wake(self) -> None:
        """Something was stored: read it now."""
        self._stored.set()

    async def behind(self, number: int) -> Sequence[Entry]:
        """A page of what comes after this number; empty if that is the newest.

        Raises:
            Gap: what comes next is no longer kept.
        """
        if number >= self.last:
            return ()
        first = self._recent[0].number if self._recent else self.last + 1
        if number + 1 >= first:
            return list(islice(self._recent, number + 1 - first, None))
        found = (await self._log.after(self.namespace, number)).entries
        if found and found[0].number != number + 1:
            raise Gap(f"the events before {found[0].number} are no longer kept", code="REPLAY_GAP")
        return found

    async def wait(self, number: int, seconds: float) -> bool:
        """Return once there is something after this number; False when the time is over."""
        advanced = self._advanced
        if number < self.last:
            return True
        try:
            async with asyncio.timeout(seconds):
                await advanced.wait()
        except TimeoutError:
            return False
        return True

    def _advance(self) -> None:
        self._advanced.set()
        self._advanced = asyncio.Event()

    async def _run(self) -> None:
        failing = waits(timedelta(milliseconds=200), timedelta(seconds=5))
        while True:
            self._stored.clear()
            pause = self._poll
            try:
                if await self._read():
                    continue
            except PlacetError as error:
                _log.warning("feed_waits", namespace=self.namespace, reason=str(error))
                pause = next(failing)
            except Exception as error:  # noqa: BLE001 - listeners must not go deaf
                _log.error("feed_crashed", namespace=self.namespace, exc_info=error)
                pause = next(failing)
            try:
                async with asyncio.timeout(pause):
                    await self._stored.wait()
            except TimeoutError:
                continue

    async def _read(self) -> bool:
        """Take in a page; whether there may be more at once."""
        page = await self._log.after(self.namespace, self.last)
        if page.entries:
            if page.entries[0].number != self.last + 1:
                self._recent.clear()
            self._recent.extend(page.entries)
            self.last = page.entries[-1].number
            self._advance()
        return page.more


class Feeds:
    """The feeds of this process, each open while somebody listens."""

    def __init__(self, log: EventLog, *, poll: float) -> None:
        self.log = log
        self._poll = poll
        self._feeds: dict[str, Feed] = {}
        self.closed = False

    def stored(self, namespace: str) -> None:
        """This process stored something there."""
        if feed := self._feeds.get(namespace):
            feed.wake()

    async def join(self, namespace: str) -> Feed:
        """The feed of a namespace; call `leave` in the end. Raises Unavailable."""
        feed = self._feeds.setdefault(namespace, Feed(namespace, self.log, self._poll))
        feed.readers += 1
        try:
            await feed.open()
        except BaseException:
            self.leave(feed)
            raise
        return feed

    def leave(self, feed: Feed) -> None:
        """One reader less; the last one closes the feed."""
        feed.readers -= 1
        if feed.readers == 0:
            feed.close()
            self._feeds.pop(feed.namespace, None)

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        for feed in self._feeds.values():
            feed.close()

    async def start_at(self, namespace: str, after: int | None) -> int:
        """The number a stream begins behind: the one asked for, else the newest.

        Raises:
            Gap: 409, what comes after it is no longer kept, or it was never given.
        """
        oldest, newest = await self.log.span(namespace)
        if after is None:
            return newest
        if after + 1 < oldest or after > newest:
            raise Gap(
                f"the stream can't go on from {after}; kept are {oldest} to {newest}. Read the "
                "current state, then follow the stream without Last-Event-ID",
                code="REPLAY_GAP",
                body={"oldest": oldest, "newest": newest},
            )
        return after

    async def follow(
        self, feed: Feed, after: int, *, heartbeat: float
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Everything behind `after`, in pages, each number once; an empty page is a heartbeat.

        Ends when the service stops. Raises Gap, Unavailable.
        """
        while not self.closed:
            page = await feed.behind(after)
            if page:
                after = page[-1].number
                yield page
            elif not await feed.wait(after, heartbeat):
                yield ()
