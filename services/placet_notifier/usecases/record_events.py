"""Store what happened, and owe it to every webhook that wants it."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from placet.clock import Clock
from placet.errors import PlacetError
from placet.messages import Event
from placet.store.batches import Batches
from placet_notifier.ports import Deliveries, Endpoints, EventLog, Observer
from placet_notifier.rules.delivery import Delivery, delivery_for

MOST = 500
MOST_BYTES = 1024 * 1024
"""Of one chunk; a single event may be larger."""
APART = 0.1
"""Seconds between the beginnings of two chunks. Nobody feels that an event comes so much later, and a
chunk costs the same durable write and the same reads for one event as for many."""


class RecordEvents:
    """Stores each event once, with its deliveries; what arrives together is written together.

    A chunk is full with `most` events: it should be no more than are ever handed over unacknowledged.
    """

    def __init__(
        self,
        log: EventLog,
        endpoints: Endpoints,
        deliveries: Deliveries,
        clock: Clock,
        metrics: Observer,
        *,
        most: int = MOST,
        on_stored: Callable[[str], None] = lambda _: None,
        on_owed: Callable[[], None] = lambda: None,
    ) -> None:
        self._log = log
        self._endpoints = endpoints
        self._deliveries = deliveries
        self._clock = clock
        self._metrics = metrics
        self._on_stored = on_stored
        self._on_owed = on_owed
        self._batches: Batches[Event, None] = Batches(
            self._store, most=min(most, MOST), most_bytes=MOST_BYTES, apart=APART
        )

    async def __call__(self, event: Event, size: int) -> None:
        """Return once it and its deliveries are durable. Again is harmless. Raises Unavailable."""
        await self._batches.submit(event, size=size)

    async def _store(self, events: Sequence[Event]) -> list[Exception | None]:
        groups: defaultdict[str, list[Event]] = defaultdict(list)
        for event in events:
            groups[event.namespace].append(event)
        failures: dict[str, Exception] = {}
        for namespace, group in groups.items():
            try:
                await self._store_in(namespace, group)
            except PlacetError as error:
                failures[namespace] = error
        return [failures.get(event.namespace) for event in events]

    async def _store_in(self, namespace: str, events: Sequence[Event]) -> None:
        fresh = await self._log.append(namespace, events)
        self._metrics.stored(fresh, len(events))
        if fresh:
            self._on_stored(namespace)
        # Also for what was there before: whoever stored it may have died before this.
        owed = await self._owed(namespace, events)
        if owed:
            await self._deliveries.add(owed)
            self._on_owed()

    async def _owed(self, namespace: str, events: Sequence[Event]) -> list[Delivery]:
        endpoints = await self._endpoints.list(namespace)
        now = self._clock.now()
        owed = (
            delivery_for(event, endpoint.id, now)
            for event in events
            for endpoint in endpoints
            if endpoint.wants(event)
        )
        return list({each.id: each for each in owed}.values())
