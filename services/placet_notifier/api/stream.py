"""One open stream: sends what its reader wants, and ends for one that does not read."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from placet.errors import Refused, Unavailable
from placet.process import logs
from placet.process.access import authenticate
from placet_notifier.metrics import NotifierMetrics
from placet_notifier.rules.filters import Entry, Wanted
from placet_notifier.usecases.feed import Feeds

HEARTBEAT = 15.0
SEND_WITHIN = 30.0
"""Seconds in which a reader must take what was sent. It goes on by Last-Event-ID."""
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
RETRY = b"retry: 2000\n\n"

_log = logs.get(__name__)


class EventStream(Response):
    """Server-sent events from a feed."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feeds: Feeds,
        metrics: NotifierMetrics,
        request: Request,
        namespace: str,
        after: int,
        *,
        wanted: Wanted,
        names: Mapping[str, str],
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._feeds = feeds
        self._metrics = metrics
        self._request = request
        self._namespace = namespace
        self._after = after
        self._wanted = wanted
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the reader goes, reads too slowly, is no longer allowed to, or we stop."""
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_until_gone(receive))
        self._metrics.streams.inc()
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._metrics.streams.dec()
            writing.cancel()
            leaving.cancel()
            await asyncio.wait({writing, leaving})
        if not writing.cancelled() and (error := writing.exception()) is not None:
            raise error

    async def _write(self, send: Send) -> None:
        try:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            async with contextlib.aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    await _send(send, chunk, more=True)
            await _send(send, b"", more=False)
        except TimeoutError:
            self._metrics.dropped()
            _log.info("stream_dropped", reason="the reader is too slow")

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        yield RETRY
        feed = await self._feeds.join(self._namespace)
        follow = self._feeds.follow(feed, self._after, heartbeat=HEARTBEAT)
        try:
            async with contextlib.aclosing(follow) as pages:
                async for page in pages:
                    if not page:
                        await self._still_allowed()
                        yield b": still here\n\n"
                    elif chunk := self._rendered(page):
                        yield chunk
        except (Refused, Unavailable) as error:
            # The reader comes back with its Last-Event-ID, and is told then what is wrong.
            yield f": {error}\n\n".encode()
        finally:
            self._feeds.leave(feed)

    def _rendered(self, page: Sequence[Entry]) -> bytes:
        return b"".join(self._event(entry) for entry in page if self._wanted.matches(entry))

    def _event(self, entry: Entry) -> bytes:
        name = self._names.get(entry.type, entry.type)
        return f"id: {entry.number}\nevent: {name}\ndata: {entry.body}\n\n".encode()

    async def _still_allowed(self) -> None:
        """A key that was revoked ends its streams, too. Raises Refused."""
        with contextlib.suppress(Unavailable):
            await authenticate(self._request)


async def _send(send: Send, body: bytes, *, more: bool) -> None:
    async with asyncio.timeout(SEND_WITHIN):
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
