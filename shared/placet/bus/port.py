"""The bus as the services see it: publish with a confirm, consume with a settlement."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from placet.errors import TooLarge

MAX_BODY_BYTES = 1024 * 1024 + 256 * 1024
"""The largest body a bus takes: what an API takes (1 MiB) and room for what goes around it."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to publish. `event_id` is the same on every try; consumers dedupe by it.

    With `exchange=""` the `key` is a queue's name, or the `reply_to` of a request.
    """

    exchange: str
    key: str
    type: str
    body: bytes = field(repr=False)
    event_id: str
    correlation_id: str | None = None
    reply_to: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


SHORT_STRING = 255


def check_short_strings(message: Outgoing) -> None:
    """Raise `TooLarge` for a word that AMQP has no room for: 255 bytes each."""
    words = (message.exchange, message.key, message.type, message.correlation_id, message.reply_to)
    for word in words:
        if word is not None and len(word.encode()) > SHORT_STRING:
            raise TooLarge(
                f"a {message.type[:60]} message has a word of over {SHORT_STRING} bytes in its head"
            )


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that arrived; the server validated `user_id`, the AMQP user who published it."""

    exchange: str
    key: str
    type: str
    body: bytes = field(repr=False)
    event_id: str
    correlation_id: str | None
    user_id: str | None
    reply_to: str | None
    headers: Mapping[str, str]
    redelivered: bool
    timestamp: datetime | None
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Ack:
    """It is durable that this will be done, or there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Reject:
    """It can never be handled: to the dead-letter queue, with the reason (one line, no content)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Later:
    """Not now (the database is away): it comes back after a pause, and no try is counted."""


Settle = Ack | Reject | Later
Handler = Callable[[Delivery], Awaitable[Settle]]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What could not be handled: `queue` is where it failed, `delivery` is as it arrived there."""

    id: str
    queue: str
    reason: str
    dead_at: datetime | None
    delivery: Delivery


class Consumption(Protocol):
    """A running consumer."""

    @property
    def alive(self) -> bool:
        """Whether messages would arrive now."""
        ...

    async def stop(self) -> None:
        """Take nothing more and return when the running handlers have settled.

        What was held back by `Later` returns to the queue.
        """
        ...


class Bus(Protocol):
    """One service's way to the bus, under its own user name."""

    @property
    def user(self) -> str:
        """The AMQP user that every message carries as `user_id`."""
        ...

    async def open(self) -> None:
        """Connect and declare the topology; raises `Unavailable` naming the server.

        A queue or exchange that exists with other arguments does not fail this; `ready()` names it.
        """
        ...

    async def publish(self, message: Outgoing) -> None:
        """Return once the server has confirmed that it keeps the message.

        Raises `TooLarge`, `Unroutable`, `QueueFull`, or `Unavailable` (no confirm in time: it may
        have been published nevertheless, so publish it again with the same `event_id`).
        """
        ...

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Consumption:
        """Call `handler` for each message, at least once, at most `prefetch` at a time, unordered.

        Every delivery is settled, whatever the handler does: one that raises `Unavailable`
        counts as `Later`, one that keeps raising anything else is rejected with the exception's
        name and text.
        A private queue (`placet.runner.control.ID`, `placet.reply.USER.ID`) is declared for this
        consumer and goes with it.
        """
        ...

    def ready(self) -> list[str]:
        """Why this bus is not ready, in sentences; empty when it is."""
        ...

    async def probe(self) -> None:
        """Publish with a confirm to the probe queue; raises `Unavailable` when none comes."""
        ...

    async def close(self) -> None:
        """Stop the consumers and disconnect."""
        ...

    async def dead(self, limit: int = 100) -> list[DeadLetter]:
        """The oldest dead letters; they stay where they are.

        For a moment after a look they may be missing from the next one, until the server has put
        them back.
        """
        ...

    async def dead_count(self) -> int:
        """How many dead letters there are."""
        ...

    async def retry_dead(self, id: str) -> None:
        """Publish a dead letter again to where it first went, then take it off its queue.

        It keeps its sender, which RabbitMQ allows to that very user and to one with the tag
        `impersonator`. Raises `NotFound`; `Conflict` when it is not one of Placet's own commands or events.
        """
        ...

    async def drop_dead(self, id: str) -> None:
        """Take a dead letter off the queue for good. Raises `NotFound`."""
        ...
