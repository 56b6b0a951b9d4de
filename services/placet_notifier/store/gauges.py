"""Gauges that are read from the database at a scrape, with bounded queries."""

from datetime import timedelta

from placet.clock import Clock
from placet.store.port import Collection
from placet_notifier.metrics import NotifierMetrics
from placet_notifier.store.deliveries import EVER

COUNTED = 10_000


class Gauges:
    """Sets the gauges of the backlog."""

    def __init__(self, deliveries: Collection, metrics: NotifierMetrics, clock: Clock) -> None:
        self._deliveries = deliveries
        self._metrics = metrics
        self._clock = clock

    async def refresh(self) -> None:
        """Read and set them. Raises Unavailable."""
        pending = {"since": {"$gt": EVER}}
        found = await self._deliveries.find(pending, sort=[("since", 1)], limit=1, fields=["since"])
        age = self._clock.now() - found[0]["since"] if found else timedelta(0)
        self._metrics.oldest.set(max(0.0, age.total_seconds()))
        self._metrics.pending.set(await self._deliveries.count(pending, limit=COUNTED))
