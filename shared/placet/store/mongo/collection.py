"""One collection for its callers; see `placet.store.port.Collection` for the promises."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Coroutine, Iterable, Sequence
from typing import Any, Final, TypeVar

import structlog
from pymongo import IndexModel
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

from placet.store.batches import Batches
from placet.store.documents import OPTIONS
from placet.store.mongo.calls import Calls
from placet.store.mongo.failures import is_unknown, never_sent, translated
from placet.store.mongo.statements import OPS, Write, clearing, insertion, update
from placet.store.mongo.transaction import Transaction
from placet.store.mongo.writer import Writer
from placet.store.port import Change, Document, Filter, Index, Sort, Update, beginning_with

T = TypeVar("T")

_PRESENT: Final = {"$type": ["string", "number", "date", "bool", "binData", "object", "array"]}

_log = structlog.get_logger(__name__)


class MongoCollection:
    """Groups calls that arrive together; updates, inserts, reads by `_id` and clears apart."""

    def __init__(
        self,
        collection: AsyncCollection[Document],
        indexes: Sequence[Index],
        server: str,
        calls: Calls,
    ) -> None:
        self._indexes = tuple(indexes)
        self._kept = collection
        self._server = server
        self._calls = calls
        writer = Writer(collection, server)
        self._updates: Batches[Write, Document | None] = Batches(writer.update)
        self._inserts: Batches[Write, bool] = Batches(writer.insert)
        self._clears: Batches[Write, None] = Batches(writer.clear)
        self._gets: Batches[str, Document | None] = Batches(self._read)
        transaction = Transaction(collection, server)
        self._several: Batches[Sequence[Write], list[Document | None]] = Batches(
            transaction.run, most=1
        )

    async def create_indexes(self) -> None:
        """Create those that are missing."""
        if self._indexes:
            models = [_model(index) for index in self._indexes]
            await self._made(self._kept.create_indexes(models))

    async def get(self, id: str) -> Document | None:
        """Return the document with this `_id`, or None."""
        return await self._gets.submit(id)

    async def get_many(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return those of the documents that exist, by `_id`."""
        wanted = list(dict.fromkeys(ids))
        found = await asyncio.gather(*(self._gets.submit(id) for id in wanted))
        return {id: each for id, each in zip(wanted, found, strict=True) if each is not None}

    async def _read(self, ids: Sequence[str]) -> list[Document | None]:
        if len(ids) == 1:
            return [await self._answer(self._one(ids[0]))]
        cursor = self._kept.find({"_id": {"$in": list(set(ids))}}, {OPS: 0})
        found = {each["_id"]: each for each in await self._answer(cursor.to_list(None))}
        # Two callers of one document must not share it: each may change its own.
        wanted = Counter(ids)
        return [found.get(id) if wanted[id] == 1 else _copy(found.get(id)) for id in ids]

    async def _one(self, id: str) -> Document | None:
        """Read one document, far cheaper on both sides than through a cursor."""
        find = {"find": self._kept.name, "filter": {"_id": id}, "projection": {OPS: 0}, "limit": 1}
        command = {**find, "singleBatch": True, "readConcern": {"level": "majority"}}
        try:
            reply = await self._kept.database.command(command, codec_options=OPTIONS)
        except PyMongoError as error:
            if never_sent(error) or not is_unknown(error):
                raise
            # Once more, as the driver does by itself: the connection may have been an old one.
            return await self._kept.find_one({"_id": id}, {OPS: 0})
        batch = reply["cursor"]["firstBatch"]
        return batch[0] if batch else None

    async def _made(self, call: Coroutine[Any, Any, T]) -> T:
        """Make a call for somebody who may be cancelled."""
        return await self._calls(self._answer(call))

    async def _answer(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except PyMongoError as error:
            raise translated(self._server, error) from error

    async def find(
        self,
        where: Filter,
        *,
        sort: Sort = (),
        limit: int = 100,
        fields: Sequence[str] | None = None,
        by: str | None = None,
    ) -> list[Document]:
        """Return at most `limit` documents that match."""
        if limit <= 0:
            return []
        shown = {OPS: 0} if fields is None else dict.fromkeys(["_id", *fields], 1)
        hint = None if by is None else beginning_with(by, self._indexes).name
        cursor = self._kept.find(where, shown, limit=limit, sort=list(sort) or None, hint=hint)
        return await self._made(cursor.to_list(limit))

    async def insert(self, document: Document) -> bool:
        """Store a new document; False if its `_id` or a unique key is taken."""
        write = insertion(document)
        return await self._inserts.submit(write, size=write.size, key=write.id)

    async def update(self, id: str, where: Filter, change: Update) -> Document | None:
        """Change the document `id` in one write if it matches; return it as read after.

        The image may include later writes of others: compare `lease.op` before going on.
        """
        write = update(id, where, change)
        return await self._updates.submit(write, size=write.size, key=id)

    async def update_all(self, changes: Sequence[Change]) -> list[Document | None]:
        """Change several documents, all of them or none; one such transaction at a time."""
        return await self._several.submit([update(*change) for change in changes])

    async def clear(self, id: str, change: Update) -> None:
        """Change the document `id` soon, with `w=1`; a failure is logged."""
        write = clearing(id, change)
        answer = self._clears.submit(write, size=write.size)
        answer.add_done_callback(lambda done: _report(done, id))

    async def delete(self, id: str, where: Filter) -> bool:
        """Delete the document `id` if it matches; False if nothing matched."""
        result = await self._made(self._kept.delete_one({"_id": id, "$and": [where]}))
        return bool(result.deleted_count)

    async def count(self, where: Filter, *, limit: int) -> int:
        """Count what matches, and stop at `limit`."""
        if limit <= 0:
            return 0
        return await self._made(self._kept.count_documents(where, limit=limit))

    async def drain(self) -> None:
        """Return when nothing of this collection is under way."""
        for batches in (self._updates, self._inserts, self._clears, self._gets, self._several):
            await batches.drain()


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def _report(done: asyncio.Future[None], id: str) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        _log.warning("clear_failed", document=id, error=str(error))


def _model(index: Index) -> IndexModel:
    options: dict[str, Any] = {"name": index.name, "unique": index.unique}
    if index.sparse and index.unique:
        options["partialFilterExpression"] = {field: _PRESENT for field, _ in index.fields}
    elif index.sparse:
        options["sparse"] = True
    return IndexModel(list(index.fields), **options)
