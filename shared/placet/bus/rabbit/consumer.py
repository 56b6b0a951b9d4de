"""Consumes one queue, and comes back after whatever happens to channel, queue or server."""

import asyncio
import contextvars

import aiormq
import aiormq.abc
import structlog
from aiormq import spec

from placet.bus.deadletters import bury
from placet.bus.handling import Handling
from placet.bus.port import Ack, Delivery, Handler, Later, Reject
from placet.bus.rabbit.declaring import Declarer
from placet.bus.rabbit.link import (
    Link,
    answered,
    close_channel,
    ended,
    is_loss,
    was_cancelled,
)
from placet.bus.rabbit.publisher import RabbitPublisher
from placet.bus.rabbit.wire import read
from placet.bus.topology import Topology
from placet.clock import Clock
from placet.errors import PlacetError, Unavailable

FIRST_RETRY = 0.2
LONGEST_RETRY = 5.0

_log = structlog.get_logger(__name__)


class RabbitConsumer:
    """One queue's consumer: a loop that keeps a channel consuming, and a task for each delivery."""

    def __init__(
        self,
        queue: str,
        handler: Handler,
        *,
        prefetch: int,
        link: Link,
        declarer: Declarer,
        publisher: RabbitPublisher,
        topology: Topology,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._prefetch = prefetch
        self._link = link
        self._declarer = declarer
        self._publisher = publisher
        self._private = topology.private_for(queue)
        self._clock = clock
        self._handling = Handling(queue, handler, clock)
        self._running: set[asyncio.Task[None]] = set()
        self._keeper: asyncio.Task[None] | None = None
        self._channel: aiormq.Channel | None = None
        self._tag = ""
        # A handler inherits what was bound when it was registered, not what a channel had bound.
        self._context = contextvars.copy_context()
        self.trouble: str | None = f"no consumer on the queue {queue} yet"
        """Why nothing arrives now; None while the server delivers."""

    @property
    def alive(self) -> bool:
        """Whether messages would arrive now."""
        return self.trouble is None and self._link.connected

    async def start(self) -> None:
        """Begin to consume; raises `Unavailable` if that fails the first time, then keeps at it."""
        lost = await self._begin()
        self._keeper = asyncio.create_task(self._keep(lost), name=f"consumer {self._queue}")

    async def stop(self) -> None:
        """Take nothing more and return when the running handlers have settled."""
        if self._keeper is not None:
            await ended(self._keeper)
        self.trouble = f"the consumer of {self._queue} was stopped"
        await self._cancel()
        self._handling.pause.over.set()
        while self._running:
            await asyncio.wait(set(self._running))
        if self._channel is not None:
            await close_channel(self._channel)

    async def _keep(self, lost: asyncio.Event) -> None:
        pause = FIRST_RETRY
        while True:
            await lost.wait()
            try:
                await self._link.wait()
                lost = await self._begin()
                pause = FIRST_RETRY
            except PlacetError as error:
                self.trouble = f"no consumer on the queue {self._queue}: {error}"
                _log.warning("consumer_lost", queue=self._queue, reason=str(error))
                await self._clock.sleep(pause)
                pause = min(LONGEST_RETRY, pause * 2)

    async def _begin(self) -> asyncio.Event:
        """Declare and consume on a fresh channel; the event is set when that channel is done for."""
        if self._channel is not None:
            await close_channel(self._channel)
        if self._private is None:
            await self._declarer.declare_for(self._queue)
        channel = self._channel = await self._link.channel()
        lost = asyncio.Event()
        channel.closing.add_done_callback(lambda _: self._lose(channel, lost, "channel lost"))
        channel.on_consumer_cancel_callbacks.add(
            lambda _: self._lose(channel, lost, "cancelled by the server; was the queue deleted?")
        )
        async with answered(f"{self._link.place}: {self._queue} cannot be consumed"):
            await self._consume(channel)
        if not lost.is_set():
            self.trouble = None
        return lost

    async def _consume(self, channel: aiormq.Channel) -> None:
        if self._private is not None:
            await self._declarer.declare_private(channel, self._queue, self._private)
        await channel.basic_qos(prefetch_count=self._prefetch)
        answer = await channel.basic_consume(self._queue, self._arrived)
        self._tag = answer.consumer_tag or ""

    def _lose(self, channel: aiormq.Channel, lost: asyncio.Event, why: str) -> None:
        if channel is self._channel:
            self.trouble = f"no consumer on the queue {self._queue}: {why}"
        lost.set()

    async def _cancel(self) -> None:
        channel = self._channel
        if channel is None or channel.is_closed:
            return
        try:
            async with answered("the channel was lost"):
                await channel.basic_cancel(self._tag)
        except Unavailable as error:
            _log.debug("cancel_failed", queue=self._queue, reason=str(error))

    async def _arrived(self, message: aiormq.abc.DeliveredMessage) -> None:
        # aiormq cancels its own tasks with the channel; handling must not end half way with it.
        context = self._context.copy()
        loop = asyncio.get_running_loop()
        running = loop.create_task(self._handle(message), context=context)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _handle(self, message: aiormq.abc.DeliveredMessage) -> None:
        delivery = read(message)
        try:
            settled = await self._handling.settle(delivery)
            match settled:
                case Ack():
                    await message.channel.basic_ack(_tag_of(message), wait=False)
                case Reject(reason):
                    await self._reject(message, delivery, reason)
                case Later():
                    await message.channel.basic_nack(_tag_of(message), requeue=True, wait=False)
        except (Exception, asyncio.CancelledError) as error:
            if was_cancelled() or not is_loss(error):
                raise
            # The channel went while this was handled: the message comes again.
            _log.info(
                "settle_lost", queue=self._queue, event_id=delivery.event_id, reason=str(error)
            )

    async def _reject(
        self, message: aiormq.abc.DeliveredMessage, delivery: Delivery, reason: str
    ) -> None:
        _log.warning(
            "rejected",
            queue=self._queue,
            type=delivery.type,
            event_id=delivery.event_id,
            reason=reason,
        )
        try:
            await self._publisher.publish_any_size(bury(delivery, self._queue, reason))
        except PlacetError as error:
            # The queue's own dead-lettering takes it to the same place, without the reason.
            _log.error("dead_letter_without_reason", queue=self._queue, reason=str(error))
            await message.channel.basic_reject(_tag_of(message), requeue=False, wait=False)
        else:
            await message.channel.basic_ack(_tag_of(message), wait=False)


def _tag_of(message: aiormq.abc.DeliveredMessage) -> int:
    delivery = message.delivery
    if isinstance(delivery, spec.Basic.Deliver) and delivery.delivery_tag is not None:
        return delivery.delivery_tag
    raise RuntimeError("a delivery without a tag")
