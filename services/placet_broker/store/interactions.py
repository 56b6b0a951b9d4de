"""The adapter of `Interactions` on any document store."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from placet import audit
from placet.clock import Clock
from placet.process import logs
from placet.store.port import Database, Document
from placet_broker.ports import Query, Trail
from placet_broker.rules import deadlines, escalating, finding, settling, timing
from placet_broker.rules.documents import from_document, to_document
from placet_broker.rules.record import Address, Claim, Link, Record
from placet_broker.rules.settling import Settlement
from placet_broker.rules.voting import Ballot
from placet_broker.store import rows
from placet_broker.store.listing import INDEXES, listed, merged, streams, trail_of

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
        shown = {"words": finding.words(record), "next_at": timing.next_at(record)}
        return await self.collection.insert(to_document(record, due=soon) | shown)

    async def settle(self, record: Record, settlement: Settlement) -> Record | None:
        """B3."""
        return await self._end(rows.settle, record, settlement)

    async def vote(self, record: Record, ballot: Ballot) -> Record | None:
        """B4."""
        return await self._write(record.id, _decision(record, ballot, self._clock.now()))

    async def settle_all(
        self, parts: Sequence[tuple[Record, Settlement | Ballot]]
    ) -> list[Record | None]:
        """B10."""
        now = self._clock.now()
        changes = {record.id: (record.id, *_decision(record, part, now)) for record, part in parts}
        ids = sorted(changes)
        images = await self.collection.update_all([changes[id] for id in ids])
        by_id = dict(zip(ids, images, strict=True))
        found = [by_id[record.id] for record, _ in parts]
        return [None if image is None else from_document(image) for image in found]

    async def extend(self, record: Record, expires_at: datetime, by: str) -> Record | None:
        """Move the deadline."""
        after = deadlines.moved(record, expires_at)
        noted = deadlines.noted(record, after, "extended", self._clock.now(), by)
        return await self._write(record.id, rows.extend(after, noted))

    async def thaw(self, record: Record, expires_at: datetime, now: datetime) -> Record | None:
        """Move the deadline by the time under a freeze."""
        after = deadlines.moved(record, expires_at)
        noted = deadlines.noted(record, after, "frozen", now)
        return await self._write(record.id, rows.thaw(after, noted))

    async def expire(self, record: Record, at: datetime | None = None) -> Record | None:
        """B5."""
        at = at or record.expires_at
        if at is None:
            return None
        settlement = settling.expiry(record)
        noted = settling.noted(record, settlement, self._clock.now())
        return await self._write(record.id, rows.expire(record, at, settlement, noted))

    async def remind(self, record: Record, at: datetime, number: int) -> Record | None:
        """One more reminder."""
        entry = audit.entry(record.head, "reminded", self._clock.now(), number=str(number))
        return await self._write(record.id, rows.remind(record, at, number, entry))

    async def climb(self, record: Record, at: datetime, after: Record) -> Record | None:
        """The next escalation step."""
        entry = escalating.noted(record, after, self._clock.now())
        return await self._write(record.id, rows.climb(record, at, after, entry))

    async def edit_audience(self, record: Record, after: Record, by: str) -> Record | None:
        """Other approvers."""
        entry = escalating.edited(record, after, self._clock.now(), by)
        return await self._write(record.id, rows.edit_audience(after, entry))

    async def claim(self, record: Record, claim: Claim | None, by: str) -> Record | None:
        """B7: who is looking at it."""
        what = "claimed" if claim else "released"
        entry = audit.entry(record.head, what, self._clock.now(), by=by)
        return await self._write(record.id, rows.claim(record, claim, entry))

    async def relink(
        self, record: Record, links: Sequence[Link], what: str, by: str | None, link: str
    ) -> Record | None:
        """B7: other links."""
        entry = audit.entry(record.head, what, self._clock.now(), by=by, link=link)
        return await self._write(record.id, rows.relink(record, links, entry))

    async def close(self, record: Record, settlement: Settlement) -> Record | None:
        """B6."""
        return await self._end(rows.close, record, settlement)

    async def bury(self, tombstone: Record) -> bool:
        """B6 for an unknown id."""
        return await self.open(tombstone)

    async def note(self, record: Record, what: str, by: str) -> Record | None:
        """B7."""
        shown = {"shown": record.shown_digest, "request": audit.digest(record.request_json)}
        entry = audit.entry(record.head, what, self._clock.now(), by=by, **shown)
        return await self._write(record.id, rows.note(record, entry))

    async def refuse(self, record: Record, who: str, why: str) -> None:
        """A refused try, beside the history."""
        tried = {"at": self._clock.now(), "by": who, "why": why}
        await self._write(record.id, rows.refuse(tried))

    async def mark_applied(self, record: Record) -> Record | None:
        """B8."""
        entry = audit.entry(record.head, "applied", self._clock.now())
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
        """Pending ones oldest first, others newest first.

        Each state, and each word by which somebody is named, is a stream of the index in this order; the
        page is merged of their keys, and only its own documents are read: its cost follows its length,
        not what is kept nor by how many words somebody is named.
        """
        return [from_document(document) for document in await self._found(query)]

    async def trail(self, id: str) -> Trail | None:
        """One interaction with its chain."""
        found = await self.collection.get(id)
        return trail_of(found) if found else None

    async def trails(self, query: Query) -> list[Trail]:
        """The same of a list."""
        return [trail_of(document) for document in await self._found(query)]

    async def _found(self, query: Query) -> list[Document]:
        direction = 1 if query.oldest_first or query.state == "pending" else -1
        sort = [("opened_at", direction), ("_id", direction)]
        find, wanted = self.collection.find, list(streams(query, direction))
        if len(wanted) == 1:
            return await find(wanted[0], sort=sort, limit=query.limit)
        while True:
            keys = await asyncio.gather(
                *(find(each, sort=sort, limit=query.limit, fields=["opened_at"]) for each in wanted)
            )
            ids = merged(keys, query.limit, direction)
            found = await find({"_id": {"$in": ids}, **listed(query)}, limit=len(ids))
            # What changed between the two reads may be of another list now, and a page that is
            # shorter for it would look like the last.
            if len(found) == len(ids):
                return sorted(found, key=lambda document: ids.index(document["_id"]))

    async def due(self, limit: int) -> list[Record]:
        """Those whose outbox or deadline has waited too long."""
        return await self._due({}, limit)

    async def overdue(self, limit: int) -> list[Record]:
        """Those pending whose deadline has passed."""
        now = await self._database.now()
        return await self._due({"state": "pending", "next_at": {"$lt": now}}, limit)

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
        turn = timing.next_at(record) if record.pending else None
        if turn is not None and turn > now:
            until = min(until, turn)
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


def _decision(record: Record, part: Settlement | Ballot, now: datetime) -> rows.Row:
    """B3 or B4, whichever the answer amounts to."""
    if isinstance(part, Ballot):
        noted = settling.noted_vote(record, part.latest, now, part.voided)
        return rows.vote(record, part.votes, part.links, noted)
    return rows.settle(record, part, settling.noted(record, part, now))
