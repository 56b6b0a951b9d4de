"""A question that a run shows may still be on its way here: whoever is fast waits for it a moment."""

import re
from datetime import timedelta

from placet.clock import Clock
from placet_broker.ports import Interactions
from placet_broker.rules.record import Record

_ID = re.compile(r"inp_[0-9a-f]{32}")
_FIRST_LOOK = 0.02
_LONGEST_LOOK = 0.2


class Arrivals:
    """Reads interactions, and gives an unknown one the time that a message takes.

    The run that asks stores its question first and sends it then, so its id is known a moment
    before the broker has it. With `patience` zero nothing is waited for.
    """

    def __init__(self, interactions: Interactions, clock: Clock, patience: timedelta) -> None:
        self._interactions = interactions
        self._clock = clock
        self._patience = patience.total_seconds()

    async def get(self, id: str) -> Record | None:
        """The interaction, or None if it has not come within the patience."""
        record = await self._interactions.get(id)
        if record is not None or not _ID.fullmatch(id):
            return record
        until = self._clock.monotonic() + self._patience
        pause = _FIRST_LOOK
        while record is None and self._clock.monotonic() < until:
            await self._clock.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_LOOK)
            record = await self._interactions.get(id)
        return record
