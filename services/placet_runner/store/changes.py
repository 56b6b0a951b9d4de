"""The parts that rows are made of: filters and changes, in MongoDB's words."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from placet.domain.run import Message
from placet.kernel import write_entry
from placet.kernel.journal import ToolStarted
from placet_runner.ports import Document, Image, Step
from placet_runner.rules.runs import FROZEN, MOST_UNREAD
from placet_runner.store.expressions import (
    LIVE,
    OPEN,
    Expression,
    later,
    literal,
    push,
    without,
)

FIRST_ASK_AGAIN = timedelta(minutes=1)
CLOSE_AGAIN = timedelta(seconds=30)
REMEMBERED_MESSAGES = 1000
"""Ids of messages that a second copy is told by."""

MOST_GAPS = 200
"""Branches of one filter."""

REVOKED: Expression = {"$ifNull": ["$revoked", []]}
"""Grants that were taken back; a run of an earlier release has no list of them."""

PARKED: dict[str, Expression] = {"status": "input_required", "lease": None, "tries": 0}


def no_more_calls(published: Sequence[str] = ()) -> Expression:
    """A claim is what `start` and `wake` of this run ask for: what was not published yet need not be."""
    needless = {
        "$and": [
            {"$in": ["$$this.key", ["start", "wake"]]},
            {"$eq": ["$$this.correlation_id", "$_id"]},
        ]
    }
    out = {"$in": ["$$this.id", literal(list(published))]}
    return {"$filter": {"input": "$outbox", "cond": {"$not": [{"$or": [needless, out]}]}}}


def mine(held: Image) -> dict[str, Any]:
    """The run as this holder last saw it: its epoch, its claim, its place in the journal."""
    return {"epoch": held.epoch, "lease.op": held.lease_op, "seq": held.seq}


def stepping(held: Image, step: Step) -> dict[str, Any]:
    """The filter of a step: one that starts calls misses while something is there that was not looked at.

    It may be that a grant was taken back which they go by.
    """
    starts = any(isinstance(entry, ToolStarted) for entry in step.entries)
    return mine(held) | ({"wake": False} if starts else {})


def same_revoked(read: Image) -> Expression:
    """Whether no grant was taken back since the run was read."""
    return {"$eq": [{"$size": REVOKED}, len(read.revoked)]}


def stepped(step: Step) -> dict[str, Expression]:
    """What a step changes: entries, questions, what was used, what is sent."""
    changes: dict[str, Expression] = {
        name: literal(value) for name, value in (step.fields or {}).items()
    }
    if step.entries:
        changes["seq"] = {"$add": ["$seq", len(step.entries)]}
        changes["journal"] = push("journal", [write_entry(entry) for entry in step.entries])
        if not all(isinstance(entry, ToolStarted) for entry in step.entries):
            changes["tries"] = 0  # a start is no progress: it may be what kills each holder
    if step.asks or step.used_inputs:
        asks = [timed(ask) for ask in step.asks]
        changes["waiting"] = {"$concatArrays": [without("waiting", step.used_inputs), asks]}
    if step.used_messages:
        changes["inbox"] = without("inbox", step.used_messages)
    if step.outbox or step.published:
        changes["outbox"] = outbox(step)
    return changes


def outbox(step: Step, *more: Document) -> Expression:
    """The outbox without what is out, and with what is new."""
    kept = without("outbox", step.published) if step.published else "$outbox"
    return {"$concatArrays": [kept, literal([*step.outbox, *more])]}


def timed(ask: Document) -> Expression:
    """A new entry of `waiting`, with the database's times."""
    times = {"asked_at": "$$NOW", "ask_again_at": later(FIRST_ASK_AGAIN)}
    return {"$mergeObjects": [literal(ask), times]}


def is_open(input_id: str) -> dict[str, Any]:
    """The filter of a question whose end is not known yet."""
    return {"waiting": {"$elemMatch": {"id": input_id, "resolution": None}}}


def waits_for_other(active: Sequence[str]) -> dict[str, Any]:
    """The filter of runs that wait for a freeze besides these.

    In the gaps between their ids, so that an index is read where something is found and nowhere else;
    MongoDB reads the whole of it for `$nin`.
    """
    if len(active) > MOST_GAPS:
        return _waits_for({"$gt": "", "$nin": list(active)})
    ids = sorted(active)
    ends: list[dict[str, str]] = [*({"$lt": each} for each in ids), {}]
    pairs = zip(["", *ids], ends, strict=True)
    return {"$or": [_waits_for({"$gt": begin, **end}) for begin, end in pairs]}


def _waits_for(freeze: Mapping[str, Any]) -> dict[str, Any]:
    return {"waiting": {"$elemMatch": {"freeze": dict(freeze), "resolution": None}}}


def others_open(entry_id: str) -> Expression:
    """What else is open than this entry. A freeze keeps no answer waiting: it may be for another call."""
    other = {"$ne": ["$$this.id", literal(entry_id)]}
    return {"$filter": {"input": OPEN, "cond": {"$and": [other, {"$ne": ["$$this.kind", FROZEN]}]}}}


def with_resolution(input_id: str, value: Document) -> Expression:
    """The questions, with the end of this one."""
    settled = {"$mergeObjects": ["$$this", {"resolution": literal(value)}]}
    this_one = {"$eq": ["$$this.id", literal(input_id)]}
    return {"$map": {"input": "$waiting", "in": {"$cond": [this_one, settled, "$$this"]}}}


def closing(closes: Mapping[str, Document], reason: str) -> dict[str, Expression]:
    """The questions, these marked as being closed."""
    chosen = {"$in": ["$$this.id", literal(list(closes))]}
    return {
        "waiting": {
            "$map": {"input": "$waiting", "in": {"$cond": [chosen, marked(reason), "$$this"]}}
        },
        "outbox": push("outbox", list(closes.values())),
    }


def closing_all_open(waiting: Expression) -> Expression:
    """The questions, all open ones marked as being closed; freezes are waited for no more."""
    kept = {"$filter": {"input": waiting, "cond": {"$ne": ["$$this.kind", FROZEN]}}}
    is_open = {"$eq": ["$$this.resolution", None]}
    return {"$map": {"input": kept, "in": {"$cond": [is_open, marked("cancelled"), "$$this"]}}}


def marked(reason: str) -> Expression:
    """One question marked as being closed."""
    fields = {"closing": reason, "asked_at": "$$NOW", "ask_again_at": later(CLOSE_AGAIN)}
    return {"$mergeObjects": ["$$this", fields]}


def heard(message: Message) -> dict[str, Expression]:
    """What a message changes."""
    return {
        "inbox": push("inbox", [message.model_dump(mode="json")]),
        "seen": {"$slice": [push("seen", [message.id]), -REMEMBERED_MESSAGES]},
    }


def unheard(message: Message) -> dict[str, Any]:
    """The filter of a live run that has room for a message and has not had it."""
    room = {"$lt": [{"$size": "$inbox"}, MOST_UNREAD]}
    return {"status": {"$in": LIVE}, "seen": {"$ne": message.id}, "$expr": room}
