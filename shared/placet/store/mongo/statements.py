"""Conditional writes as MongoDB gets them: each leaves its operation id in the document."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bson.raw_bson import RawBSONDocument

from placet.errors import TooLarge
from placet.store.documents import LARGEST, OPTIONS, encode, encode_document
from placet.store.port import BadStatement, Document, Filter, Update

OPS: Final = "ops"
"""The field that keeps the ids of the last writes; it is never shown to a caller."""
KEPT: Final = 16

_random = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Write:
    """One conditional update, or one insert, ready to be sent and to be sent again."""

    id: str
    op: int
    statement: Mapping[str, Any]
    size: int
    """Bytes."""
    where: Mapping[str, Any]
    change: Update


_RAW: Final[Any] = OPTIONS.with_options(document_class=RawBSONDocument)


def _raw(data: bytes) -> RawBSONDocument:
    return RawBSONDocument(data, _RAW)


def _encoded(change: Update) -> tuple[Update, int]:
    """Return the operators, or the pipeline, as the driver takes it over unread; and its bytes."""
    if isinstance(change, Mapping):
        data = encode(change)
        return _raw(data), len(data)
    stages = [encode(stage) for stage in change]
    return [_raw(stage) for stage in stages], sum(map(len, stages))


def update(id: str, where: Filter, change: Update) -> Write:
    """Return the write that changes `id` once, however often it is sent.

    The filter asks that the operation id is not there yet, so a copy that lands late, or is sent
    again after a time-out, does nothing. That holds for as long as `KEPT` later writes of the
    same document have not pushed the id out.
    """
    op = _random.getrandbits(62)
    # `where` stays apart from what is added, so that it can hold `_id` or anything else itself.
    guarded = {"_id": id, "$and": [where, {OPS: {"$ne": op}}]}
    query = encode(guarded)
    marked, size = _encoded(_marked(change, op))
    return _update(id, op, query, marked, size + len(query))


def _update(id: str, op: int, query: bytes, change: Update, size: int) -> Write:
    if size > LARGEST:
        raise TooLarge(f"the update of {id} has {size} bytes, the limit is {LARGEST}")
    where = _raw(query)
    return Write(id, op, {"q": where, "u": change, "multi": False}, size, where, change)


def _marked(change: Update, op: int) -> Update:
    if isinstance(change, Mapping):
        if not change:
            raise BadStatement("an update needs an operator")
        push = {**change.get("$push", {}), OPS: {"$each": [op], "$slice": -KEPT}}
        return {**change, "$push": push}
    ops = {"$concatArrays": [{"$ifNull": [f"${OPS}", []]}, [op]]}
    return [*change, {"$set": {OPS: {"$slice": [ops, -KEPT]}}}]


def insertion(document: Document) -> Write:
    """Return the write that stores a new document."""
    op = _random.getrandbits(62)
    data = encode_document({**document, OPS: [op]})
    return Write(document["_id"], op, _raw(data), len(data), {}, {})


def clearing(id: str, change: Update) -> Write:
    """Return an update without condition and without trace."""
    query = encode({"_id": id})
    encoded, size = _encoded(change)
    return _update(id, 0, query, encoded, size + len(query))
