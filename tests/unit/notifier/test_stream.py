"""An open stream ends for a reader that goes or does not read, and holds nothing then."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client.exposition import generate_latest
from starlette.requests import Request

from placet.messages import Event
from placet.process.metrics import Metrics
from placet_notifier.api import stream
from placet_notifier.metrics import NotifierMetrics
from placet_notifier.ports import Page
from placet_notifier.rules.filters import Entry, Wanted
from placet_notifier.usecases.feed import Feeds
from tests.support.eventually import eventually

pytestmark = pytest.mark.unit

AT_ONCE = 20


class Log:
    """Ten events that are there already."""

    async def append(self, namespace: str, events: Sequence[Event]) -> int:
        raise NotImplementedError

    newest = 10

    async def after(self, namespace: str, number: int) -> Page:
        numbers = range(number + 1, min(self.newest, number + AT_ONCE) + 1)
        entries = [Entry(n, f"e{n}", "run.started", "a", "r", "r", "{}") for n in numbers]
        return Page(entries, more=len(entries) == AT_ONCE)

    async def span(self, namespace: str) -> tuple[int, int]:
        return (1, 10)

    async def forget(self, *, limit: int) -> int:
        return 0


class Growing(Log):
    """Events that come as the test says; each read can be waited for."""

    def __init__(self) -> None:
        self.newest, self.reads = 0, asyncio.Semaphore(0)

    async def after(self, namespace: str, number: int) -> Page:
        self.reads.release()
        return await super().after(namespace, number)

    async def span(self, namespace: str) -> tuple[int, int]:
        return (1, 0)


async def test_what_was_stored_is_read_once_and_a_full_page_is_read_on() -> None:
    log = Growing()
    feeds = Feeds(log, poll=3600)
    feed = await feeds.join("default")
    await log.reads.acquire()
    for log.newest, reads in ((1, 1), (2, 1), (2 + AT_ONCE, 2), (5 + 3 * AT_ONCE, 3)):
        feeds.stored("default")
        async with asyncio.timeout(10):
            for _ in range(reads):
                await log.reads.acquire()
        assert feed.last == log.newest
    feeds.leave(feed)
    assert log.reads.locked(), "nothing was read in vain"


def opened(feeds: Feeds, metrics: Metrics) -> stream.EventStream:
    request = Request({"type": "http", "method": "GET", "headers": []})
    return stream.EventStream(
        feeds, NotifierMetrics(metrics), request, "default", 0, wanted=Wanted(), names={}
    )


async def silent() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_reader_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SEND_WITHIN", 0.05)
    feeds, metrics, sent = Feeds(Log(), poll=1), Metrics(), list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)
        if b"data" in message.get("body", b""):
            await asyncio.Event().wait()

    async with asyncio.timeout(5):
        await opened(feeds, metrics)({"type": "http"}, silent, send)
    assert sent[-1]["body"].count(b"data:") == 10
    text = generate_latest(metrics.registry)
    assert b"placet_sse_dropped_total 1.0" in text
    assert b"placet_sse_connections 0.0" in text
    assert not feeds._feeds


async def test_a_stream_ends_when_its_reader_goes() -> None:
    feeds, gone, sent = Feeds(Log(), poll=1), asyncio.Event(), list[Any]()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    running = asyncio.create_task(opened(feeds, Metrics())({"type": "http"}, receive, send))
    await eventually(lambda: len(sent) == 3)
    gone.set()
    async with asyncio.timeout(5):
        await running
    assert not feeds._feeds
