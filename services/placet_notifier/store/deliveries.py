"""Deliveries: what is to be sent, claimed for one try at a time, by the database's clock."""

import asyncio
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from placet.clock import Clock
from placet.ids import new_id
from placet.store.port import Database, Document, Index
from placet_notifier.rules.delivery import PATIENCE, Answer, Delivery, Due, State, Verdict

EVER = datetime(1970, 1, 1, tzinfo=UTC)
FIELDS = [field.name for field in fields(Delivery) if field.name not in {"id", "next_at"}]


class StoredDeliveries:
    """One document a delivery. While it waits it has `due`, `due_for` and `since`."""

    def __init__(
        self, database: Database, clock: Clock, *, lease: timedelta, retention: timedelta
    ) -> None:
        self._database = database
        self._clock = clock
        self._lease_ms = int(lease.total_seconds() * 1000)
        self._retention = retention
        self.collection = database.collection(
            "deliveries",
            [
                Index((("due", 1), ("due_for", 1)), sparse=True),
                Index((("endpoint_id", 1), ("created_at", -1))),
                Index((("forget_at", 1),), sparse=True),
                Index((("since", 1),), sparse=True),
            ],
        )

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        """Store those that are not there yet."""
        if deliveries:
            due = await self._database.now()
            await asyncio.gather(
                *(self.collection.insert(_document(each, due)) for each in deliveries)
            )

    async def get(self, namespace: str, id: str) -> Delivery | None:
        """One of this namespace."""
        found = await self.collection.get(id)
        return _delivery(found) if found and found["namespace"] == namespace else None

    async def newest(
        self,
        endpoint_id: str,
        *,
        state: State | None,
        limit: int,
        after: tuple[datetime, str] | None = None,
    ) -> list[Delivery]:
        """Those of an endpoint, the newest first, behind a moment and an id."""
        where: dict[str, Any] = {"endpoint_id": endpoint_id}
        if state is not None:
            where["state"] = state.value
        if after is not None:
            at, id = after
            same = {"created_at": at, "_id": {"$lt": id}}
            where["$or"] = [{"created_at": {"$lt": at}}, same]
        newest = [("created_at", -1), ("_id", -1)]
        found = await self.collection.find(where, sort=newest, limit=limit)
        return [_delivery(each) for each in found]

    async def due(self, *, without: Sequence[str], limit: int) -> list[Due]:
        """What is to be tried now, the longest waiting first, not to these endpoints."""
        where = {"due": {"$lte": await self._database.now()}, **_not_for(without)}
        found = await self.collection.find(
            where, sort=[("due", 1)], limit=limit, fields=["due_for"]
        )
        return [Due(each["_id"], each["due_for"]) for each in found]

    async def next_due(self, *, without: Sequence[str]) -> timedelta | None:
        """How long until the next is due; None if nothing waits."""
        where = {"due": {"$gt": EVER}, **_not_for(without)}
        found = await self.collection.find(where, sort=[("due", 1)], limit=1, fields=["due"])
        if not found:
            return None
        waits: timedelta = found[0]["due"] - await self._database.now()
        return max(timedelta(0), waits)

    async def claim(self, id: str) -> Delivery | None:
        """Take it for one try, for as long as the lease."""
        claim = new_id("clm")
        where = {"state": State.PENDING.value, "$expr": {"$lte": ["$due", "$$NOW"]}}
        change = [
            {
                "$set": {
                    "due": {"$add": ["$$NOW", self._lease_ms]},
                    "claim": claim,
                    "attempts": {"$add": ["$attempts", 1]},
                    "last_at": "$$NOW",
                }
            }
        ]
        image = await self.collection.update(id, where, change)
        # The image may be a later one: another took it over meanwhile.
        return _delivery(image) if image and image["claim"] == claim else None

    async def record(self, delivery: Delivery, answer: Answer, verdict: Verdict) -> bool:
        """Write what a try brought; False: the claim was lost."""
        brought = {
            "claim": None,
            "state": verdict.state.value,
            "last_status": answer.status,
            "last_error": {"$literal": answer.error},
        }
        where = {"claim": delivery.claim}
        image = await self.collection.update(delivery.id, where, self._after(brought, verdict.wait))
        return image is not None

    def _after(self, brought: Document, wait: timedelta | None) -> list[dict[str, Any]]:
        if wait is not None:
            due = {"$add": ["$$NOW", int(wait.total_seconds() * 1000)]}
            return [{"$set": {**brought, "due": due}}]
        ended = {**brought, "forget_at": self._clock.now() + self._retention}
        return [{"$set": ended}, {"$unset": ["due", "due_for", "since"]}]

    async def again(self, delivery: Delivery) -> Delivery | None:
        """Try it once more, from now on for the whole time; None: it is no longer as it was read."""
        where = {"attempts": delivery.attempts, "state": delivery.state.value, "claim": None}
        change: list[dict[str, Any]] = [
            {
                "$set": {
                    "state": State.PENDING.value,
                    "attempts": 0,
                    "give_up_at": self._clock.now() + PATIENCE,
                    "due": "$$NOW",
                    "due_for": "$endpoint_id",
                    "since": "$$NOW",
                }
            },
            {"$unset": ["forget_at"]},
        ]
        image = await self.collection.update(delivery.id, where, change)
        return _delivery(image) if image else None

    async def forget(self, *, limit: int) -> int:
        """Delete what ended long enough ago; how many."""
        past = {"forget_at": {"$lt": self._clock.now()}}
        found = await self.collection.find(
            past, sort=[("forget_at", 1)], limit=limit, fields=["forget_at"]
        )
        over = {"state": {"$ne": State.PENDING.value}}
        await asyncio.gather(*(self.collection.delete(each["_id"], over) for each in found))
        return len(found)


def _not_for(endpoints: Sequence[str]) -> dict[str, Any]:
    return {"due_for": {"$nin": list(endpoints)}} if endpoints else {}


def _document(delivery: Delivery, due: datetime) -> Document:
    kept = {name: getattr(delivery, name) for name in FIELDS}
    return {
        **kept,
        "_id": delivery.id,
        "state": delivery.state.value,
        "due": due,
        "due_for": delivery.endpoint_id,
        "since": delivery.created_at,
    }


def _delivery(document: Document) -> Delivery:
    kept = {name: document[name] for name in FIELDS}
    return Delivery(
        **{
            **kept,
            "id": document["_id"],
            "state": State(document["state"]),
            "next_at": document.get("due"),
        }
    )
