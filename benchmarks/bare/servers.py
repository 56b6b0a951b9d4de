"""A bare program's MongoDB and RabbitMQ: PyMongo and aio-pika as their documents show them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import aio_pika
from aio_pika.abc import AbstractExchange, AbstractIncomingMessage
from pymongo import AsyncMongoClient, ReturnDocument

CHANNELS = 4
PREFETCH = 64
BODY = b"x" * 600
"""A message of Placet has about this size."""
FILLER = "x" * 1000

Take = Callable[[bytes, str], Awaitable[None]]
"""What is done with a message: its body and its correlation id. It is acknowledged afterwards."""


class Collection:
    """Documents whose conditional writes wait for a majority and the journal."""

    def __init__(self, url: str, database: str) -> None:
        self._client: Any = AsyncMongoClient(url, w="majority", journal=True)
        self._documents = self._client[database]["bare"]

    async def create(self, id: str) -> None:
        """A document at revision 0."""
        await self._documents.insert_one({"_id": id, "revision": 0, "filler": FILLER})

    async def step(self, id: str, revision: int) -> None:
        """One conditional write that brings the document back, as every step of a protocol needs it."""
        image = await self._documents.find_one_and_update(
            {"_id": id, "revision": revision},
            {"$set": {"revision": revision + 1}},
            return_document=ReturnDocument.AFTER,
        )
        if image is None:
            raise AssertionError(f"{id} is not at revision {revision}")

    async def close(self) -> None:
        """Disconnect."""
        await self._client.close()


@dataclass(slots=True)
class Queues:
    """Two quorum queues on an exchange: `one` reaches the first, `both` reaches both."""

    name: str
    connection: aio_pika.abc.AbstractConnection
    exchanges: list[AbstractExchange]
    turn: Any

    @classmethod
    async def open(cls, url: str, name: str, take: Take) -> "Queues":
        """Connect, declare, and consume with `take`."""
        connection = await aio_pika.connect(url)
        channels = [await connection.channel(publisher_confirms=True) for _ in range(CHANNELS)]
        exchanges = [
            await channel.declare_exchange(f"placet.{name}", "direct", durable=True)
            for channel in channels
        ]
        for queue_name, keys in (("a", ("one", "both")), ("b", ("both",))):
            channel = await connection.channel()
            await channel.set_qos(PREFETCH)
            queue = await channel.declare_queue(
                f"placet.{name}.{queue_name}", durable=True, arguments={"x-queue-type": "quorum"}
            )
            for key in keys:
                await queue.bind(exchanges[0].name, key)
            await queue.consume(_acknowledged(take))
        return cls(name, connection, exchanges, cycle(exchanges))

    async def publish(self, key: str, correlation_id: str = "") -> None:
        """One message, durable, confirmed."""
        message = aio_pika.Message(
            BODY,
            correlation_id=correlation_id,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        )
        await next(self.turn).publish(message, key, mandatory=True)

    async def close(self) -> None:
        """Remove what was declared and disconnect."""
        channel = await self.connection.channel()
        for queue_name in ("a", "b"):
            await channel.queue_delete(f"placet.{self.name}.{queue_name}")
        await channel.exchange_delete(f"placet.{self.name}")
        await self.connection.close()


def _acknowledged(take: Take) -> Callable[[AbstractIncomingMessage], Awaitable[None]]:
    async def handle(message: AbstractIncomingMessage) -> None:
        await take(message.body, message.correlation_id or "")
        await message.ack()

    return handle
