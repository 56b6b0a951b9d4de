"""What a dead letter carries, and which of them may be published again."""

from collections.abc import Mapping
from dataclasses import replace

from placet.bus.port import DeadLetter, Delivery, Outgoing
from placet.bus.topology import DEAD, OWN_USERS, RETRYABLE_EXCHANGES
from placet.errors import Conflict
from placet.ids import derived_id

REASON = "placet-reason"
QUEUE = "placet-queue"
EXCHANGE = "placet-exchange"
KEY = "placet-key"
USER = "placet-user"
ORIGIN = frozenset({REASON, QUEUE, EXCHANGE, KEY, USER})


def bury(delivery: Delivery, queue: str, reason: str) -> Outgoing:
    """The dead letter of a delivery that `queue`'s consumer rejected."""
    origin = {
        REASON: reason,
        QUEUE: queue,
        EXCHANGE: delivery.exchange,
        KEY: delivery.key,
        USER: delivery.user_id or "",
    }
    return Outgoing(
        exchange=DEAD,
        key=queue,
        type=delivery.type,
        body=delivery.body,
        event_id=delivery.event_id,
        correlation_id=delivery.correlation_id,
        reply_to=delivery.reply_to,
        headers={**delivery.headers, **origin},
    )


def exhume(found: Delivery) -> DeadLetter:
    """Read a message of the dead-letter queue; one without our headers was put there by hand.

    The caller has made sure that the headers are ours: they say who published what was rejected.
    """
    headers: Mapping[str, str] = found.headers
    original = replace(
        found,
        exchange=headers.get(EXCHANGE, found.exchange),
        key=headers.get(KEY, found.key),
        user_id=headers.get(USER, found.user_id or "") or None,
        headers={k: v for k, v in headers.items() if k not in ORIGIN},
    )
    return DeadLetter(
        id=found.message_id or derived_id("msg", found.type, found.event_id, found.body.hex()),
        queue=headers.get(QUEUE, found.key),
        reason=headers.get(REASON, "published to the dead-letter exchange, with no reason"),
        dead_at=found.timestamp,
        delivery=original,
    )


def again(letter: DeadLetter) -> Outgoing:
    """The message to publish for a retry; raises `Conflict` saying why there is none."""
    was = letter.delivery
    own = was.user_id in OWN_USERS and was.type.startswith("placet.")
    if not own or was.exchange not in RETRYABLE_EXCHANGES:
        detail = (
            f"dead letter {letter.id} ({was.type or 'no type'} from {was.user_id or 'nobody'} to "
            f"{was.exchange or 'a queue'}) is not one of Placet's own commands or events: "
            "drop it and let its sender send it again"
        )
        raise Conflict(detail, code="not_retryable")
    return Outgoing(
        exchange=was.exchange,
        key=was.key,
        type=was.type,
        body=was.body,
        event_id=was.event_id,
        correlation_id=was.correlation_id,
        reply_to=was.reply_to,
        headers=was.headers,
    )
