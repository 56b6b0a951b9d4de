"""The adapter of `Outbox` on the relay and the bus."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from placet.bus.port import Bus, Outgoing
from placet.errors import Unroutable
from placet.process.metrics import Metrics
from placet.process.outbox import Relay, outgoing
from placet.store.port import Collection
from placet_broker.rules.outgoing import rendered
from placet_broker.rules.record import Record
from placet_broker.store import rows


class RelayOutbox:
    """Publishes what records hold; `on_settled` hears of each record that is posted.

    A settled record whose outbox is empty comes due again after the `retention`; None: never.
    """

    def __init__(
        self,
        collection: Collection,
        bus: Bus,
        metrics: Metrics,
        on_settled: Callable[[Record], None],
        retention: timedelta | None,
    ) -> None:
        self._collection = collection
        self._bus = bus
        self._on_settled = on_settled
        self._clearing = partial(rows.clear, retention=retention)
        self._relay = Relay(collection, bus, metrics, service="broker", clearing=self._clearing)

    def post(self, record: Record) -> None:
        """Publish its outbox in the background."""
        self._on_settled(record)
        if record.outbox:
            self._relay.post(record.id, rendered(record, record.outbox))

    async def send(self, record: Record) -> bool:
        """Publish its outbox; whether all of it was confirmed."""
        if not record.outbox:
            await self._collection.clear(record.id, self._clearing([]))
            return True
        sent = await self._relay.send(record.id, rendered(record, record.outbox))
        return not sent.failed

    def away(self) -> bool:
        """Whether the bus as a whole has something to complain of."""
        return bool(self._bus.ready())

    async def again(self, record: Record, entries: Sequence[dict[str, Any]]) -> None:
        """Publish entries that are not in the outbox any more."""
        for entry in rendered(record, entries):
            try:
                await self._bus.publish(outgoing(entry))
            except Unroutable:
                if not entry.get("optional"):
                    raise

    async def publish(self, message: Outgoing) -> None:
        """Publish one message."""
        await self._bus.publish(message)

    async def drain(self) -> None:
        """Return when what was posted has been tried."""
        await self._relay.drain()
