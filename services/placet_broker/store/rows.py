"""The conditional writes of an interaction, in MongoDB's words: B3 to B9 and B11."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from placet.audit import Entry
from placet.domain.person import Person
from placet_broker.rules import finding, outgoing
from placet_broker.rules.documents import kept_link, kept_vote
from placet_broker.rules.record import Claim, Link, Record, Vote
from placet_broker.rules.settling import Settlement
from placet_broker.rules.timing import next_at

SWEEP_AFTER_MS = 2000
"""How long an outbox may hold something before the sweep publishes it."""
KEPT_REFUSALS = 100
_SOON = {"$add": ["$$NOW", SWEEP_AFTER_MS]}

Row = tuple[dict[str, Any], Any]
"""A filter (besides the `_id`) and an update."""


def settle(record: Record, settlement: Settlement, noted: dict[str, Any]) -> Row:
    """B3, and B4 for the vote that decides. An answer at `expires_at` settles."""
    return {**_as_read(record), "$expr": _in_time}, _ending(record, settlement, noted)


def vote(record: Record, votes: Sequence[Vote], links: Sequence[Link], noted: Entry) -> Row:
    """B4 for a vote that does not decide it; a link that it came through is used up."""
    change = {"votes": [kept_vote(each) for each in votes], "links": _kept_links(links)}
    return {**_as_read(record), "$expr": _in_time}, _noting(noted, change)


def expire(record: Record, at: datetime, settlement: Settlement, noted: dict[str, Any]) -> Row:
    """B5. Matches only after `at`: the deadline, or the time of a step that ends it."""
    over = {"$lt": [{"$literal": at}, "$$NOW"]}
    return {**_as_read(record), "$expr": over}, _ending(record, settlement, noted)


def extend(after: Record, noted: Entry) -> Row:
    """Another deadline; `due` finds it by itself."""
    return {**_as_read(after), "$expr": _in_time}, _noting(noted, _deadline(after))


def remind(record: Record, at: datetime, number: int, noted: Entry) -> Row:
    """Tell those who may answer again; once each time, whichever broker comes first."""
    after = replace(record, reminded=number)
    return _timed(record, at), _turning(after, noted, outgoing.reminder(record.id, number))


def climb(record: Record, at: datetime, after: Record, noted: Entry) -> Row:
    """An escalation step: `after` is the record as it is then."""
    return _timed(record, at), _turning(after, noted, outgoing.escalated(record))


def edit_audience(after: Record, noted: Entry) -> Row:
    """Other approvers; the votes of those who are not among them any more are gone."""
    change = {**_audience(after), "votes": [kept_vote(each) for each in after.votes]}
    return _as_read(after), _noting(noted, change)


def claim(record: Record, claimed: Claim | None, noted: Entry) -> Row:
    """Who is looking at it; None: nobody any more."""
    return _as_read(record), _noting(noted, {"claim": claimed and asdict(claimed)})


def relink(record: Record, links: Sequence[Link], noted: Entry) -> Row:
    """Other links: one was made, or a code for it, or a wrong code was tried."""
    return _as_read(record), _noting(noted, {"links": _kept_links(links)})


def thaw(after: Record, noted: Entry) -> Row:
    """The deadline after time under a freeze, whether the one that is kept has passed or not."""
    return _as_read(after), _noting(noted, _deadline(after))


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
        "$set": {"request": "", "history": [], "refused": [], "links": [], "votes": [], "due": None}
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
    next_at = {"$ifNull": ["$next_at", "$expires_at"]}
    later = {"$cond": [{"$eq": ["$state", "pending"]}, next_at, _forgotten_at(retention)]}
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
        "on_behalf_of": settlement.on_behalf_of,
        "voters": [vote.by for vote in settlement.votes],
        "channel": settlement.channel,
        "answer_id": settlement.answer_id,
    }
    change = {
        "state": {"$literal": str(settlement.state)},
        "resolution": {"$mergeObjects": [{"$literal": kept}, {"at": "$$NOW"}]},
        "claim": None,
        **_used(settlement),
    }
    return _telling(noted, change, outgoing.settled(record))


def _used(settlement: Settlement) -> dict[str, Any]:
    """The votes that decided it, and the link that the last one came through, used up."""
    kept: dict[str, Any] = {}
    if settlement.votes:
        kept["votes"] = {"$literal": [kept_vote(each) for each in settlement.votes]}
    if settlement.links:
        kept["links"] = {"$literal": _kept_links(settlement.links)}
    return kept


def _noting(noted: Entry, change: dict[str, Any]) -> dict[str, Any]:
    """A change of a question that stays open, with its entry of the chain."""
    return {"$set": change, "$push": {"history": noted}, "$inc": {"rev": 1}}


def _telling(noted: Entry, change: dict[str, Any], added: Sequence[dict[str, Any]]) -> Any:
    """A change, as expressions, with its entry of the chain and what others are told of it."""
    return [
        {
            "$set": {
                **change,
                "rev": {"$add": ["$rev", 1]},
                "history": {"$concatArrays": ["$history", {"$literal": [noted]}]},
                "outbox": {"$concatArrays": ["$outbox", {"$literal": list(added)}]},
                "due": _SOON,
            }
        }
    ]


def _timed(record: Record, at: datetime) -> dict[str, Any]:
    """A turn of the clock happens after its time, by the database's clock."""
    return {**_as_read(record), "$expr": {"$lte": [{"$literal": at}, "$$NOW"]}}


def _turning(after: Record, noted: Entry, added: dict[str, Any]) -> Any:
    """What a turn of the clock leaves behind, and who is told of it."""
    change = {
        **_audience(after),
        "priority": str(after.priority),
        "reminded": after.reminded,
        "climbed": after.climbed,
        "expires_at": after.expires_at,
        "next_at": next_at(after),
    }
    literal = {name: {"$literal": value} for name, value in change.items()}
    return _telling(noted, literal, [added])


def _audience(after: Record) -> dict[str, Any]:
    return {
        "approvers": list(after.audience.approvers),
        "request": after.request_json,
        "words": finding.words(after),
        "unanswerable": after.unanswerable,
    }


def _kept_links(links: Sequence[Link]) -> list[dict[str, Any]]:
    return [kept_link(each) for each in links]


def _deadline(after: Record) -> dict[str, Any]:
    shown = {"request": after.request_json, "expires_at": after.expires_at}
    return {**shown, "next_at": next_at(after)}


def _person(by: Person | None) -> dict[str, Any] | None:
    return by.model_dump() if by else None
