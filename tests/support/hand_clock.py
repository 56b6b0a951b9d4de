"""A clock that is turned by hand."""

from datetime import datetime, timedelta

from placet.clock import SystemClock


class HandClock(SystemClock):
    """Time stands where it is put; waits are real."""

    def __init__(self, at: datetime | None = None) -> None:
        self.at = at or SystemClock().now()

    def now(self) -> datetime:
        return self.at

    def turn(self, by: timedelta) -> None:
        """Let time pass."""
        self.at += by
