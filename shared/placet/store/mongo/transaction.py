"""Several conditional writes of one collection, all of them or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from pymongo import ReturnDocument
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from placet.store.mongo.failures import is_unknown, never_sent, translated, unavailable
from placet.store.mongo.statements import OPS, Write
from placet.store.mongo.writer import DURABLE, PATIENCE
from placet.store.port import Document

Images = list[Document | None]
_AGAIN: Final = ("TransientTransactionError", "UnknownTransactionCommitResult")


class Transaction:
    """Runs transactions until their outcome is known or patience ends.

    Each write leaves its operation id in its document, so a transaction whose commit went through
    unheard is recognised when it is run again, and changes nothing then.
    """

    def __init__(self, collection: AsyncCollection[Document], server: str) -> None:
        self._collection = collection
        self._server = server

    async def run(self, batch: Sequence[Sequence[Write]]) -> list[Images | Exception]:
        """Run them one after another; the result of each, or what its caller gets raised."""
        return [await self._until_known(writes) for writes in batch]

    async def _until_known(self, writes: Sequence[Write]) -> Images | Exception:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        attempt = 0
        while True:
            try:
                return await self._once(writes)
            except PyMongoError as error:
                last = error
            attempt += 1
            late = asyncio.get_running_loop().time() > deadline
            if late or not _worth_repeating(last, attempt):
                contested = any(last.has_error_label(label) for label in _AGAIN)
                return (unavailable if contested else translated)(self._server, last)
            await asyncio.sleep(min(1.0, 0.02 * 2**attempt))

    async def _once(self, writes: Sequence[Write]) -> Images:
        async with self._collection.database.client.start_session() as session:
            await session.start_transaction(ReadConcern("snapshot"), WriteConcern(**DURABLE))
            images = [await self._apply(write, session) for write in writes]
            if None in images:
                await session.abort_transaction()
            else:
                await session.commit_transaction()
        return images

    async def _apply(self, write: Write, session: Any) -> Document | None:
        image: Document | None = await self._collection.find_one_and_update(
            write.where,
            write.change,
            projection={OPS: 0},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        if image is None:
            landed = {"_id": write.id, OPS: write.op}
            image = await self._collection.find_one(landed, {OPS: 0}, session=session)
        return image


def _worth_repeating(error: PyMongoError, attempt: int) -> bool:
    """One that never left may be given back at once; one that may have landed is not."""
    if attempt == 1 and never_sent(error):
        return False
    return is_unknown(error) or any(error.has_error_label(label) for label in _AGAIN)
