"""The words of the protocol as MongoDB expressions: free, settled, runnable, due."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

Expression = Any
Stage = Mapping[str, Any]

EPOCH0 = datetime(1970, 1, 1, tzinfo=UTC)
LIVE = ["queued", "running", "input_required"]
NOW = "$$NOW"
LOOK_AGAIN = timedelta(seconds=2)
"""An outbox that is not cleared by then is published again."""
STRANDED = timedelta(seconds=5)
"""A run that could move and that nobody holds is woken after that."""

FREE: Expression = {"$lt": [{"$ifNull": ["$lease.until", EPOCH0]}, NOW]}
OPEN: Expression = {"$filter": {"input": "$waiting", "cond": {"$eq": ["$$this.resolution", None]}}}
SETTLED: Expression = {"$eq": [{"$size": OPEN}, 0]}
RUNNABLE: Expression = {
    "$and": [FREE, {"$or": [{"$in": ["$status", ["queued", "running"]]}, "$wake", SETTLED]}]
}


def literal(value: Any) -> Expression:
    """A value that came from outside: never read as a field or an operator."""
    return {"$literal": value}


def later(span: timedelta) -> Expression:
    """The database's time, plus a span."""
    return {"$add": [NOW, milliseconds(span)]}


def milliseconds(span: timedelta) -> int:
    """What `$add` takes."""
    return int(span.total_seconds() * 1000)


def push(field: str, values: Sequence[Any]) -> Expression:
    """The array with these values behind it."""
    return {"$concatArrays": [f"${field}", literal(list(values))]}


def without(field: str, ids: Sequence[str]) -> Expression:
    """The array without the entries that have these ids."""
    return {
        "$filter": {
            "input": f"${field}",
            "cond": {"$not": [{"$in": ["$$this.id", literal(list(ids))]}]},
        }
    }


def _when(condition: Expression, then: Expression) -> Expression:
    return {"$cond": [condition, then, None]}


_STRANDED: Expression = {
    "$and": [
        {"$eq": ["$lease", None]},
        {"$in": ["$status", LIVE]},
        {"$or": [{"$ne": ["$status", "input_required"]}, "$wake", SETTLED]},
    ]
}

DUE: Stage = {
    "$set": {
        "due": {
            "$min": [
                _when({"$gt": [{"$size": "$outbox"}, 0]}, later(LOOK_AGAIN)),
                {"$ifNull": ["$lease.until", None]},
                _when(_STRANDED, later(STRANDED)),
                {"$min": {"$map": {"input": OPEN, "in": "$$this.ask_again_at"}}},
            ]
        },
        "updated_at": NOW,
    }
}
"""Last stage of every write: the next time that a sweep must look at the run, null for never."""


def clearing(ids: Sequence[str]) -> Sequence[Stage]:
    """R20: take published messages out of the outbox, by id, and nothing that came meanwhile."""
    return [{"$set": {"outbox": without("outbox", ids)}}, DUE]
