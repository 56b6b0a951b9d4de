"""Declares the topology, and tells which parts of it exist with other arguments."""

from collections.abc import Awaitable, Callable

import aiormq

from placet.bus.rabbit.link import Link, answered, close_channel
from placet.bus.topology import Exchange, Private, Queue, Topology
from placet.errors import Unavailable

Step = Callable[[aiormq.Channel], Awaitable[object]]


class Declarer:
    """Declares rows of the table over one link, each on a channel that a refusal may cost."""

    def __init__(self, link: Link, topology: Topology) -> None:
        self._link = link
        self._topology = topology
        self.differences: dict[str, str] = {}
        """By the name of the exchange or queue: a sentence on what is wrong with it."""

    async def declare_all(self) -> None:
        """Every exchange, then every queue with its bindings. Raises `Unavailable`."""
        for exchange in self._topology.exchanges:
            await self._exchange(exchange)
        for queue in self._topology.queues:
            await self._queue(queue)

    async def declare_for(self, queue: str) -> None:
        """What a consumer of `queue` needs: the exchange, the queue, its bindings."""
        row = self._topology.queue(queue)
        if row is None:
            return
        for exchange in self._topology.exchanges:
            if exchange.name == row.exchange:
                await self._exchange(exchange)
        await self._queue(row)

    async def declare_private(self, channel: aiormq.Channel, queue: str, row: Private) -> None:
        """An exclusive queue lives on its consumer's connection; raises what the channel raises."""
        await channel.queue_declare(queue, exclusive=True, auto_delete=True)
        if row.exchange is not None:
            for key in row.keys:
                await channel.queue_bind(queue, row.exchange, key)

    async def _exchange(self, row: Exchange) -> None:
        async def declare(channel: aiormq.Channel) -> None:
            await channel.exchange_declare(row.name, exchange_type=row.type, durable=True)

        async def look(channel: aiormq.Channel) -> None:
            await channel.exchange_declare(row.name, passive=True)

        await self._attempt("exchange", row.name, declare, look)

    async def _queue(self, row: Queue) -> None:
        async def declare(channel: aiormq.Channel) -> None:
            await channel.queue_declare(row.name, durable=True, arguments=dict(row.arguments()))
            for key in row.keys if row.exchange else ():
                await channel.queue_bind(row.name, row.exchange or "", key)

        async def look(channel: aiormq.Channel) -> None:
            await channel.queue_declare(row.name, passive=True)

        await self._attempt("queue", row.name, declare, look)

    async def _attempt(self, what: str, name: str, declare: Step, look: Step) -> None:
        """Declare; where this user may not, it is enough that the thing is there."""
        try:
            await self._on_channel(declare)
        except aiormq.exceptions.ChannelPreconditionFailed as error:
            remedy = "delete it when it is empty, or run the version that declared it"
            self.differences[name] = (
                f"the {what} {name} exists with other arguments ({error}): {remedy}"
            )
        except aiormq.exceptions.ChannelAccessRefused:
            await self._look(what, name, look)
        except aiormq.exceptions.ChannelNotFoundEntity as error:
            self.differences[name] = f"the {what} {name} cannot be bound: {error}"
        else:
            self.differences.pop(name, None)

    async def _look(self, what: str, name: str, look: Step) -> None:
        try:
            await self._on_channel(look)
        except aiormq.exceptions.ChannelClosed as error:
            self.differences[name] = (
                f"the {what} {name} is missing and this user may not declare it ({error}): "
                "run `placet topology apply` as a user who may"
            )
        else:
            self.differences.pop(name, None)

    async def _on_channel(self, step: Step) -> None:
        channel = await self._link.channel()
        try:
            async with answered(f"{self._link.place}: the topology cannot be declared"):
                await step(channel)
        except Unavailable as error:
            if isinstance(error.__cause__, aiormq.exceptions.ChannelClosed):
                raise error.__cause__ from None
            raise
        finally:
            await close_channel(channel)
