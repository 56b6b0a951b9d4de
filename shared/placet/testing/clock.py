"""A clock that is turned by hand."""

from datetime import datetime, timedelta

from placet.clock import SystemClock


class HandClock(SystemClock):
    """Time stands where it is put, so that days pass in no time; waits of a few seconds are real."""

    def __init__(self, at: datetime | None = None) -> None:
        """Start at this time, or now."""
        self.at = at or SystemClock().now()

    def now(self) -> datetime:
        """Where it was put."""
        return self.at

    def turn(self, by: timedelta) -> None:
        """Let time pass."""
        self.at += by
