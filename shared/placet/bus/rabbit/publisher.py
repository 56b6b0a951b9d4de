"""Publishes with confirms over a few channels, many confirms in flight on each."""

import asyncio
from itertools import cycle

import aiormq

from placet.bus.port import MAX_BODY_BYTES, Outgoing, check_short_strings
from placet.bus.rabbit.link import Link, is_loss, was_cancelled
from placet.bus.rabbit.wire import properties
from placet.bus.topology import Topology
from placet.clock import Clock
from placet.errors import PlacetError, QueueFull, TooLarge, Unavailable, Unroutable

CHANNELS = 4
CONFIRM_SECONDS = 10.0
"""How long a publish waits for its confirm. Without a limit a queue that lost its leader holds it."""


class Slot:
    """A publishing channel that is opened again when it was lost."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._channel: aiormq.Channel | None = None
        self._opening = asyncio.Lock()

    async def channel(self) -> aiormq.Channel:
        """The open channel; raises `Unavailable`."""
        channel = self._channel
        if channel is not None and not channel.is_closed:
            return channel
        async with self._opening:
            if self._channel is None or self._channel.is_closed:
                self._channel = await self._link.channel(confirms=True)
            return self._channel


class RabbitPublisher:
    """The publishing half of a bus."""

    def __init__(
        self,
        link: Link,
        topology: Topology,
        clock: Clock,
        *,
        user: str,
        max_body_bytes: int = MAX_BODY_BYTES,
        confirm_seconds: float = CONFIRM_SECONDS,
    ) -> None:
        self._link = link
        self._clock = clock
        self._user = user
        self._max_body_bytes = max_body_bytes
        self._confirm_seconds = confirm_seconds
        self._optional = {row.name for row in topology.exchanges if not row.mandatory}
        self._slots = cycle([Slot(link) for _ in range(CHANNELS)])

    async def publish(self, message: Outgoing, *, user: str | None = None) -> None:
        """Return after the confirm; raises as the port says.

        For another `user` than its own the connection needs RabbitMQ's tag `impersonator`.
        """
        check_short_strings(message)
        if len(message.body) > self._max_body_bytes:
            raise TooLarge(
                f"a {message.type} message of {len(message.body)} bytes is over the limit of "
                f"{self._max_body_bytes}"
            )
        await self.publish_any_size(message, user=user)

    async def publish_any_size(self, message: Outgoing, *, user: str | None = None) -> None:
        """What came over the bus may go to the dead letters at the size it had."""
        try:
            async with asyncio.timeout(self._confirm_seconds):
                channel = await next(self._slots).channel()
                await channel.basic_publish(
                    message.body,
                    exchange=message.exchange,
                    routing_key=message.key,
                    properties=properties(message, user or self._user, self._clock.now()),
                    mandatory=message.exchange not in self._optional,
                    wait=False,
                )
        except (Exception, asyncio.CancelledError) as error:
            if was_cancelled() or not is_loss(error):
                raise
            raise self._explain(message, error) from error

    def _explain(self, message: Outgoing, error: BaseException) -> PlacetError:
        target = f"{message.exchange or 'the default exchange'} with the key {message.key}"
        place = self._link.place
        match error:
            case aiormq.exceptions.PublishError():
                return Unroutable(f"{place}: no queue is bound to {target}")
            case aiormq.exceptions.DeliveryError():
                return QueueFull(f"{place} refuses {target}: a queue is full")
            case aiormq.exceptions.ChannelNotFoundEntity() if f"'{message.exchange}'" in str(error):
                return Unroutable(f"{place}: there is no exchange {message.exchange}")
            case TimeoutError():
                seconds = self._confirm_seconds
                return Unavailable(f"{place}: no confirm for {target} in {seconds:g} s")
            case _:
                reason = str(error) or type(error).__name__
                return Unavailable(f"{place}: the publish to {target} was cut off: {reason}")
