"""The file, its transactions, and the collections that callers hold."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import structlog

from placet.clock import Clock
from placet.errors import PlacetError, Unavailable
from placet.store.batches import Batches
from placet.store.port import Change, Collection, Document, Filter, Index, Sort, Update
from placet.store.sqlite.table import Table

R = TypeVar("R")
Work = Callable[[sqlite3.Connection, datetime], Any]

MOST = 100
"""Calls in one transaction: what the event loop can do without being missed."""

_log = structlog.get_logger(__name__)


class SQLiteDatabase:
    """All collections of one service in one file (or in memory, with `:memory:`).

    The file is locked for as long as it is open: a second process gets `Unavailable`. One
    transaction is under way at a time; calls that arrive meanwhile share the next one, and return
    when it is on disk.
    """

    def __init__(self, path: str | Path, *, clock: Clock) -> None:
        self._path = str(path)
        self._clock = clock
        self._tables: dict[str, SQLiteCollection] = {}
        self._thread: ThreadPoolExecutor | None = None
        self._db: sqlite3.Connection | None = None
        self._batches: Batches[Work, Any] = Batches(self._commit, most=MOST)

    def collection(self, name: str, indexes: Sequence[Index] = ()) -> Collection:
        """Declare a collection before `open`; the same name again gives the same collection."""
        if name not in self._tables:
            if self._db is not None:
                raise RuntimeError(f"declare the collection {name} before the database is opened")
            self._tables[name] = SQLiteCollection(Table(name, indexes), self)
        return self._tables[name]

    async def open(self) -> None:
        """Open the file and create tables and indexes; safe to repeat."""
        if self._db is not None:
            return
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="placet-sqlite")
        try:
            self._db = await asyncio.get_running_loop().run_in_executor(self._thread, self._connect)
        except (sqlite3.Error, OSError) as error:
            self._thread.shutdown()
            raise self._unavailable(error) from error

    def _connect(self) -> sqlite3.Connection:
        if self._path != ":memory:":
            Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self._path, isolation_level=None, timeout=1, check_same_thread=False)
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            for each in self._tables.values():
                each.table.create(db)
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _unavailable(self, error: Exception) -> Unavailable:
        hint = "; another process has it open" if "locked" in str(error) else ""
        return Unavailable(f"SQLite file {self._path}: {error}{hint}")

    async def ping(self) -> None:
        """Return if the file can be written to."""
        await self.run(lambda db, _: db.execute("SELECT 1").fetchone())

    async def now(self) -> datetime:
        """Return the time that `$$NOW` gives."""
        return self._clock.now()

    async def close(self) -> None:
        """Finish what is under way and close the file."""
        await self._batches.drain()
        db, thread = self._db, self._thread
        self._db = self._thread = None
        if db is not None and thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, db.close)
            thread.shutdown()

    async def run(self, work: Callable[[sqlite3.Connection, datetime], R]) -> R:
        """Do `work` in the next transaction; return when it is on disk."""
        result: R = await self._batches.submit(work)
        return result

    def soon(self, work: Work, about: str) -> None:
        """Do `work` in the next transaction and log a failure."""

        def done(future: asyncio.Future[Any]) -> None:
            if not future.cancelled() and (error := future.exception()) is not None:
                _log.warning("clear_failed", document=about, error=str(error))

        self._batches.submit(work).add_done_callback(done)

    async def _commit(self, batch: Sequence[Work]) -> list[Any]:
        """Do the work here, where it takes microseconds, and wait for the disk on the thread.

        A statement on another thread would wait for the interpreter's lock as often as it is
        handed back, which is longer than the statement takes.
        """
        thread, db = self._thread, self._db
        if thread is None or db is None:
            raise Unavailable(f"SQLite file {self._path} is not open")
        now = self._clock.now()
        try:
            db.execute("BEGIN IMMEDIATE")
            results = [_attempt(work, db, now) for work in batch]
            await asyncio.get_running_loop().run_in_executor(thread, db.execute, "COMMIT")
        except BaseException as error:
            self._roll_back(db)
            if isinstance(error, sqlite3.Error):
                raise self._unavailable(error) from error
            raise
        return results

    def _roll_back(self, db: sqlite3.Connection) -> None:
        if db.in_transaction:
            db.execute("ROLLBACK")
            for each in self._tables.values():
                each.table.reload(db)


def _attempt(work: Work, db: sqlite3.Connection, now: datetime) -> Any:
    # Each piece of work writes with one statement at most, after all that can go wrong, or takes
    # back itself what it wrote: what it raises leaves nothing behind for the others of the batch.
    try:
        return work(db, now)
    except (PlacetError, TypeError, ValueError, KeyError, AttributeError) as error:
        return error


class SQLiteCollection:
    """One table, for asynchronous callers; see `placet.store.port.Collection`."""

    def __init__(self, table: Table, database: SQLiteDatabase) -> None:
        self.table = table
        self._database = database

    async def get(self, id: str) -> Document | None:
        """Return the document with this `_id`, or None."""
        return (await self.get_many([id])).get(id)

    async def get_many(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return those of the documents that exist, by `_id`."""
        wanted = list(ids)
        return await self._database.run(lambda db, _: self.table.get(db, wanted))

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
        return await self._database.run(
            lambda db, now: self.table.find(
                db, where, now, sort=sort, limit=limit, fields=fields, by=by
            )
        )

    async def insert(self, document: Document) -> bool:
        """Store a new document; False if its `_id` or a unique key is taken."""
        return await self._database.run(lambda db, _: self.table.insert(db, document))

    async def update(self, id: str, where: Filter, change: Update) -> Document | None:
        """Change the document `id` in one write if it matches; return it as it is then."""
        return await self._database.run(
            lambda db, now: self.table.update(db, id, where, change, now)
        )

    async def update_all(self, changes: Sequence[Change]) -> list[Document | None]:
        """Change several documents, all of them or none."""
        return await self._database.run(lambda db, now: self.table.update_all(db, changes, now))

    async def clear(self, id: str, change: Update) -> None:
        """Change the document `id` in the next transaction, without waiting."""
        self._database.soon(lambda db, now: self.table.update(db, id, {}, change, now), id)

    async def delete(self, id: str, where: Filter) -> bool:
        """Delete the document `id` if it matches; False if nothing matched."""
        return await self._database.run(lambda db, now: self.table.delete(db, id, where, now))

    async def count(self, where: Filter, *, limit: int) -> int:
        """Count what matches, and stop at `limit`."""
        return await self._database.run(lambda db, now: self.table.count(db, where, now, limit))
