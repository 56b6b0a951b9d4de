"""How interactions are listed: their indexes, the streams that a page is merged of, and trails."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import product
from typing import Any

from placet.domain.interaction import InputState
from placet.store.port import Document, Index
from placet_broker.ports import Query, Trail

INDEXES = (
    Index((("namespace", 1), ("state", 1), ("opened_at", 1), ("_id", 1))),
    Index((("namespace", 1), ("state", 1), ("words", 1), ("opened_at", 1), ("_id", 1))),
    Index((("state", 1), ("opened_at", 1))),
    Index((("due", 1),)),
)


def streams(query: Query, direction: int) -> Iterator[dict[str, Any]]:
    """What each stream of the index must match: one state, and of the words at most one by the index."""
    states = [query.state] if query.state else [str(state) for state in InputState]
    for state, first in product(states, query.any_of or (None,)):
        where: dict[str, Any] = _shown(query) | {"state": state}
        wanted = [{"words": word} for word in (first, *query.all_of) if word is not None]
        if wanted:
            where["$and"] = wanted
        if opened_at := _between(query):
            where["opened_at"] = opened_at
        if query.after:
            at, id = query.after
            beyond = "$gt" if direction > 0 else "$lt"
            where["$or"] = [
                {"opened_at": {beyond: at}},
                {"opened_at": at, "_id": {beyond: id}},
            ]
        yield where


def listed(query: Query) -> dict[str, Any]:
    """What matches all that it lists, and nothing else, but for where a page begins."""
    where = _shown(query)
    words: list[dict[str, Any]] = [{"words": word} for word in query.all_of]
    if query.any_of:
        words.append({"words": {"$in": list(query.any_of)}})
    if query.state:
        where["state"] = query.state
    return where | {"$and": words} if words else where


def merged(streams: Iterable[Sequence[Document]], limit: int, direction: int) -> list[str]:
    """The ids of the first of all streams, each once; those are in `direction` by age and id."""
    keys = {(each["opened_at"], each["_id"]) for stream in streams for each in stream}
    return [id for _, id in sorted(keys, reverse=direction < 0)[:limit]]


def _shown(query: Query) -> dict[str, Any]:
    """Tombstones have no body and are shown to nobody."""
    return {"namespace": query.namespace, "request": {"$ne": ""}}


def _between(query: Query) -> dict[str, datetime]:
    bounds = {"$gte": query.since, "$lt": query.until}
    return {operator: at for operator, at in bounds.items() if at is not None}


_FACTS = (
    "namespace", "kind", "state", "rev", "digest", "publisher", "run_id", "root_run_id", "initiator",
    "approvers", "expires_at", "applied", "refused", "refused_count",
)  # fmt: skip


def trail_of(document: Document) -> Trail:
    """One interaction with its chain, as it is kept."""
    resolution = document["resolution"] or {}
    ended = {name: value for name, value in resolution.items() if name != "outcome"}
    return Trail(
        id=document["_id"],
        opened_at=document["opened_at"],
        facts={**{name: document[name] for name in _FACTS}, "resolution": ended},
        history=document["history"],
        request=document["request"],
        outcome=resolution.get("outcome", ""),
    )
