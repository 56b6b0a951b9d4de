"""The dead-letter queue as the operator works on it: look, take one out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiormq
from aiormq import spec

from placet.bus.deadletters import exhume
from placet.bus.port import DeadLetter
from placet.bus.rabbit.link import RPC_SECONDS, Link, close_channel, unavailable
from placet.bus.rabbit.wire import read_dead
from placet.bus.topology import DEAD
from placet.errors import NotFound

LOOKED_THROUGH = 100_000


class DeadQueue:
    """Reads with `basic.get` on a channel of its own; closing it returns what was not acked."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def peek(self, limit: int) -> list[DeadLetter]:
        """The oldest `limit` dead letters."""
        async with self._channel() as channel:
            return [letter async for letter, _ in _letters(channel, limit)]

    async def count(self) -> int:
        """How many there are."""
        async with self._channel() as channel:
            async with asyncio.timeout(RPC_SECONDS):
                declared = await channel.queue_declare(DEAD, passive=True)
            return declared.message_count or 0

    @asynccontextmanager
    async def take(self, id: str) -> AsyncIterator[DeadLetter]:
        """One dead letter; it is gone when the block ends well, and back in the queue otherwise."""
        async with self._channel() as channel:
            async for letter, tag in _letters(channel, LOOKED_THROUGH):
                if letter.id == id:
                    yield letter
                    await channel.basic_ack(tag)
                    return
        raise NotFound(f"there is no dead letter {id}")

    @asynccontextmanager
    async def _channel(self) -> AsyncIterator[aiormq.Channel]:
        channel = await self._link.channel()
        try:
            with unavailable(f"{self._link.place}: {DEAD} cannot be read"):
                yield channel
        finally:
            await close_channel(channel)


async def _letters(channel: aiormq.Channel, limit: int) -> AsyncIterator[tuple[DeadLetter, int]]:
    for _ in range(limit):
        async with asyncio.timeout(RPC_SECONDS):
            message = await channel.basic_get(DEAD)
        got = message.delivery
        if not isinstance(got, spec.Basic.GetOk) or got.delivery_tag is None:
            return
        yield exhume(read_dead(message)), got.delivery_tag
