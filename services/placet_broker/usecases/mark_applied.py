"""A run tells which answers it has acted on."""

from collections.abc import Iterable

from placet_broker.ports import Interactions
from placet_broker.usecases.tries import TRIES, busy


class MarkApplied:
    """B8, for each input that an ended run lists."""

    def __init__(self, interactions: Interactions) -> None:
        self._interactions = interactions

    async def __call__(self, run_id: str, namespace: str, input_ids: Iterable[str]) -> None:
        """Mark them; an id that is unknown, pending or another run's is passed over. Raises Unavailable."""
        for id in input_ids:
            await self._mark(id, run_id, namespace)

    async def _mark(self, id: str, run_id: str, namespace: str) -> None:
        for _ in range(TRIES):
            record = await self._interactions.get(id)
            if record is None or record.pending or record.applied or not record.from_runner:
                return
            if (record.run_id, record.namespace) != (run_id, namespace):
                return
            if await self._interactions.mark_applied(record) is not None:
                return
        raise busy(id)
