"""Runs whose freeze was lifted go on: found by what they wait for, so that nothing has to be told."""

from placet_runner.ports import Freezes, Image, Runs
from placet_runner.rules.frozen import freeze_of, open_freezes
from placet_runner.usecases.replica import Replica

BATCH = 100
"""Runs that are looked at in one round."""


class Thaw:
    """R8 for freezes. Any replica, any time, no lock: the second to record a lift finds it recorded."""

    def __init__(self, runs: Runs, freezes: Freezes, replica: Replica) -> None:
        self._runs = runs
        self._freezes = freezes
        self._replica = replica

    async def once(self) -> int:
        """Stir every run that waits for a freeze which is not active any more, the first 100; how many.

        A run that began to wait just after its freeze was lifted is among them: what it waits for is
        compared with what is active, not with what was lifted lately.
        """
        if not await self._runs.any_frozen():
            return 0
        found = await self._runs.frozen(await self._freezes.active_ids(), BATCH)
        for image in found:
            await self.look(image)
        return len(found)

    async def look(self, image: Image) -> None:
        """Record the lifts that this run waits for, and take it up if it can be here."""
        entries = open_freezes(image.waiting)
        known = await self._freezes.get_many([entry["freeze"] for entry in entries])
        # One that is not there, after a restore, keeps nothing from starting either.
        found = [known.get(e["freeze"]) or freeze_of(e) for e in entries]
        over = [each for each in found if not each.active or each.id not in known]
        recorded = [await self._runs.record_lift(image.id, freeze) for freeze in over]
        if any(recorded):
            await self._replica.take_up(image.id, wait=False)
