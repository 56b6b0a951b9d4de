"""A question for a list of interactions, as streams that one index answers in order."""

from collections.abc import Iterator
from datetime import datetime
from itertools import product
from typing import Any

from placet.domain.interaction import InputState
from placet_broker.ports import Query


def streams(query: Query, direction: int) -> Iterator[dict[str, Any]]:
    """What each stream of the index must match: one state, and of the words at most one by the index."""
    states = [query.state] if query.state else [str(state) for state in InputState]
    for state, first in product(states, query.any_of or (None,)):
        # Tombstones have no body and are shown to nobody.
        where: dict[str, Any] = {
            "namespace": query.namespace,
            "state": state,
            "request": {"$ne": ""},
        }
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


def _between(query: Query) -> dict[str, datetime]:
    bounds = {"$gte": query.since, "$lt": query.until}
    return {operator: at for operator, at in bounds.items() if at is not None}
