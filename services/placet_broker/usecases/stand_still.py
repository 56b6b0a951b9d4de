"""Before time ends a question, or takes a step for it: whether a freeze has kept that from its time."""

from datetime import datetime

from placet.clock import Clock
from placet_broker.ports import Freezes
from placet_broker.rules.record import Record
from placet_broker.rules.standing_still import Standing, covering, since, standing


class StandStill:
    """Knows how long the time of a question stood still."""

    def __init__(self, freezes: Freezes, clock: Clock) -> None:
        """`clock` should tell the database's time."""
        self._freezes = freezes
        self._clock = clock

    async def of(self, record: Record, at: datetime) -> Standing | None:
        """When something would happen to a pending question that was to happen then.

        None: its time has not come by our own clock, or no freeze keeps it back. Raises Unavailable:
        whether it has come is not known then.
        """
        if not record.pending or not record.from_runner or at >= self._clock.now():
            return None
        began = since(record)
        freezes = covering(record, await self._freezes.since(record.namespace, began))
        found = standing(at, began, freezes, self._clock.now()) if freezes else None
        return found if found is not None and _owed(at, found) else None


def _owed(at: datetime, found: Standing) -> bool:
    """Whether it must not happen at the time that it is kept with."""
    return found.still or (found.at > at and found.at >= found.now)
