"""The in-process bus's server side: exchanges, bindings, queues and their consumers."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import cast

from placet.bus.deadletters import bury
from placet.bus.handling import Handling
from placet.bus.port import Ack, Delivery, Handler, Later, Outgoing, Reject
from placet.bus.topology import DEAD, Topology
from placet.clock import Clock
from placet.errors import QueueFull, Unavailable, Unroutable
from placet.ids import new_id


@dataclass(slots=True)
class Item:
    """A message in a queue and how often it came back."""

    delivery: Delivery
    returns: int = 0


class MemoryQueue:
    """First in, first out, to competing consumers in turn."""

    def __init__(self, name: str, max_length: int, delivery_limit: int) -> None:
        self.name = name
        self.items: deque[Item] = deque()
        self.consumers: deque[MemoryConsumer] = deque()
        self._max_length = max_length
        self._delivery_limit = delivery_limit

    @property
    def full(self) -> bool:
        """Whether a publish would be refused."""
        return len(self.items) >= self._max_length

    def put(self, item: Item) -> None:
        """Add at the end and wake a consumer that has room."""
        self.items.append(item)
        self.pump()

    def put_back(self, item: Item) -> bool:
        """Return an unsettled message to the front; False when it came back too often."""
        item.returns += 1
        if item.returns > self._delivery_limit:
            return False
        item.delivery = replace(item.delivery, redelivered=True)
        self.items.appendleft(item)
        self.pump()
        return True

    def pump(self) -> None:
        """Start one worker, of the next consumer in turn that has room."""
        for _ in range(len(self.consumers)):
            consumer = self.consumers[0]
            self.consumers.rotate(-1)
            if consumer.start_worker():
                return


class MemoryServer:
    """All queues of one process; `topology` is the table it follows."""

    def __init__(self, topology: Topology, clock: Clock) -> None:
        self.topology = topology
        self.clock = clock
        self.away = False
        self.queues: dict[str, MemoryQueue] = {}
        self._bindings: dict[str, list[tuple[str, MemoryQueue]]] = {}
        self._routes: dict[tuple[str, str], tuple[MemoryQueue, ...]] = {}
        self._types = {exchange.name: exchange.type for exchange in topology.exchanges}
        for row in topology.queues:
            self.add(
                MemoryQueue(row.name, row.max_length, row.delivery_limit), row.exchange, row.keys
            )

    def add(self, queue: MemoryQueue, exchange: str | None, keys: Iterable[str]) -> None:
        """Declare a queue and bind it."""
        self.queues[queue.name] = queue
        if exchange is not None:
            self._bindings.setdefault(exchange, []).extend((key, queue) for key in keys)
        self._routes.clear()

    def remove(self, queue: MemoryQueue) -> None:
        """Delete a queue with its bindings and messages."""
        self.queues.pop(queue.name, None)
        for exchange, bound in self._bindings.items():
            self._bindings[exchange] = [(key, other) for key, other in bound if other is not queue]
        self._routes.clear()

    def publish(self, message: Outgoing, user: str) -> None:
        """Enqueue it wherever it belongs, or raise as the port says."""
        if self.away:
            raise Unavailable("the in-process bus is away")
        queues = self._route(message.exchange, message.key)
        if not queues and self.topology.mandatory(message.exchange):
            raise Unroutable(
                f"no queue is bound to {message.exchange or 'the default exchange'} "
                f"for the key {message.key}"
            )
        if full := [queue.name for queue in queues if queue.full]:
            raise QueueFull(f"the queue {', '.join(full)} is full")
        delivery = self._delivery(message, user)
        for queue in queues:
            queue.put(Item(delivery))

    def bury(self, item: Item, queue: str, reason: str) -> None:
        """Move a message to the dead-letter queue, which takes it even when it is full."""
        letter = bury(item.delivery, queue, reason)
        user = item.delivery.user_id or ""
        self.queues[DEAD].put(Item(self._delivery(letter, user)))

    def _delivery(self, message: Outgoing, user: str) -> Delivery:
        return Delivery(
            exchange=message.exchange,
            key=message.key,
            type=message.type,
            body=message.body,
            event_id=message.event_id,
            correlation_id=message.correlation_id,
            user_id=user or None,
            reply_to=message.reply_to,
            headers=dict(message.headers),
            redelivered=False,
            timestamp=self.clock.now(),
            message_id=new_id("msg"),
        )

    def _route(self, exchange: str, key: str) -> tuple[MemoryQueue, ...]:
        known = self._routes.get((exchange, key))
        return known if known is not None else self._find_route(exchange, key)

    def _find_route(self, exchange: str, key: str) -> tuple[MemoryQueue, ...]:
        if not exchange:
            queue = self.queues.get(key)
            return (queue,) if queue else ()
        if exchange not in self._types:
            raise Unroutable(f"there is no exchange {exchange}")
        fits: dict[str, Callable[[str, str], bool]] = {
            "direct": str.__eq__,
            "topic": topic_fits,
            "fanout": _always,
        }
        fit = fits[self._types[exchange]]
        bound = self._bindings.get(exchange, [])
        found = dict.fromkeys(queue for pattern, queue in bound if fit(pattern, key))
        if len(self._routes) < _ROUTES_KEPT:
            self._routes[exchange, key] = tuple(found)
        return tuple(found)


_ROUTES_KEPT = 10_000


def _always(_pattern: str, _key: str) -> bool:
    return True


def topic_fits(pattern: str, key: str) -> bool:
    """Whether a topic binding covers a key: `*` is one word, `#` any number of them."""
    return _words_fit(pattern.split("."), key.split("."))


def _words_fit(pattern: list[str], words: list[str]) -> bool:
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(_words_fit(pattern[1:], words[start:]) for start in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and _words_fit(pattern[1:], words[1:])


class MemoryConsumer:
    """Workers, at most `prefetch`, that take messages until there are none."""

    def __init__(
        self, server: MemoryServer, queue: MemoryQueue, handler: Handler, prefetch: int
    ) -> None:
        self._server = server
        self._queue = queue
        self._handling = Handling(queue.name, handler, server.clock)
        self._prefetch = prefetch
        self._workers: set[asyncio.Task[None]] = set()
        self._stopped = False
        # A worker must not inherit what the publisher had bound (its run, its trace).
        self._context = contextvars.copy_context()
        queue.consumers.append(self)
        for _ in range(min(prefetch, len(queue.items))):
            self.start_worker()

    @property
    def alive(self) -> bool:
        """Whether messages would arrive now."""
        return not self._stopped and self._queue.name in self._server.queues

    def start_worker(self) -> bool:
        """Start a worker if there is room for one."""
        if self._stopped or len(self._workers) >= self._prefetch:
            return False
        context = self._context.copy()
        worker = asyncio.get_running_loop().create_task(self._work(), context=context)
        self._workers.add(worker)
        return True

    async def stop(self) -> None:
        """Take nothing more and return when the running handlers have settled."""
        self._stopped = True
        self._handling.pause.over.set()
        if self in self._queue.consumers:
            self._queue.consumers.remove(self)
        if self._server.topology.private_for(self._queue.name):
            self._server.remove(self._queue)
        if self._workers:
            await asyncio.wait(set(self._workers))

    async def _work(self) -> None:
        try:
            while not self._stopped and not self._server.away and self._queue.items:
                await self._one(self._queue.items.popleft())
        finally:
            # In the same step as the look at the queue: a message that comes now starts a worker.
            self._workers.discard(cast("asyncio.Task[None]", asyncio.current_task()))
            if self._queue.items and not self._server.away:
                self._queue.pump()

    async def _one(self, item: Item) -> None:
        try:
            settled = await self._handling.settle(item.delivery)
        except BaseException:
            self._return(item)
            raise
        match settled:
            case Ack():
                pass
            case Reject(reason):
                self._server.bury(item, self._queue.name, reason)
            case Later():
                self._return(item)

    def _return(self, item: Item) -> None:
        if not self._queue.put_back(item):
            self._server.bury(item, self._queue.name, "delivered too often")
