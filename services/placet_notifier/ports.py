"""What the notifier needs from the outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from placet.messages import Event
from placet_notifier.rules.delivery import Answer, Delivery, Due, State, Verdict
from placet_notifier.rules.endpoint import Endpoint, Secret
from placet_notifier.rules.filters import Entry


@dataclass(frozen=True, slots=True)
class Page:
    """Events that follow one another."""

    entries: Sequence[Entry]
    more: bool
    """Whether there is more behind them already, as far as that is known."""


class EventLog(Protocol):
    """The events of each namespace, numbered 1, 2, 3, ... without a gap."""

    async def append(self, namespace: str, events: Sequence[Event]) -> int:
        """Store those that are not there yet; how many. A reader never sees n + 1 before n."""
        ...

    async def after(self, namespace: str, number: int) -> Page:
        """A page of the events behind `number`, in order and without a gap; empty if there are none.

        The first is `number + 1` unless that is no longer kept.
        """
        ...

    async def span(self, namespace: str) -> tuple[int, int]:
        """The oldest and the newest number that is kept; (1, 0) without any."""
        ...

    async def forget(self, *, limit: int) -> int:
        """Delete what is past its time, never a namespace's newest; how many documents."""
        ...


class Endpoints(Protocol):
    """The webhook endpoints."""

    async def add(self, endpoint: Endpoint) -> Endpoint:
        """Store a new one; returns it, or the one of this id that there is.

        Raises Conflict: the namespace has its sixteen.
        """
        ...

    async def list(self, namespace: str) -> list[Endpoint]:
        """All of a namespace, the oldest first."""
        ...

    async def get(self, namespace: str, id: str) -> Endpoint | None:
        """One of this namespace."""
        ...

    async def remove(self, namespace: str, id: str) -> bool:
        """Delete it; False if there is none."""
        ...

    async def set_secrets(self, endpoint: Endpoint, secrets: Sequence[Secret]) -> Endpoint | None:
        """Replace the secrets of an endpoint that is still as it was read; None: it is not."""
        ...

    async def disable(self, namespace: str, id: str, reason: str) -> None:
        """Send nothing there any more."""
        ...


class Deliveries(Protocol):
    """Every event's way to every endpoint. Waiting and claims go by the database's clock."""

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        """Store those that are not there yet."""
        ...

    async def get(self, namespace: str, id: str) -> Delivery | None:
        """One of this namespace."""
        ...

    async def newest(
        self,
        endpoint_id: str,
        *,
        state: State | None,
        limit: int,
        after: tuple[datetime, str] | None = None,
    ) -> list[Delivery]:
        """Those of an endpoint, the newest first, behind a moment and an id."""
        ...

    async def due(self, *, without: Sequence[str], limit: int) -> list[Due]:
        """What is to be tried now, the longest waiting first, not to these endpoints."""
        ...

    async def next_due(self, *, without: Sequence[str]) -> timedelta | None:
        """How long until the next is due; None if nothing waits."""
        ...

    async def claim(self, id: str) -> Delivery | None:
        """Take it for one try, for as long as the lease; None: another has it, or it is over."""
        ...

    async def record(self, delivery: Delivery, answer: Answer, verdict: Verdict) -> bool:
        """Write what a try brought; False: the claim was lost."""
        ...

    async def again(self, delivery: Delivery) -> Delivery | None:
        """Try it once more, from now on for the whole time; None: it is no longer as it was read."""
        ...

    async def forget(self, *, limit: int) -> int:
        """Delete what ended long enough ago; how many."""
        ...


class Poster(Protocol):
    """Sends one webhook."""

    def check(self, url: str) -> None:
        """Raises Invalid for a URL that nothing can be sent to."""
        ...

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Answer:
        """One try and what it brought; raises nothing for a receiver that fails."""
        ...


class Observer(Protocol):
    """What the use cases tell the metrics."""

    def stored(self, fresh: int, given: int) -> None:
        """Of `given` events, `fresh` were new."""
        ...

    def tried(self, outcome: str, took: timedelta) -> None:
        """One try of one delivery."""
        ...

    def ended(self, state: str) -> None:
        """One delivery came to its end."""
        ...
