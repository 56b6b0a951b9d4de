"""Gauges that are read from the database at a scrape, with bounded queries."""

from collections import Counter
from datetime import timedelta

from placet.clock import Clock
from placet.domain.run import RunStatus
from placet.store.port import Collection
from placet_runner.metrics import RunnerMetrics
from placet_runner.store.expressions import EPOCH0

COUNTED = 10_000
OVERDUE = 1_000


class Gauges:
    """Sets the runner's gauges. A run that can still move is always due some time, so one index does."""

    def __init__(self, collection: Collection, metrics: RunnerMetrics, clock: Clock) -> None:
        self._collection = collection
        self._metrics = metrics
        self._clock = clock

    async def refresh(self) -> None:
        """Read and set them. Raises Unavailable."""
        found = await self._collection.find(
            {"due": {"$gt": EPOCH0}}, sort=[("due", 1)], limit=COUNTED, fields=["status"]
        )
        by_status = Counter(document["status"] for document in found)
        for status in RunStatus:
            if status.live:
                self._metrics.in_status(status, by_status[status.value])
        now = self._clock.now()
        late = await self._collection.find(
            {"due": {"$lte": now}, "outbox": {"$ne": []}},
            sort=[("due", 1)],
            limit=OVERDUE,
            fields=["due"],
        )
        self._metrics.overdue(len(late), now - late[0]["due"] if late else timedelta(0))
