"""The connection to one MongoDB, and the collections of one service on it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import PyMongoError

from placet.store.documents import OPTIONS
from placet.store.mongo.calls import Calls
from placet.store.mongo.collection import MongoCollection
from placet.store.mongo.failures import unavailable
from placet.store.port import Collection, Document, Index

_CLIENT: Final[dict[str, Any]] = {
    "appname": "placet",
    "w": "majority",
    "journal": True,
    "wTimeoutMS": 5000,
    "readConcernLevel": "majority",
    "readPreference": "primary",
    "retryWrites": True,
    "retryReads": True,
    # Few connections make full batches, which is what makes this store fast.
    "maxPoolSize": 8,
    "serverSelectionTimeoutMS": 3000,
    # Shorter than the time to find a server, so that one look at it falls into a call's patience.
    "heartbeatFrequencyMS": 2000,
    "connectTimeoutMS": 3000,
    "socketTimeoutMS": 10_000,
    "waitQueueTimeoutMS": 10_000,
}


class MongoDatabase:
    """One database of a MongoDB replica set, 6.0 or later.

    Writes are acknowledged by a majority with their journal on disk; reads go to the primary and
    see only what a majority has.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._server = urlsplit(url).netloc.rpartition("@")[2]
        self._collections: dict[str, MongoCollection] = {}
        self._client: AsyncMongoClient[Document] | None = None
        self._opened = False
        self._calls = Calls()

    def collection(self, name: str, indexes: Sequence[Index] = ()) -> Collection:
        """Declare a collection before `open`; the same name again gives the same collection."""
        if name not in self._collections:
            if self._opened:
                raise RuntimeError(f"declare the collection {name} before the database is opened")
            kept = self._database().get_collection(name, codec_options=OPTIONS)
            self._collections[name] = MongoCollection(kept, indexes, self._server, self._calls)
        return self._collections[name]

    def _database(self) -> AsyncDatabase[Document]:
        if self._client is None:
            self._client = AsyncMongoClient(self._url, **_CLIENT)
        return self._client.get_database(self._name)

    async def open(self) -> None:
        """Create the indexes that are missing; safe to repeat, and to call from many processes."""
        await self.ping()
        for each in self._collections.values():
            await each.create_indexes()
        self._opened = True

    async def ping(self) -> None:
        """Return if the primary answers; else raise `placet.errors.Unavailable`."""
        await self._hello()

    async def now(self) -> datetime:
        """Return the primary's time."""
        moment: datetime = (await self._hello())["localTime"]
        return moment

    async def _hello(self) -> dict[str, Any]:
        try:
            asked = self._database().command("hello", codec_options=OPTIONS)
            hello: dict[str, Any] = await self._calls(asked)
        except PyMongoError as error:
            raise unavailable(self._server, error) from error
        return hello

    async def close(self) -> None:
        """Let writes that are under way finish, then disconnect; safe to repeat."""
        for each in self._collections.values():
            await each.drain()
        await self._calls.drain()
        if self._client is not None:
            await self._client.close()
