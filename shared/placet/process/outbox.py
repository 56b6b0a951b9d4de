"""Publishes what a write left in its document's outbox, with confirms, then clears it by ids."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from placet.bus.port import Bus, Outgoing
from placet.errors import PlacetError, Unroutable
from placet.process import logs
from placet.process.crash import crash_point
from placet.process.metrics import Metrics
from placet.store.port import Collection, Document, Update

Clearing = Callable[[Sequence[str]], Update]
"""The change that takes the entries with these ids out of a document."""

CLEARED_AFTER = 0.9
"""Seconds; well below the age at which a sweep publishes an entry again."""

_log = logs.get(__name__)


def pull(ids: Sequence[str]) -> Update:
    """Take these entries out; others that were added meanwhile stay."""
    return {"$pull": {"outbox": {"id": {"$in": list(ids)}}}}


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one document's entries."""

    confirmed: tuple[str, ...]
    failed: tuple[str, ...]


class Relay:
    """One collection's way to the bus. What fails stays in the outbox for the sweep.

    `post` returns at once and is meant for right after the write; `send` waits for the confirms.
    A document's entries are published together, unordered. Publishing one twice is harmless: its
    `id` is the message's event id. What was confirmed is cleared a moment later, many documents at
    once, unless the document's next write takes it along: it asks `published` and tells `cleared`.
    """

    def __init__(
        self,
        collection: Collection,
        bus: Bus,
        metrics: Metrics,
        *,
        service: str,
        clearing: Clearing = pull,
    ) -> None:
        self._collection = collection
        self._bus = bus
        self._clearing = clearing
        self._tasks: set[asyncio.Task[Sent]] = set()
        self._under_way: set[str] = set()
        self._confirmed: dict[str, set[str]] = {}
        self._flushing: asyncio.Task[None] | None = None
        self._in_flight = metrics.gauge(
            "outbox_in_flight", "Outbox messages being published now.", ("service",)
        ).labels(service)
        self._failures = metrics.counter(
            "publish_failures",
            "Publishes that failed and wait for the sweep.",
            ("service", "reason"),
        )
        self._service = service

    def post(self, document_id: str, entries: Iterable[Document]) -> None:
        """Publish these entries in the background, which is where they are iterated over.

        So whoever waits for the write gets their reply first.
        """
        if entries:
            task = asyncio.get_running_loop().create_task(self.send(document_id, entries))
            self._tasks.add(task)
            task.add_done_callback(partial(self._posted, document_id))

    def _posted(self, document_id: str, task: asyncio.Task[Sent]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("outbox_unreadable", document=document_id, exc_info=error)

    async def send(self, document_id: str, entries: Iterable[Document]) -> Sent:
        """Publish, and say what was confirmed and what was not. Raises what iterating over them does.

        Entries that another task of this process is publishing, or that wait to be cleared, count
        as neither.
        """
        mine = [entry for entry in entries if entry["id"] not in self._under_way]
        self._under_way.update(entry["id"] for entry in mine)
        self._in_flight.inc(len(mine))
        results: Sequence[bool] = [False] * len(mine)
        try:
            results = await asyncio.gather(*(self._publish(entry) for entry in mine))
        finally:
            self._in_flight.dec(len(mine))
            failed = tuple(e["id"] for e, ok in zip(mine, results, strict=True) if not ok)
            self._under_way.difference_update(failed)
        confirmed = tuple(e["id"] for e, ok in zip(mine, results, strict=True) if ok)
        if confirmed:
            crash_point("outbox.published")
            self._confirmed.setdefault(document_id, set()).update(confirmed)
            self._flush_soon()
        return Sent(confirmed, failed)

    def published(self, document_id: str) -> tuple[str, ...]:
        """Entries of this document that were confirmed and are not cleared yet."""
        return tuple(self._confirmed.get(document_id, ()))

    def cleared(self, document_id: str, ids: Sequence[str]) -> None:
        """A write of the document took these out."""
        waiting = self._confirmed.get(document_id)
        if waiting is not None:
            waiting.difference_update(ids)
            if not waiting:
                del self._confirmed[document_id]
        self._under_way.difference_update(ids)

    async def drain(self) -> None:
        """Return when everything posted so far has been tried, and what was confirmed is cleared."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.gather(self._flushing, return_exceptions=True)
        await self._flush()

    def _flush_soon(self) -> None:
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush_later())

    async def _flush_later(self) -> None:
        await asyncio.sleep(CLEARED_AFTER)
        await self._flush()

    async def _flush(self) -> None:
        waiting = {document_id: tuple(ids) for document_id, ids in self._confirmed.items()}
        await asyncio.gather(*(self._clear(*each) for each in waiting.items()))
        if self._confirmed:
            self._flushing = asyncio.get_running_loop().create_task(self._flush_later())

    async def _clear(self, document_id: str, ids: Sequence[str]) -> None:
        try:
            await self._collection.clear(document_id, self._clearing(ids))
        except PlacetError as error:
            _log.warning("outbox_not_cleared", document=document_id, reason=str(error))
        except Exception as error:  # noqa: BLE001 - one document never stops the others
            _log.exception("outbox_not_cleared", document=document_id, error=type(error).__name__)
        self.cleared(document_id, ids)

    async def _publish(self, entry: Document) -> bool:
        try:
            await self._bus.publish(outgoing(entry))
        except Unroutable as error:
            self._failures.labels(self._service, error.code).inc()
            _log.warning("unroutable", event_id=entry["id"], type=entry["type"], reason=str(error))
            return bool(entry.get("optional"))
        except PlacetError as error:
            self._failures.labels(self._service, error.code).inc()
            _log.warning(
                "publish_failed", event_id=entry["id"], type=entry["type"], reason=str(error)
            )
            return False
        except Exception as error:  # noqa: BLE001 - such as what no client library can encode
            name = type(error).__name__
            self._failures.labels(self._service, name).inc()
            _log.exception("publish_crashed", event_id=entry["id"], error=name)
            return False
        return True


def outgoing(entry: Document) -> Outgoing:
    """The message of an outbox entry; the entry's id is its event id."""
    body = entry["body"]
    return Outgoing(
        exchange=entry["exchange"],
        key=entry["key"],
        type=entry["type"],
        body=body.encode() if isinstance(body, str) else bytes(body),
        event_id=entry["id"],
        correlation_id=entry.get("correlation_id"),
        reply_to=entry.get("reply_to"),
    )
