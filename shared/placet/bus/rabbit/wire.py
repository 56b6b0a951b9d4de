"""Between AMQP frames and the port's messages."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import aiormq.abc
from aiormq import spec

from placet.bus.deadletters import EXCHANGE, KEY, ORIGIN, QUEUE, REASON, USER
from placet.bus.port import Delivery, Outgoing
from placet.bus.topology import OWN_USERS
from placet.ids import new_id

EVENT_ID = "event-id"
PERSISTENT = 2


def properties(message: Outgoing, user: str, now: datetime) -> spec.Basic.Properties:
    """The properties of one try; `message_id` is this try's own."""
    return spec.Basic.Properties(
        app_id="placet",
        content_type="application/json",
        correlation_id=message.correlation_id,
        delivery_mode=PERSISTENT,
        headers={**message.headers, EVENT_ID: message.event_id},
        message_id=new_id("msg"),
        message_type=message.type,
        reply_to=message.reply_to,
        timestamp=now,
        user_id=user,
    )


def read(message: aiormq.abc.DeliveredMessage) -> Delivery:
    """A delivery as the port has it. Headers that are not text are left out."""
    found = message.header.properties
    headers = {k: v for k, v in (found.headers or {}).items() if isinstance(v, str)}
    return Delivery(
        exchange=message.exchange or "",
        key=message.routing_key or "",
        type=found.message_type or "",
        body=bytes(message.body),
        event_id=headers.pop(EVENT_ID, "") or found.message_id or "",
        correlation_id=found.correlation_id or None,
        user_id=found.user_id or None,
        reply_to=found.reply_to or None,
        headers=headers,
        redelivered=bool(message.redelivered),
        timestamp=found.timestamp,
        message_id=found.message_id or None,
    )


def read_dead(message: aiormq.abc.DeliveredMessage) -> Delivery:
    """A message of the dead-letter queue, with the origin that RabbitMQ or a Placet user vouches for.

    Anybody can put an origin into the headers of a message; it counts only in a dead letter that one
    of Placet's own users published. What RabbitMQ moved itself is described by its `x-death`.
    """
    found = read(message)
    raw = message.header.properties.headers or {}
    if deaths := raw.get("x-death"):
        return _with_headers(found, _native_origin(found, deaths))
    if found.user_id in OWN_USERS:
        return found
    return _with_headers(found, {})


def _native_origin(found: Delivery, deaths: Any) -> dict[str, str]:
    death: Mapping[str, Any] = deaths[0] if isinstance(deaths, list) and deaths else {}
    keys = death.get("routing-keys") or [""]
    return {
        REASON: str(death.get("reason", "unknown")),
        QUEUE: str(death.get("queue", "")),
        EXCHANGE: str(death.get("exchange", "")),
        KEY: str(keys[0]),
        USER: found.user_id or "",
    }


def _with_headers(found: Delivery, origin: dict[str, str]) -> Delivery:
    kept = {k: v for k, v in found.headers.items() if k not in ORIGIN}
    return replace(found, headers={**kept, **origin})
