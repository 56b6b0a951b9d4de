"""Time as a port, so that rules read no clock and tests turn it by hand."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


def in_ms(at: datetime) -> datetime:
    """A time to the millisecond, which is what the stores keep; the rest is cut off."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


class Clock(Protocol):
    """Wall time for records, monotonic time for spans, and a wait."""

    def now(self) -> datetime:
        """The time now, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The time now, aware, in UTC, to the millisecond (what the stores keep)."""
        return in_ms(datetime.now(UTC))

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await asyncio.sleep(seconds)
