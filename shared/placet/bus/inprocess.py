"""The in-process twin of the RabbitMQ bus: the same table, the same settlements, no server.

Its queues live as long as the process; what was in them comes again from the databases' outboxes.
"""

import asyncio

from placet.bus.deadletters import again, exhume
from placet.bus.hub import Item, MemoryConsumer, MemoryQueue, MemoryServer
from placet.bus.port import (
    MAX_BODY_BYTES,
    Consumption,
    DeadLetter,
    Handler,
    Outgoing,
    check_short_strings,
)
from placet.bus.topology import DEAD, TOPOLOGY, Topology
from placet.clock import Clock, SystemClock
from placet.errors import NotFound, TooLarge, Unavailable


class Hub:
    """One process's bus; each service takes a handle under its own user name."""

    def __init__(self, topology: Topology = TOPOLOGY, *, clock: Clock | None = None) -> None:
        self.server = MemoryServer(topology, clock or SystemClock())

    def bus(self, user: str, *, max_body_bytes: int = MAX_BODY_BYTES) -> "InProcessBus":
        """A handle for `user`; `open()` it before use."""
        return InProcessBus(self.server, user, max_body_bytes)

    def cut(self) -> None:
        """As if the server were away: publishes fail, consumers take nothing more."""
        self.server.away = True

    def mend(self) -> None:
        """Undo `cut`; the consumers go on by themselves."""
        self.server.away = False
        for queue in self.server.queues.values():
            for _ in range(len(queue.items)):
                queue.pump()

    def lose(self) -> int:
        """Forget every message that waits in a queue, as a wiped disk would; returns how many."""
        lost = sum(len(queue.items) for queue in self.server.queues.values())
        for queue in self.server.queues.values():
            queue.items.clear()
        return lost


class InProcessBus:
    """One user's handle on a `Hub`; implements `Bus`."""

    def __init__(self, server: MemoryServer, user: str, max_body_bytes: int) -> None:
        self._server = server
        self._user = user
        self._max_body_bytes = max_body_bytes
        self._consumers: list[MemoryConsumer] = []
        self._open = False

    @property
    def user(self) -> str:
        """The user name that every message carries."""
        return self._user

    async def open(self) -> None:
        """Start to take publishes."""
        if self._server.away:
            raise Unavailable("the in-process bus is away")
        self._open = True

    async def publish(self, message: Outgoing) -> None:
        """Return once it is enqueued; raises as the port says."""
        check_short_strings(message)
        self._must_be_open()
        if len(message.body) > self._max_body_bytes:
            raise TooLarge(
                f"a {message.type} message of {len(message.body)} bytes is over the limit of "
                f"{self._max_body_bytes}"
            )
        self._server.publish(message, self._user)
        # A publisher in a loop must not keep the consumers from running.
        await asyncio.sleep(0)

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Consumption:
        """Start a consumer; a private queue is made for it."""
        self._must_be_open()
        consumer = MemoryConsumer(self._server, self._queue(queue), handler, prefetch)
        self._consumers.append(consumer)
        return consumer

    def ready(self) -> list[str]:
        """Why this bus is not ready."""
        if not self._open or self._server.away:
            return ["the in-process bus is not open"]
        return []

    async def probe(self) -> None:
        """Raise `Unavailable` unless the bus is open."""
        self._must_be_open()

    async def close(self) -> None:
        """Stop this handle's consumers; the queues stay."""
        self._open = False
        await asyncio.gather(*(consumer.stop() for consumer in self._consumers))
        self._consumers.clear()

    async def dead(self, limit: int = 100) -> list[DeadLetter]:
        """The oldest dead letters; they stay where they are."""
        self._must_be_open()
        items = self._server.queues[DEAD].items
        return [exhume(item.delivery) for item in list(items)[:limit]]

    async def dead_count(self) -> int:
        """How many dead letters there are."""
        self._must_be_open()
        return len(self._server.queues[DEAD].items)

    async def retry_dead(self, id: str) -> None:
        """Publish a dead letter again, then drop it."""
        item, letter = self._find(id)
        self._server.publish(again(letter), letter.delivery.user_id or "")
        self._server.queues[DEAD].items.remove(item)

    async def drop_dead(self, id: str) -> None:
        """Take a dead letter off the queue for good."""
        item, _ = self._find(id)
        self._server.queues[DEAD].items.remove(item)

    def _find(self, id: str) -> tuple[Item, DeadLetter]:
        self._must_be_open()
        for item in self._server.queues[DEAD].items:
            letter = exhume(item.delivery)
            if letter.id == id:
                return item, letter
        raise NotFound(f"there is no dead letter {id}")

    def _queue(self, name: str) -> MemoryQueue:
        if name in self._server.queues:
            return self._server.queues[name]
        private = self._server.topology.private_for(name)
        if private is None:
            raise Unavailable(f"there is no queue {name}")
        queue = MemoryQueue(name, max_length=10_000, delivery_limit=20)
        self._server.add(queue, private.exchange, private.keys)
        return queue

    def _must_be_open(self) -> None:
        if not self._open or self._server.away:
            raise Unavailable("the in-process bus is not open")
