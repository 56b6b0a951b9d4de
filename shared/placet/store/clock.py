"""The database's time without asking for it each time."""

from datetime import datetime, timedelta

from placet.clock import Clock, in_ms
from placet.store.port import Database


class DatabaseClock:
    """A clock that is put right by the database's, as it was when it was last measured.

    Deadlines are decided by the database's clock, so what is reckoned here must be reckoned by it.
    """

    def __init__(self, clock: Clock, database: Database) -> None:
        """Until it is measured it is `clock` itself."""
        self._clock = clock
        self._database = database
        self._ahead = timedelta(0)

    async def measure(self) -> None:
        """Ask the database for its time; taken as of the middle of the call. Raises Unavailable."""
        before = self._clock.now()
        there = await self._database.now()
        self._ahead = there - before - (self._clock.now() - before) / 2

    def now(self) -> datetime:
        """The database's time, to the millisecond."""
        return in_ms(self._clock.now() + self._ahead)

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await self._clock.sleep(seconds)
