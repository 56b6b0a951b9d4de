"""What a document store must do, in MongoDB's words: the one place that states its promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from placet.errors import PlacetError

Document = dict[str, Any]
Filter = Mapping[str, Any]
"""MongoDB's filter language; `placet.store.language` lists the part that every store has."""
Update = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Update operators (`{"$set": ...}`), or an aggregation pipeline (`[{"$set": ...}]`)."""
Change = tuple[str, Filter, Update]
"""One document's part of a transaction: its `_id`, what it must match, how it changes."""
Sort = Sequence[tuple[str, int]]
"""Dotted fields with 1 (ascending) or -1 (descending); a missing field sorts as null."""


class BadStatement(PlacetError):
    """A filter or an update that no store can carry out: a bug of the caller, nothing to retry.

    Raised for an operator outside the common subset and for operands of the wrong type
    (`$size` of a number, `$inc` of a string). Nothing was written.
    """

    code = "bad_statement"


@dataclass(frozen=True, slots=True)
class Index:
    """Fields that queries need fast, or that must be unique.

    `fields` are dotted paths with 1 or -1. With `unique`, a missing field counts as null, so only
    one document may lack it; with `unique` and `sparse`, documents in which any of the fields is
    missing or null do not take part. `sparse` alone only saves room.
    """

    fields: tuple[tuple[str, int], ...]
    unique: bool = False
    sparse: bool = False

    @property
    def name(self) -> str:
        """A stable name, the same on every store: `due_1`, `agent_1_status_1_unique`."""
        words = [f"{field}_{direction}" for field, direction in self.fields]
        words += ["unique"] * self.unique + ["sparse"] * self.sparse
        return "_".join(words)


def beginning_with(field: str, indexes: Iterable[Index]) -> Index:
    """The first index whose first field this is. Raises BadStatement: there is none."""
    found = next((index for index in indexes if index.fields[0][0] == field), None)
    if found is None:
        raise BadStatement(f"no index begins with {field}")
    return found


class Collection(Protocol):
    """Documents with a string `_id`.

    Datetimes are aware UTC with milliseconds. Reads go to the primary and see only what is
    stored for good. Unless said otherwise a call returns when a write is durable on a majority,
    and every call raises `placet.errors.Unavailable` in bounded time when the server is away;
    after that a write may still have happened, so its condition must make a repetition harmless.
    Cancelling a caller does not take back a write that it has begun.
    """

    async def get(self, id: str) -> Document | None:
        """Return the document with this `_id`, or None."""

    async def get_many(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return those of the documents that exist, by `_id`."""

    async def find(
        self,
        where: Filter,
        *,
        sort: Sort = (),
        limit: int = 100,
        fields: Sequence[str] | None = None,
        by: str | None = None,
    ) -> list[Document]:
        """Return at most `limit` documents that match, with only `fields` (and `_id`) if given.

        `by` is the first field of the one index to use, and one that `where` asks for a value of;
        without it the store chooses. Raises BadStatement if no index begins with it.
        The result is not a snapshot: documents may change while they are read.
        """

    async def insert(self, document: Document) -> bool:
        """Store a new document; False if its `_id` or a unique key is taken.

        Raises `placet.errors.TooLarge` for a document over 16 MiB.
        """

    async def update(self, id: str, where: Filter, change: Update) -> Document | None:
        """Change the document `id` in one write if it also matches `where`.

        Returns:
            The document as it was read after the write, or None if nothing matched. Another
            writer's later write may be in the image already: a holder of a lease must compare
            `lease.op` with its own before it goes on.

        Raises:
            placet.errors.Conflict: the change would repeat a unique key.
            placet.errors.TooLarge: the document would be over 16 MiB.
        """

    async def update_all(self, changes: Sequence[Change]) -> list[Document | None]:
        """Change several documents in one transaction: all of them, or none.

        Give them in the order of their ids, so that two transactions get in each other's way as
        little as can be. It costs several round trips: where one document is enough, use `update`.

        Returns:
            The documents as they were read after the writes, in the order of `changes`. If any did
            not match, nothing at all was written, and None stands in the place of each that did not.

        Raises:
            placet.errors.Conflict, placet.errors.TooLarge: as `update`; nothing was written.
        """

    async def clear(self, id: str, change: Update) -> None:
        """Change the document `id` soon, without waiting: for clearing an outbox, nothing else.

        Returns before the write is sent. A failure is logged and the write is lost, as it is at a
        crash: the change must be one that somebody will do again (`$pull` by ids).
        """

    async def delete(self, id: str, where: Filter) -> bool:
        """Delete the document `id` if it also matches `where`; False if nothing matched."""

    async def count(self, where: Filter, *, limit: int) -> int:
        """Count what matches, and stop at `limit`."""


class Database(Protocol):
    """The collections of one service on one server."""

    def collection(self, name: str, indexes: Sequence[Index] = ()) -> Collection:
        """Declare a collection before `open`; the same name again gives the same collection."""

    async def open(self) -> None:
        """Connect and create what is missing (collections, indexes); safe to repeat.

        Raises `placet.errors.Unavailable`, naming the server, if it does not answer.
        """

    async def ping(self) -> None:
        """Return if the server answers; else raise `placet.errors.Unavailable`."""

    async def now(self) -> datetime:
        """Return the time of the clock that `$$NOW` reads."""

    async def close(self) -> None:
        """Let writes that are under way finish, then disconnect; safe to repeat."""
