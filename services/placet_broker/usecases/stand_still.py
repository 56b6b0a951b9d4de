"""Before a question expires: whether a freeze has kept its deadline from passing."""

from placet.clock import Clock
from placet_broker.ports import Freezes, Interactions
from placet_broker.rules.record import Record
from placet_broker.rules.standing_still import BREATH, Standing, covering, since, standing


class StandStill:
    """Moves a deadline by the time that it stood still. Several brokers at once are harmless."""

    def __init__(self, interactions: Interactions, freezes: Freezes, clock: Clock) -> None:
        """`clock` should tell the database's time."""
        self._interactions = interactions
        self._freezes = freezes
        self._clock = clock

    async def of(self, record: Record) -> Standing | None:
        """Where the deadline of a pending question is now; None: no freeze has touched it.

        Raises Unavailable: whether it has passed is not known then.
        """
        if record.expires_at is None or not record.pending or not record.from_runner:
            return None
        began = since(record)
        freezes = covering(record, await self._freezes.since(record.namespace, began))
        return standing(record.expires_at, began, freezes, self._clock.now()) if freezes else None

    async def spare(self, record: Record) -> Record | None:
        """The question with the deadline that it has now; None: nothing is owed, it may expire.

        One whose deadline stands still gets a little more than it is owed, if that is next to
        nothing, so that an answer which came in time can be written.
        """
        found = await self.of(record)
        if found is None or not owed(record, found):
            return None
        to = max(found.at, found.now + BREATH) if found.still else found.at
        moved = await self._interactions.thaw(record, to, found.now)
        return moved or await self._interactions.get(record.id)


def owed(record: Record, found: Standing) -> bool:
    """Whether the question must not expire by the deadline that it is kept with."""
    late = record.expires_at is not None and found.at > record.expires_at
    return found.still or (late and found.at >= found.now)
