"""The bus on RabbitMQ: two connections, a publisher, consumers, the operator's dead letters."""

import asyncio
from urllib.parse import unquote, urlsplit

import structlog

from placet.bus.deadletters import again
from placet.bus.port import MAX_BODY_BYTES, DeadLetter, Handler, Outgoing
from placet.bus.rabbit.consumer import RabbitConsumer
from placet.bus.rabbit.dead import DeadQueue
from placet.bus.rabbit.declaring import Declarer
from placet.bus.rabbit.link import Link, ended
from placet.bus.rabbit.publisher import CONFIRM_SECONDS, RabbitPublisher
from placet.bus.topology import PROBE, TOPOLOGY, Topology
from placet.clock import Clock, SystemClock
from placet.errors import PlacetError
from placet.ids import new_id

_log = structlog.get_logger(__name__)


class RabbitBus:
    """One service's bus on RabbitMQ, as the user its URL names; implements `Bus`."""

    def __init__(
        self,
        url: str,
        *,
        topology: Topology = TOPOLOGY,
        clock: Clock | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
        confirm_seconds: float = CONFIRM_SECONDS,
    ) -> None:
        self._user = unquote(urlsplit(url).username or "guest")
        self._topology = topology
        self._clock = clock or SystemClock()
        self._publishing = Link(url, "publishing")
        self._consuming = Link(url, "consuming")
        self._declarer = Declarer(self._consuming, topology)
        self._dead = DeadQueue(self._consuming)
        self._publisher = RabbitPublisher(
            self._publishing,
            topology,
            self._clock,
            user=self._user,
            max_body_bytes=max_body_bytes,
            confirm_seconds=confirm_seconds,
        )
        self._consumers: list[RabbitConsumer] = []
        self._declaring: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def user(self) -> str:
        """The AMQP user of the URL."""
        return self._user

    async def open(self) -> None:
        """Connect both ways and declare the topology; raises `Unavailable` naming the server."""
        try:
            await self._consuming.open()
            await self._publishing.open()
            await self._declarer.declare_all()
        except BaseException:
            await self.close()
            raise
        self._consuming.on_reconnect(self._declare_again)

    async def publish(self, message: Outgoing) -> None:
        """Return after the confirm; raises as the port says."""
        await self._publisher.publish(message)

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> RabbitConsumer:
        """Start a consumer that comes back by itself; raises `Unavailable` if it cannot start."""
        consumer = RabbitConsumer(
            queue,
            handler,
            prefetch=prefetch,
            link=self._consuming,
            declarer=self._declarer,
            publisher=self._publisher,
            topology=self._topology,
            clock=self._clock,
        )
        await consumer.start()
        self._consumers.append(consumer)
        return consumer

    def ready(self) -> list[str]:
        """Connections lost, consumers lost, parts of the topology that differ."""
        lost = [
            f"{link.place}: the {link.purpose} connection is lost"
            for link in (self._publishing, self._consuming)
            if not link.connected
        ]
        silent = [consumer.trouble for consumer in self._consumers if consumer.trouble]
        return [*lost, *silent, *self._declarer.differences.values()]

    async def probe(self) -> None:
        """A publish to the probe queue, which keeps one message; raises `Unavailable`."""
        await self.publish(
            Outgoing(PROBE, PROBE, type="placet.probe.v1", body=b"{}", event_id=new_id("evt"))
        )

    async def close(self) -> None:
        """Stop the consumers, let their handlers settle, disconnect."""
        self._closed = True
        if self._declaring is not None:
            await ended(self._declaring)
        await asyncio.gather(*(consumer.stop() for consumer in self._consumers))
        self._consumers.clear()
        await self._publishing.close()
        await self._consuming.close()

    async def dead(self, limit: int = 100) -> list[DeadLetter]:
        """The oldest dead letters; they stay where they are."""
        return await self._dead.peek(limit)

    async def dead_count(self) -> int:
        """How many dead letters there are."""
        return await self._dead.count()

    async def retry_dead(self, id: str) -> None:
        """Publish it again with a confirm, then take it off the dead-letter queue."""
        async with self._dead.take(id) as letter:
            await self._publisher.publish(again(letter), user=letter.delivery.user_id)

    async def drop_dead(self, id: str) -> None:
        """Take it off the dead-letter queue for good."""
        async with self._dead.take(id):
            pass

    def _declare_again(self) -> None:
        # The server may have come back with an empty disk; only queues with a consumer of ours
        # would be declared by that consumer.
        if self._closed:
            return
        if self._declaring is None or self._declaring.done():
            self._declaring = asyncio.create_task(self._declare_until_done())

    async def _declare_until_done(self) -> None:
        while True:
            try:
                await self._consuming.wait()
                return await self._declarer.declare_all()
            except PlacetError as error:
                _log.warning("declaring_failed", reason=str(error))
                await self._clock.sleep(1.0)
