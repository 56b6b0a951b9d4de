"""Batches of writes on one collection: sent as one command, told apart by operation id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure, PyMongoError

from placet.store.documents import OPTIONS
from placet.store.mongo.failures import (
    DUPLICATE,
    is_unknown,
    never_sent,
    refusal,
    translated,
    unavailable,
    unknown_code,
)
from placet.store.mongo.statements import OPS, Write
from placet.store.port import Document

PATIENCE: Final = 10.0
"""Seconds from the first try of a batch in which it may be sent again."""
DURABLE: Final[Mapping[str, Any]] = {"w": "majority", "j": True, "wtimeout": 5000}
FAST: Final[Mapping[str, Any]] = {"w": 1}

Results = list[Any]
"""One entry for each write: its result, or the exception that its caller gets."""


class _Unsettled(Exception):
    """A reply that leaves open whether writes will stand."""


class Writer:
    """Sends writes until their outcome is known or patience ends."""

    def __init__(self, collection: AsyncCollection[Document], server: str) -> None:
        self._collection = collection
        self._server = server

    async def update(self, batch: Sequence[Write]) -> Results:
        """Apply conditional updates; the result is the image after, or None."""
        if len(batch) > 1:
            return await self._until_known(batch, self._update)
        try:
            return [await self._alone(batch[0])]
        except _Unsettled:
            return await self._until_known(batch, self._update, attempt=1)
        except PyMongoError as error:
            if is_unknown(error) and not never_sent(error):
                return await self._until_known(batch, self._update, attempt=1)
            return [translated(self._server, error)]

    async def insert(self, batch: Sequence[Write]) -> Results:
        """Store new documents; the result is True, or False where a key is taken."""
        return await self._until_known(batch, self._insert)

    async def clear(self, batch: Sequence[Write]) -> Results:
        """Apply updates without condition, once, without waiting for other members."""
        try:
            reply = await self._command("update", "updates", batch, FAST)
        except PyMongoError as error:
            return [translated(self._server, error)] * len(batch)
        failed = self._failed(reply)
        return [failed.get(at) for at in range(len(batch))]

    async def _alone(self, write: Write) -> Document | None:
        # Not the driver's own function: it would encode again, and have the server keep an image for
        # a retry that our operation id makes needless.
        reply = await self._run(
            {
                "findAndModify": self._collection.name,
                "query": write.where,
                "update": write.change,
                "new": True,
                "fields": {OPS: 0},
                "writeConcern": DURABLE,
            }
        )
        self._failed(reply)
        image: Document | None = reply["value"]
        return image

    async def _until_known(self, batch: Sequence[Write], send: Any, *, attempt: int = 0) -> Results:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                results: Results = await send(batch, again=attempt > 0)
                return results
            except OperationFailure as error:
                if not is_unknown(error):
                    return await self._one_by_one(batch, send, error)
                last: Exception = error
            except (PyMongoError, _Unsettled) as error:
                last = error
            attempt += 1
            late = asyncio.get_running_loop().time() > deadline
            if late or not self._worth_repeating(last, attempt):
                return [self._given_up(last)] * len(batch)
            await asyncio.sleep(min(1.0, 0.05 * 2**attempt))

    @staticmethod
    def _worth_repeating(error: Exception, attempt: int) -> bool:
        """A batch that never left may be given back at once; one that may have landed is not."""
        if not isinstance(error, PyMongoError):
            return True
        return is_unknown(error) and not (attempt == 1 and never_sent(error))

    def _given_up(self, error: Exception) -> Exception:
        if isinstance(error, PyMongoError):
            return translated(self._server, error)
        return unavailable(self._server, error)

    async def _one_by_one(self, batch: Sequence[Write], send: Any, error: Exception) -> Results:
        """Find whose fault it was that the whole command was refused."""
        if len(batch) == 1:
            return [self._given_up(error)]
        return [(await self._until_known([write], send))[0] for write in batch]

    async def _update(self, batch: Sequence[Write], *, again: bool) -> Results:
        reply = await self._command("update", "updates", batch, DURABLE)
        failed = self._failed(reply)
        images = await self.images([write.id for write in batch])
        # All matched, and nobody pushed an id out since: the count says so even if one did.
        all_matched = not again and not failed and reply.get("n") == len(batch)
        results: Results = []
        for at, write in enumerate(batch):
            image = images.get(write.id)
            ops = image.pop(OPS, ()) if image is not None else ()
            stands = all_matched or write.op in ops
            results.append(failed.get(at) or (image if stands else None))
        return results

    async def _insert(self, batch: Sequence[Write], *, again: bool) -> Results:
        reply = await self._command("insert", "documents", batch, DURABLE)
        failed = self._failed(reply, expected=DUPLICATE)
        taken = [each["index"] for each in reply.get("writeErrors", ())]
        mine: set[int] = set()
        if again and taken:
            # The key may be taken by the first copy of this very insert.
            images = await self.images([batch[at].id for at in taken])
            mine = {op for image in images.values() for op in image.get(OPS, ())}
        return [
            failed.get(at) or at not in taken or write.op in mine for at, write in enumerate(batch)
        ]

    async def images(self, ids: Sequence[str]) -> dict[str, Document]:
        """Read documents by `_id`, with their operation ids."""
        cursor = self._collection.find({"_id": {"$in": list(ids)}})
        return {image["_id"]: image for image in await cursor.to_list(None)}

    async def _command(
        self, name: str, field: str, batch: Sequence[Write], concern: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        return await self._run(
            {
                name: self._collection.name,
                field: [write.statement for write in batch],
                "ordered": False,
                "writeConcern": concern,
            }
        )

    async def _run(self, command: dict[str, Any]) -> Mapping[str, Any]:
        database = self._collection.database
        reply: dict[str, Any] = await database.command(command, codec_options=OPTIONS)
        return reply

    def _failed(
        self, reply: Mapping[str, Any], *, expected: int | None = None
    ) -> dict[int, Exception]:
        """Return the refused writes of a batch by position; raise if the outcome is open."""
        errors = reply.get("writeErrors", ())
        for failure in [*errors, reply.get("writeConcernError", {})]:
            if unknown_code(failure):
                raise _Unsettled(failure.get("errmsg"))
        return {
            each["index"]: refusal(self._server, each["code"], each.get("errmsg", ""))
            for each in errors
            if each["code"] != expected
        }
