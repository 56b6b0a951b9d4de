"""The adapter of `Interactions` on any document store."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from placet.clock import Clock
from placet.process import logs
from placet.store.port import Database, Document, Index
from placet_broker.ports import Query
from placet_broker.rules import deadlines, history, settling, standing_still
from placet_broker.rules.record import Address, Record, from_document, to_document
from placet_broker.rules.settling import Settlement
from placet_broker.store import rows

INDEXES = (
    Index((("namespace", 1), ("state", 1), ("opened_at", 1), ("_id", 1))),
    Index((("namespace", 1), ("agents", 1), ("opened_at", 1))),
    Index((("state", 1), ("opened_at", 1))),
    Index((("due", 1),)),
)
_Ending = Callable[[Record, Settlement, dict[str, Any]], rows.Row]
_SOONEST = timedelta(seconds=2)
_LATEST = timedelta(seconds=30)

_log = logs.get(__name__)


class StoredInteractions:
    """Interactions in the collection `interactions`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """`clock` should tell the database's time."""
        self._database = database
        self._clock = clock
        self.collection = database.collection("interactions", INDEXES)

    async def get(self, id: str) -> Record | None:
        """The record, from the primary."""
        found = await self.collection.get(id)
        return from_document(found) if found else None

    async def open(self, record: Record) -> bool:
        """B1: insert; False if the id is taken."""
        soon = self._clock.now() + timedelta(milliseconds=rows.SWEEP_AFTER_MS)
        return await self.collection.insert(to_document(record, due=soon))

    async def settle(self, record: Record, settlement: Settlement) -> Record | None:
        """B3."""
        return await self._end(rows.settle, record, settlement)

    async def settle_all(self, parts: Sequence[tuple[Record, Settlement]]) -> list[Record | None]:
        """B10."""
        now = self._clock.now()
        changes = {
            record.id: (
                record.id,
                *rows.settle(record, ending, settling.noted(record, ending, now)),
            )
            for record, ending in parts
        }
        ids = sorted(changes)
        images = await self.collection.update_all([changes[id] for id in ids])
        by_id = dict(zip(ids, images, strict=True))
        found = [by_id[record.id] for record, _ in parts]
        return [None if image is None else from_document(image) for image in found]

    async def extend(self, record: Record, expires_at: datetime, by: str) -> Record | None:
        """Move the deadline."""
        noted = deadlines.noted(record, expires_at, self._clock.now(), by)
        extended = deadlines.moved(record, expires_at)
        return await self._write(record.id, rows.extend(record, extended, expires_at, noted))

    async def thaw(self, record: Record, expires_at: datetime, now: datetime) -> Record | None:
        """Move the deadline by the time under a freeze."""
        noted = standing_still.noted(record, expires_at, now)
        request = deadlines.moved(record, expires_at)
        return await self._write(record.id, rows.thaw(record, request, expires_at, noted))

    async def expire(self, record: Record) -> Record | None:
        """B5."""
        return await self._end(rows.expire, record, settling.expiry(record))

    async def close(self, record: Record, settlement: Settlement) -> Record | None:
        """B6."""
        return await self._end(rows.close, record, settlement)

    async def bury(self, tombstone: Record) -> bool:
        """B6 for an unknown id."""
        return await self.open(tombstone)

    async def note(self, record: Record, what: str, by: str) -> Record | None:
        """B7."""
        entry = history.entry(record.head, what, self._clock.now(), by=by)
        return await self._write(record.id, rows.note(record, entry))

    async def refuse(self, record: Record, who: str, why: str) -> None:
        """A refused try, beside the history."""
        tried = {"at": self._clock.now(), "by": who, "why": why}
        await self._write(record.id, rows.refuse(tried))

    async def mark_applied(self, record: Record) -> Record | None:
        """B8."""
        entry = history.entry(record.head, "applied", self._clock.now())
        return await self._write(record.id, rows.mark_applied(record, entry))

    async def forget(self, record: Record) -> Record | None:
        """B9."""
        return await self._write(record.id, rows.forget(record))

    async def readdress(self, record: Record, address: Address) -> Record | None:
        """Reply to another address than the first."""
        return await self._write(
            record.id, rows.readdress(address.reply_to, address.correlation_id)
        )

    async def find(self, query: Query) -> list[Record]:
        """Pending ones oldest first, others newest first."""
        direction = 1 if query.state == "pending" else -1
        sort = [("opened_at", direction), ("_id", direction)]
        found = await self.collection.find(_where(query, direction), sort=sort, limit=query.limit)
        return [from_document(document) for document in found]

    async def due(self, limit: int) -> list[Record]:
        """Those whose outbox or deadline has waited too long."""
        return await self._due({}, limit)

    async def overdue(self, limit: int) -> list[Record]:
        """Those pending whose deadline has passed."""
        now = await self._database.now()
        return await self._due({"state": "pending", "expires_at": {"$lt": now}}, limit)

    async def next_due(self) -> float:
        """Seconds until the next becomes due."""
        now = await self._database.now()
        where = {"due": {"$gt": now}}
        found = await self.collection.find(where, sort=[("due", 1)], limit=1, fields=["due"])
        return (found[0]["due"] - now).total_seconds() if found else float("inf")

    async def postpone(self, record: Record, pause: timedelta | None = None) -> None:
        """Look at this one again later, at its deadline at the latest.

        Without a `pause` it is as long as the record's last change is past, 2 to 30 seconds, so that
        tries come at doubling ages.
        """
        now = self._clock.now()
        changed_at = record.resolution.at if record.resolution else record.opened_at
        until = now + (pause or min(max(now - changed_at, _SOONEST), _LATEST))
        if record.pending and record.expires_at is not None and record.expires_at > now:
            until = min(until, record.expires_at)
        await self.collection.update(record.id, {"rev": record.rev}, {"$set": {"due": until}})

    async def _due(self, where: dict[str, Any], limit: int) -> list[Record]:
        now = await self._database.now()
        found = await self.collection.find(
            {"due": {"$lte": now}, **where}, sort=[("due", 1)], limit=limit
        )
        records = [await self._readable(document) for document in found]
        return [record for record in records if record is not None]

    async def _readable(self, document: Document) -> Record | None:
        """The record; one that can't be read is put off, so that it stops no other."""
        try:
            return from_document(document)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one document
            # Without the text, which may quote an answer.
            _log.error(
                "interaction_unreadable", input_id=document["_id"], error=type(error).__name__
            )
            later = {"$set": {"due": self._clock.now() + _LATEST}}
            await self.collection.update(document["_id"], {}, later)
            return None

    async def _end(self, row: _Ending, record: Record, settlement: Settlement) -> Record | None:
        noted = settling.noted(record, settlement, self._clock.now())
        return await self._write(record.id, row(record, settlement, noted))

    async def _write(self, id: str, row: rows.Row) -> Record | None:
        written = await self.collection.update(id, *row)
        return from_document(written) if written else None


def _where(query: Query, direction: int) -> dict[str, Any]:
    # Tombstones have no body and are shown to nobody.
    where: dict[str, Any] = {"namespace": query.namespace, "request": {"$ne": ""}}
    if query.state:
        where["state"] = query.state
    if query.kind:
        where["kind"] = query.kind
    if query.agent:
        where["agents"] = query.agent
    if query.after:
        at, id = query.after
        beyond = "$gt" if direction > 0 else "$lt"
        where["$or"] = [
            {"opened_at": {beyond: at}},
            {"opened_at": at, "_id": {beyond: id}},
        ]
    return where
