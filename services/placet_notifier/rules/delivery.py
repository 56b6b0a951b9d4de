"""One event's way to one endpoint: when it is tried again, and when it is over."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

import orjson

from placet.ids import derived_id
from placet.messages import Event

FIRST = timedelta(seconds=5)
LONGEST = timedelta(hours=1)
PATIENCE = timedelta(days=3)
"""How long a delivery is tried."""
_CALM = timedelta(minutes=40)
"""With the largest spread this makes LONGEST."""
_GONE = 410
_BUSY = frozenset({429, 503})


class State(StrEnum):
    """Where a delivery is."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Tried for as long as we try, or the endpoint said that it is gone."""
    DROPPED = "dropped"
    """The endpoint was deleted or disabled meanwhile."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery as stored; its id is the `webhook-id` of every try."""

    id: str
    namespace: str
    endpoint_id: str
    event_id: str
    type: str
    body: str = field(repr=False)
    state: State
    attempts: int
    created_at: datetime
    give_up_at: datetime
    next_at: datetime | None = None
    last_at: datetime | None = None
    last_status: int | None = None
    last_error: str | None = None
    claim: str | None = None
    """What the holder of the claim writes under."""

    def view(self) -> dict[str, Any]:
        """What the API shows."""
        return {
            "id": self.id,
            "webhook_id": self.endpoint_id,
            "event_id": self.event_id,
            "type": self.type,
            "state": self.state,
            "attempts": self.attempts,
            "created_at": self.created_at,
            "next_at": self.next_at,
            "last_at": self.last_at,
            "last_status": self.last_status,
            "last_error": self.last_error,
        }


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery to be tried now, and to which endpoint."""

    id: str
    endpoint_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What one try brought: a status with its Retry-After, or why there is none."""

    status: int | None = None
    retry_after: str | None = None
    error: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the receiver has it. A redirect is a failure like any other."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def outcome(self) -> str:
        """One word for metrics."""
        if self.status is None:
            return "no_answer"
        return "ok" if self.accepted else "refused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a delivery after a try; `wait` only while it is pending."""

    state: State
    wait: timedelta | None = None
    disable: bool = False


def delivery_for(event: Event, endpoint_id: str, now: datetime) -> Delivery:
    """The delivery of this event there; the same again has the same id."""
    return Delivery(
        id=derived_id("dlv", event.id, endpoint_id),
        namespace=event.namespace,
        endpoint_id=endpoint_id,
        event_id=event.id,
        type=event.type.value,
        body=payload(event).decode(),
        state=State.PENDING,
        attempts=0,
        created_at=now,
        give_up_at=now + PATIENCE,
    )


def payload(event: Event) -> bytes:
    """The body: `type`, `timestamp` and the event as `data`. Events hold no content of answers."""
    data = event.model_dump(mode="json")
    return orjson.dumps({"type": data["type"], "timestamp": data["at"], "data": data})


def verdict(answer: Answer, delivery: Delivery, now: datetime, spread: float) -> Verdict:
    """What to do after a try; `spread` is random, from 0 to 1."""
    if answer.accepted:
        return Verdict(State.DELIVERED)
    if answer.status == _GONE:
        return Verdict(State.FAILED, disable=True)
    wait = pause(delivery.attempts, spread)
    if answer.status in _BUSY:
        wait = max(wait, min(LONGEST, asked_for(answer.retry_after, now)))
    if now + wait > delivery.give_up_at:
        return Verdict(State.FAILED)
    return Verdict(State.PENDING, wait)


def pause(attempts: int, spread: float) -> timedelta:
    """The wait after so many tries: 5 s, twice as long each time up to 1 h, never at once for many."""
    calm = min(_CALM, FIRST * (1 << min(max(attempts, 1) - 1, 20)))
    return calm * (1 + spread / 2)


def asked_for(retry_after: str | None, now: datetime) -> timedelta:
    """A Retry-After header, seconds or a date; nothing or nonsense is no wait."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), 10**8))
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError):
        return timedelta(0)
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(timedelta(0), until - now)


def chosen(due: Sequence[Due], under_way: Mapping[str, int], most: int) -> list[str]:
    """Ids of those that may start now, at most so many under way to one endpoint."""
    counts = Counter(under_way)
    ids: list[str] = []
    for each in due:
        if counts[each.endpoint_id] < most:
            counts[each.endpoint_id] += 1
            ids.append(each.id)
    return ids
