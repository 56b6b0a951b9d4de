"""A webhook endpoint: where to, which events, and the secrets that sign."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from placet.messages import Event

MOST = 16
"""Endpoints of one namespace."""
OVERLAP = timedelta(hours=24)
"""How long the old secret signs too after a rotation."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, and until when it signs; None: until it is rotated."""

    value: str = field(repr=False)
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint as stored. `rev` counts its changes."""

    id: str
    namespace: str
    url: str
    types: tuple[str, ...]
    description: str
    created_at: datetime
    created_by: str
    secrets: tuple[Secret, ...] = field(repr=False)
    """The newest first; at most two."""
    disabled_at: datetime | None = None
    disabled_reason: str | None = None
    rev: int = 0
    once: str | None = None
    """Of what it was made, where its maker may send that again."""

    @property
    def enabled(self) -> bool:
        """Whether anything is sent there."""
        return self.disabled_at is None

    def wants(self, event: Event) -> bool:
        """Whether this event goes there: only what happens after the endpoint exists."""
        fits = not self.types or event.type.value in self.types
        return self.enabled and fits and event.at >= self.created_at

    def signing(self, now: datetime) -> list[str]:
        """The secrets that sign now, the newest first."""
        return [each.value for each in self.secrets if each.until is None or now < each.until]

    def rotated(self, secret: str, now: datetime) -> tuple[Secret, ...]:
        """The secrets after a rotation: the new one, and the one before for a day."""
        return (Secret(secret), Secret(self.secrets[0].value, now + OVERLAP))

    def view(self, now: datetime) -> dict[str, Any]:
        """What the API shows: never a secret."""
        olds = [s.until for s in self.secrets[1:] if s.until is not None and now < s.until]
        return {
            "id": self.id,
            "url": self.url,
            "types": list(self.types),
            "description": self.description,
            "created_at": self.created_at,
            "created_by": self.created_by,
            "disabled_at": self.disabled_at,
            "disabled_reason": self.disabled_reason,
            "old_secret_until": max(olds, default=None),
        }


def free_slots(taken: Sequence[int]) -> list[int]:
    """The slots of a namespace that are free, of `MOST`."""
    return [slot for slot in range(MOST) if slot not in taken]
