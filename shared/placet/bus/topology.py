"""Every exchange, queue and binding, as one table that both buses follow."""

from dataclasses import dataclass
from typing import Literal

DEAD = "placet.dead"
PROBE = "placet.probe"
OWN_USERS = frozenset({"placet-runner", "placet-broker", "placet-notifier"})
RETRYABLE_EXCHANGES = frozenset({"placet.runs", "placet.events"})
"""Where Placet's own commands and events go: what an operator may publish again."""

REQUEST_KEYS = (
    "tool_approval",
    "confirm",
    "free_text",
    "multiple_choice",
    "questions",
    "form",
    "url",
    "edit_text",
    "review",
    "close",
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A durable exchange. `mandatory`: a message that reaches no queue is the publisher's error."""

    name: str
    type: Literal["direct", "topic", "fanout"]
    mandatory: bool = True


@dataclass(frozen=True, slots=True)
class Queue:
    """A durable quorum queue and the keys it is bound to on one exchange.

    Full, it refuses publishes; after `delivery_limit` deliveries that nobody settled a message goes
    to the dead-letter exchange (at least once) under the queue's name.
    """

    name: str
    exchange: str | None
    keys: tuple[str, ...] = ()
    max_length: int = 100_000
    delivery_limit: int = 20
    dead_letter: bool = True
    overflow: Literal["reject-publish", "drop-head"] = "reject-publish"

    def arguments(self) -> dict[str, str | int]:
        """The arguments of the declaration, in RabbitMQ's words."""
        arguments: dict[str, str | int] = {
            "x-queue-type": "quorum",
            "x-max-length": self.max_length,
            "x-overflow": self.overflow,
            "x-delivery-limit": self.delivery_limit,
        }
        if self.dead_letter:
            arguments["x-dead-letter-exchange"] = DEAD
            arguments["x-dead-letter-routing-key"] = self.name
            arguments["x-dead-letter-strategy"] = "at-least-once"
        return arguments


@dataclass(frozen=True, slots=True)
class Private:
    """Queues named `PREFIX` + an id: exclusive to one consumer, gone with it."""

    prefix: str
    exchange: str | None
    keys: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Topology:
    """The whole table."""

    exchanges: tuple[Exchange, ...]
    queues: tuple[Queue, ...]
    private: tuple[Private, ...] = ()

    def mandatory(self, exchange: str) -> bool:
        """Whether a publish there must reach a queue; True for one that is not in it."""
        return next((e.mandatory for e in self.exchanges if e.name == exchange), True)

    def private_for(self, queue: str) -> Private | None:
        """The row a private queue's name belongs to; None for a shared queue."""
        return next((p for p in self.private if queue.startswith(p.prefix)), None)

    def queue(self, name: str) -> Queue | None:
        """The row of a shared queue."""
        return next((q for q in self.queues if q.name == name), None)


ENDED = ("*.run.completed", "*.run.failed", "*.run.cancelled")
NEVER = 1_000_000
"""A delivery limit for queues that are looked at again and again, where each look counts as one."""

TOPOLOGY = Topology(
    exchanges=(
        Exchange("placet.runs", "direct"),
        Exchange("placet.requests", "direct"),
        Exchange("placet.answers", "direct"),
        Exchange("placet.resolutions", "direct"),
        Exchange("placet.events", "topic", mandatory=False),
        Exchange("placet.control", "fanout", mandatory=False),
        Exchange(DEAD, "topic"),
        Exchange(PROBE, "direct"),
    ),
    queues=(
        # First what the others' dead letters need.
        Queue(DEAD, DEAD, ("#",), delivery_limit=NEVER, dead_letter=False),
        Queue(PROBE, PROBE, (PROBE,), max_length=1, dead_letter=False, overflow="drop-head"),
        Queue("placet.runner.runs", "placet.runs", ("start", "wake", "message", "abort", "child")),
        Queue("placet.runner.resolutions", "placet.resolutions", ("resolution",)),
        Queue("placet.broker.requests", "placet.requests", REQUEST_KEYS),
        Queue("placet.broker.answers", "placet.answers", ("answer",)),
        Queue("placet.broker.runs", "placet.events", ENDED),
        Queue("placet.notifier.events", "placet.events", ("#",)),
    ),
    private=(
        Private("placet.runner.control.", "placet.control"),
        Private("placet.reply.", None, ()),
    ),
)
