"""The conditional writes of an interaction, in MongoDB's words: B3 to B9 and B11."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from placet.domain.person import Person
from placet_broker.rules import outgoing
from placet_broker.rules.record import Record
from placet_broker.rules.settling import Settlement

SWEEP_AFTER_MS = 2000
"""How long an outbox may hold something before the sweep publishes it."""
KEPT_REFUSALS = 100
_SOON = {"$add": ["$$NOW", SWEEP_AFTER_MS]}

Row = tuple[dict[str, Any], Any]
"""A filter (besides the `_id`) and an update."""


def settle(record: Record, settlement: Settlement, noted: dict[str, Any]) -> Row:
    """B3. An answer at `expires_at` settles."""
    return {**_as_read(record), "$expr": _in_time}, _ending(record, settlement, noted)


def expire(record: Record, settlement: Settlement, noted: dict[str, Any]) -> Row:
    """B5. Matches only after the deadline."""
    return {**_as_read(record), "$expr": {"$not": [_in_time]}}, _ending(record, settlement, noted)


def extend(record: Record, request_json: str, at: datetime, noted: dict[str, Any]) -> Row:
    """Another deadline, also in the request as people see it; `due` finds it by itself."""
    change = {"request": request_json, "expires_at": at}
    return {**_as_read(record), "$expr": _in_time}, {
        "$set": change,
        "$push": {"history": noted},
        "$inc": {"rev": 1},
    }


def thaw(record: Record, request_json: str, at: datetime, noted: dict[str, Any]) -> Row:
    """The deadline after time under a freeze, whether the one that is kept has passed or not."""
    change = {"request": request_json, "expires_at": at}
    return _as_read(record), {"$set": change, "$push": {"history": noted}, "$inc": {"rev": 1}}


def close(record: Record, settlement: Settlement, noted: dict[str, Any]) -> Row:
    """B6."""
    return _as_read(record), _ending(record, settlement, noted)


def note(record: Record, entry: dict[str, Any]) -> Row:
    """B7."""
    return {"rev": record.rev}, {"$push": {"history": entry}, "$inc": {"rev": 1}}


def refuse(tried: dict[str, Any]) -> Row:
    """A refused try: beside the chain, so without `rev`."""
    kept = {"$each": [tried], "$slice": -KEPT_REFUSALS}
    return {}, {"$push": {"refused": kept}, "$inc": {"refused_count": 1}}


def mark_applied(record: Record, entry: dict[str, Any]) -> Row:
    """B8."""
    change = {"$set": {"applied": True}, "$push": {"history": entry}, "$inc": {"rev": 1}}
    return {"rev": record.rev, "state": {"$ne": "pending"}}, change


def forget(record: Record) -> Row:
    """B9. Everything must be out, and a run's question must have been applied."""
    done = {"applied": True} if record.from_runner else {}
    return {"state": {"$ne": "pending"}, "outbox": {"$size": 0}, **done}, {
        "$set": {"request": "", "history": [], "refused": [], "due": None}
    }


def readdress(reply_to: str, correlation_id: str | None) -> Row:
    """A requester that came back under another address."""
    change = {"reply_to": reply_to, "correlation_id": correlation_id}
    return {"state": "pending"}, {"$set": change}


def clear(ids: Sequence[str], retention: timedelta | None = None) -> Any:
    """B11, and once the outbox is empty `due` is the deadline, or when a settled one is forgotten (B9)."""
    kept = {
        "$filter": {
            "input": "$outbox",
            "cond": {"$not": [{"$in": ["$$this.id", {"$literal": list(ids)}]}]},
        }
    }
    later = {"$cond": [{"$eq": ["$state", "pending"]}, "$expires_at", _forgotten_at(retention)]}
    return [
        {"$set": {"outbox": kept}},
        {"$set": {"due": {"$cond": [{"$eq": [{"$size": "$outbox"}, 0]}, later, "$due"]}}},
    ]


def _forgotten_at(retention: timedelta | None) -> Any:
    """When a settled one may go; never without a retention, nor a tombstone, which has no body."""
    if retention is None:
        return None
    at = {"$add": ["$resolution.at", retention // timedelta(milliseconds=1)]}
    return {"$cond": [{"$eq": ["$request", ""]}, None, at]}


_in_time = {"$or": [{"$eq": ["$expires_at", None]}, {"$gte": ["$expires_at", "$$NOW"]}]}


def _as_read(record: Record) -> dict[str, Any]:
    return {"state": "pending", "rev": record.rev}


def _ending(record: Record, settlement: Settlement, noted: dict[str, Any]) -> Any:
    """What came from outside is wrapped: an answer such as "$lease" is no field."""
    kept = {
        "outcome": settlement.outcome.model_dump_json(),
        "by": _person(settlement.by),
        "channel": settlement.channel,
        "answer_id": settlement.answer_id,
    }
    added = outgoing.settled(record)
    return [
        {
            "$set": {
                "state": {"$literal": str(settlement.state)},
                "resolution": {"$mergeObjects": [{"$literal": kept}, {"at": "$$NOW"}]},
                "rev": {"$add": ["$rev", 1]},
                "history": {"$concatArrays": ["$history", {"$literal": [noted]}]},
                "outbox": {"$concatArrays": ["$outbox", {"$literal": added}]},
                "due": _SOON,
            }
        }
    ]


def _person(by: Person | None) -> dict[str, Any] | None:
    return by.model_dump() if by else None
