"""Events in numbered chunks: one insert for what arrived together, and the numbers have no gap.

A chunk's `_id` is its first number, which is the last of the chunk before plus 1. Two replicas that
append at the same moment want the same `_id`: one of them gets it, the other looks again. A chunk is
there as a whole or not at all, so no reader ever sees a number before the ones below it.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from placet.clock import Clock
from placet.messages import Event, encode
from placet.store.port import Database, Document, Index
from placet_notifier.ports import Page
from placet_notifier.rules.filters import Entry

PAGE = 10
"""Chunks that are read at once."""
REMEMBERED = 30.0
"""Seconds for which a replica trusts what it knows of a namespace's end; far below any retention."""
_POSTPONED = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Tail:
    last: int
    read_at: float


class StoredEvents:
    """The log of every namespace.

    No event is stored twice: whoever appends has looked for its id in every chunk up to the end that
    it knows of, and its insert only succeeds if that is the end still.
    """

    def __init__(self, database: Database, clock: Clock, retention: timedelta) -> None:
        self._clock = clock
        self._retention = retention
        forget = Index((("forget_at", 1),))
        self._chunks = database.collection(
            "events", [Index((("namespace", 1), ("last", 1))), Index((("events.id", 1),)), forget]
        )
        self._tails: dict[str, _Tail] = {}

    async def append(self, namespace: str, events: Sequence[Event]) -> int:
        """Store those that are not there yet; how many."""
        given = {event.id: event for event in events}
        while True:
            last = await self._tail(namespace)
            known = await self._known(namespace, given)
            fresh = [event for id, event in given.items() if id not in known]
            if not fresh:
                return 0
            # Whatever comes of it, what was known of the end may not hold any more.
            self._tails.pop(namespace, None)
            if await self._chunks.insert(self._chunk(namespace, last + 1, fresh)):
                self._remember(namespace, last + len(fresh))
                return len(fresh)

    async def _known(self, namespace: str, ids: Collection[str]) -> set[str]:
        where = {"events.id": {"$in": list(ids)}, "namespace": namespace}
        found = await self._chunks.find(where, fields=["events.id"], limit=len(ids))
        return {event["id"] for chunk in found for event in chunk["events"]}

    async def after(self, namespace: str, number: int) -> Page:
        """A page of the events behind `number`, in order and without a gap."""
        where = {"namespace": namespace, "last": {"$gt": number}}
        entries: list[Entry] = []
        chunks = await self._chunks.find(where, sort=[("last", 1)], limit=PAGE)
        for chunk in chunks:
            if entries and chunk["first"] != entries[-1].number + 1:
                # One between was deleted while this was read; the next page says so.
                return Page(entries, more=True)
            entries += [entry for entry in _entries(chunk) if entry.number > number]
        return Page(entries, more=len(chunks) == PAGE)

    async def span(self, namespace: str) -> tuple[int, int]:
        """The oldest and the newest number that is kept; (1, 0) without any."""
        oldest, newest = await asyncio.gather(self._end(namespace, 1), self._end(namespace, -1))
        return (oldest["first"], newest["last"]) if oldest and newest else (1, 0)

    async def forget(self, *, limit: int) -> int:
        """Delete chunks past their time, never a namespace's newest; how many."""
        past = {"forget_at": {"$lt": self._clock.now()}}
        sort = [("forget_at", 1)]
        chunks = await self._chunks.find(
            past, sort=sort, limit=limit, fields=["namespace", "last", "forget_at"]
        )
        # Oldest first and one after the other: what is left has no hole in it.
        for chunk in chunks:
            await self._forget(chunk)
        return len(chunks)

    async def _forget(self, chunk: Document) -> None:
        newest = await self._end(chunk["namespace"], -1)
        if newest is None or newest["_id"] != chunk["_id"]:
            await self._chunks.delete(chunk["_id"], {})
            return
        # The numbers go on from it.
        later = self._clock.now() + _POSTPONED
        await self._chunks.update(chunk["_id"], {}, {"$set": {"forget_at": later}})

    async def _tail(self, namespace: str) -> int:
        known = self._tails.get(namespace)
        if known and self._clock.monotonic() - known.read_at < REMEMBERED:
            return known.last
        newest = await self._end(namespace, -1)
        if newest is None:
            return 0
        last: int = newest["last"]
        self._remember(namespace, last)
        return last

    def _remember(self, namespace: str, last: int) -> None:
        self._tails[namespace] = _Tail(last, self._clock.monotonic())

    async def _end(self, namespace: str, direction: int) -> Document | None:
        found = await self._chunks.find(
            {"namespace": namespace},
            sort=[("last", direction)],
            limit=1,
            fields=["first", "last"],
        )
        return found[0] if found else None

    def _chunk(self, namespace: str, first: int, events: Sequence[Event]) -> Document:
        return {
            "_id": f"{namespace}:{first:012d}",
            "namespace": namespace,
            "first": first,
            "last": first + len(events) - 1,
            "events": [_stored(event) for event in events],
            "forget_at": self._forget_at(),
        }

    def _forget_at(self) -> Any:
        return self._clock.now() + self._retention


def _stored(event: Event) -> dict[str, str]:
    return {
        "id": event.id,
        "type": event.type.value,
        "agent_id": event.agent_id,
        "run_id": event.run_id,
        "root_run_id": event.root_run_id,
        "body": encode(event).decode(),
    }


def _entries(chunk: Document) -> list[Entry]:
    return [Entry(chunk["first"] + at, **event) for at, event in enumerate(chunk["events"])]
