"""Gauges that are read from the database and the bus at a scrape, with bounded queries."""

from collections import Counter
from datetime import timedelta

from placet.bus.port import Bus
from placet.clock import Clock
from placet.domain.interaction import Kind
from placet.process.freezes import StoredFreezes
from placet.store.port import Collection
from placet_broker.metrics import BrokerMetrics

COUNTED = 10_000
OVERDUE = 1_000


class Gauges:
    """Sets the broker's gauges."""

    def __init__(
        self,
        collection: Collection,
        bus: Bus,
        metrics: BrokerMetrics,
        clock: Clock,
        freezes: StoredFreezes,
    ) -> None:
        self._freezes = freezes
        self._bus = bus
        self._collection = collection
        self._metrics = metrics
        self._clock = clock

    async def refresh(self) -> None:
        """Read and set them. Raises Unavailable."""
        await self._pending()
        await self._outbox()
        self._metrics.dead.set(await self._bus.dead_count())
        self._metrics.freezes.set(await self._freezes.count_active())

    async def _pending(self) -> None:
        found = await self._collection.find(
            {"state": "pending"},
            sort=[("opened_at", 1)],
            limit=COUNTED,
            fields=["kind", "opened_at", "unanswerable"],
        )
        by_kind = Counter(document["kind"] for document in found)
        for kind in Kind:
            self._metrics.pending.labels(str(kind)).set(by_kind[str(kind)])
        stuck = sum(bool(document.get("unanswerable")) for document in found)
        self._metrics.unanswerable.set(stuck)
        age = self._clock.now() - found[0]["opened_at"] if found else timedelta(0)
        self._metrics.oldest.set(max(0.0, age.total_seconds()))

    async def _outbox(self) -> None:
        now = self._clock.now()
        overdue = {"due": {"$lte": now}, "outbox": {"$ne": []}}
        found = await self._collection.find(
            overdue, sort=[("due", 1)], limit=OVERDUE, fields=["due"]
        )
        self._metrics.outbox.set(len(found))
        age = now - found[0]["due"] if found else timedelta(0)
        self._metrics.outbox_age.set(max(0.0, age.total_seconds()))
