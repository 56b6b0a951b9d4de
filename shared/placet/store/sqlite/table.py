"""One collection as a SQLite table: what a transaction does, all of it synchronous."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from placet.errors import Conflict
from placet.store.documents import decode, encode_document
from placet.store.language import check_filter, matches, project, sort_key, updated
from placet.store.port import (
    BadStatement,
    Change,
    Document,
    Filter,
    Index,
    Sort,
    Update,
    beginning_with,
)
from placet.store.sqlite.columns import Column, ManyValues, column, elements, narrowed, quoted


class Table:
    """Documents in `doc` as BSON, and a column for each indexed field.

    A field that once held an array is `many`: a table of its elements takes the place of its
    column.
    """

    def __init__(self, name: str, indexes: Sequence[Index]) -> None:
        self.name = name
        self.indexes = list(indexes)
        self._fields = sorted({field for index in indexes for field, _ in index.fields} - {"_id"})
        self._unique = {f for index in indexes if index.unique for f, _ in index.fields}
        self._many: dict[str, str] = {}
        """Fields that once held an array, and the table of each one's elements."""
        names = ["_id", "doc", *self._fields]
        marks = ", ".join("?" * len(names))
        listed = ", ".join(map(quoted, names))
        self._insert = f"INSERT INTO {quoted(name)} ({listed}) VALUES ({marks})"  # noqa: S608
        changes = ", ".join(f"{quoted(each)} = ?" for each in names[1:])
        self._update = f"UPDATE {quoted(name)} SET {changes} WHERE _id = ?"  # noqa: S608
        self._select = f"SELECT doc FROM {quoted(name)}"  # noqa: S608

    def create(self, db: sqlite3.Connection) -> None:
        """Create the table, columns and indexes that are missing; drop indexes no longer wanted."""
        table = quoted(self.name)
        db.execute("CREATE TABLE IF NOT EXISTS placet_many (name TEXT, field TEXT) STRICT")
        db.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (_id TEXT PRIMARY KEY, doc BLOB NOT NULL) STRICT"
        )
        self.reload(db)
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        for field, elements_table in self._many.items():
            if elements_table not in tables:  # a file from before there were such tables
                self._fill_elements(db, field)
        there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        missing = [field for field in self._fields if field not in there]
        for field in missing:
            db.execute(f"ALTER TABLE {table} ADD COLUMN {quoted(field)} ANY")
        if missing:
            self._refill(db)
        self._index(db)

    def reload(self, db: sqlite3.Connection) -> None:
        """Read again which fields are `many`: after a rollback what was remembered may be wrong."""
        rows = db.execute("SELECT field FROM placet_many WHERE name = ?", (self.name,))
        self._many = {field: self._elements(field) for (field,) in rows}

    def _elements(self, field: str) -> str:
        return f"{self.name}.{field}"

    def _refill(self, db: sqlite3.Connection) -> None:
        for (data,) in db.execute(self._select).fetchall():
            document = decode(data)
            db.execute(self._update, (data, *self._columns(db, document), document["_id"]))

    def _index(self, db: sqlite3.Connection) -> None:
        wanted = {f"{self.name}:{index.name}": index for index in self.indexes}
        there = {
            name
            for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ?"
                " AND name LIKE '%:%'",
                (self.name,),
            )
        }
        for name in there - wanted.keys():
            db.execute(f"DROP INDEX {quoted(name)}")
        for name, index in wanted.items():
            if name not in there:
                db.execute(self._definition(name, index))

    def _definition(self, name: str, index: Index) -> str:
        fields = [quoted(field) for field, _ in index.fields]
        partial = " AND ".join(f"{field} IS NOT NULL" for field in fields)
        where = f" WHERE {partial}" if index.unique and index.sparse else ""
        if index.unique and not index.sparse:
            # To SQLite all NULLs differ; to MongoDB two missing values are the same one.
            fields = [f"ifnull({field}, x'01')" for field in fields]
        else:
            directions = ["ASC" if way > 0 else "DESC" for _, way in index.fields]
            fields = [f"{field} {way}" for field, way in zip(fields, directions, strict=True)]
        unique = "UNIQUE " if index.unique else ""
        listed = ", ".join(fields)
        return f"CREATE {unique}INDEX {quoted(name)} ON {quoted(self.name)} ({listed}){where}"

    def _columns(self, db: sqlite3.Connection, document: Mapping[str, Any]) -> list[Column]:
        return [self._column(db, document, field) for field in self._fields]

    def _column(self, db: sqlite3.Connection, document: Mapping[str, Any], field: str) -> Column:
        try:
            return column(document, field)
        except ManyValues:
            if field in self._unique:
                raise BadStatement(f"{field} is unique and cannot hold an array") from None
            if field not in self._many:
                self._become_many(db, field)
            return None

    def _become_many(self, db: sqlite3.Connection, field: str) -> None:
        """From the first array on, every document's elements are rows of their own."""
        db.execute("INSERT INTO placet_many VALUES (?, ?)", (self.name, field))
        self._many[field] = self._elements(field)
        self._fill_elements(db, field)

    def _fill_elements(self, db: sqlite3.Connection, field: str) -> None:
        name = self._many[field]
        table = quoted(name)
        db.execute(
            f"CREATE TABLE {table} (value ANY NOT NULL, id TEXT NOT NULL,"
            " PRIMARY KEY (value, id)) STRICT, WITHOUT ROWID"
        )
        db.execute(f"CREATE INDEX {quoted(name + '/id')} ON {table} (id)")
        for (data,) in db.execute(self._select).fetchall():
            self._add_elements(db, field, decode(data))

    def _add_elements(
        self, db: sqlite3.Connection, field: str, document: Mapping[str, Any]
    ) -> None:
        statement = f"INSERT INTO {quoted(self._many[field])} VALUES (?, ?)"  # noqa: S608
        rows = ((value, document["_id"]) for value in elements(document, field))
        db.executemany(statement, rows)

    def _drop_elements(self, db: sqlite3.Connection, id: str) -> None:
        for table in self._many.values():
            db.execute(f"DELETE FROM {quoted(table)} WHERE id = ?", (id,))  # noqa: S608

    def get(self, db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Document]:
        """Return the documents that exist, by `_id`."""
        found = {}
        for id in ids:
            row = db.execute(f"{self._select} WHERE _id = ?", (id,)).fetchone()
            if row is not None:
                found[id] = decode(row[0])
        return found

    def insert(self, db: sqlite3.Connection, document: Mapping[str, Any]) -> bool:
        """Store a new document; False if a key is taken."""
        data = encode_document(document)
        try:
            db.execute(self._insert, (document["_id"], data, *self._columns(db, document)))
        except sqlite3.IntegrityError:
            return False
        for field in self._many:
            self._add_elements(db, field, document)
        return True

    def update(
        self, db: sqlite3.Connection, id: str, where: Filter, change: Update, now: datetime
    ) -> Document | None:
        """Change the document `id` if it matches; return what is stored then."""
        check_filter(where)
        before = self.get(db, [id]).get(id)
        if before is None or not matches(before, where, now):
            return None
        data = encode_document(updated(before, change, now))
        after = decode(data)
        try:
            db.execute(self._update, (data, *self._columns(db, after), id))
        except sqlite3.IntegrityError as error:
            raise Conflict(f"{self.name} {id}: another document has this key ({error})") from error
        if self._many:
            self._drop_elements(db, id)
            for field in self._many:
                self._add_elements(db, field, after)
        return after

    def update_all(
        self, db: sqlite3.Connection, changes: Sequence[Change], now: datetime
    ) -> list[Document | None]:
        """Change several documents, or none if one does not match or can't be changed."""
        db.execute("SAVEPOINT several")
        images: list[Document | None] = []
        try:
            images = [self.update(db, *change, now) for change in changes]
        finally:
            if len(images) < len(changes) or None in images:
                db.execute("ROLLBACK TO several")
                self.reload(db)
            db.execute("RELEASE several")
        return images

    def delete(self, db: sqlite3.Connection, id: str, where: Filter, now: datetime) -> bool:
        """Delete the document `id` if it matches."""
        before = self.get(db, [id]).get(id)
        if before is None or not matches(before, where, now):
            return False
        db.execute(f"DELETE FROM {quoted(self.name)} WHERE _id = ?", (id,))  # noqa: S608
        self._drop_elements(db, id)
        return True

    def find(
        self,
        db: sqlite3.Connection,
        where: Filter,
        now: datetime,
        *,
        sort: Sort,
        limit: int,
        fields: Sequence[str] | None,
        by: str | None = None,
    ) -> list[Document]:
        """Return at most `limit` documents that match, sorted; found by the index of `by`, if given."""
        columns = self._usable()
        by_sql = all(field in columns for field, _ in sort)
        found = self._matching(db, where, now, sort if by_sql else (), by)
        if by_sql:
            chosen = [document for _, document in zip(range(limit), found, strict=False)]
        else:
            chosen = _first(found, sort, limit)
        return chosen if fields is None else [project(each, fields) for each in chosen]

    def count(self, db: sqlite3.Connection, where: Filter, now: datetime, limit: int) -> int:
        """Count what matches, up to `limit`."""
        return sum(1 for _ in zip(range(limit), self._matching(db, where, now, ()), strict=False))

    def _usable(self) -> frozenset[str]:
        return frozenset({"_id", *self._fields} - self._many.keys())

    def _finding(self, by: str | None) -> frozenset[str]:
        """The fields whose conditions may find documents: those of the index that begins with `by`."""
        if by is None:
            return self._usable()
        index = beginning_with(by, self.indexes)
        return frozenset() if by in self._many else frozenset(field for field, _ in index.fields)

    def _matching(
        self,
        db: sqlite3.Connection,
        where: Filter,
        now: datetime,
        sort: Sort,
        by: str | None = None,
    ) -> Iterator[Document]:
        check_filter(where)
        conditions = narrowed(where, self._usable(), self._many, self._finding(by))
        sql = self._select
        if conditions:
            sql += " WHERE " + " AND ".join(text for text, _ in conditions)
        if sort:
            sql += " ORDER BY " + ", ".join(
                f"{quoted(field)} {'ASC' if way > 0 else 'DESC'}" for field, way in sort
            )
        values = [value for _, given in conditions for value in given]
        for (data,) in db.execute(sql, values):
            document = decode(data)
            if matches(document, where, now):
                yield document


def _first(documents: Iterator[Document], sort: Sort, limit: int) -> list[Document]:
    ordered = list(documents)
    for field, way in reversed(sort):
        ordered.sort(key=lambda each: sort_key(each, field, way), reverse=way < 0)
    return ordered[:limit]
