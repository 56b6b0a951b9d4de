"""A run tells which answers it has acted on."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from placet.store.batches import Batches
from placet_broker.ports import Interactions
from placet_broker.usecases.tries import TRIES, busy

APART = 0.5
"""Seconds between the beginnings of two rounds: nobody waits for them, and inputs of one round are read
together and written together."""


@dataclass(frozen=True, slots=True)
class _Ended:
    run_id: str
    namespace: str
    input_ids: tuple[str, ...]


class MarkApplied:
    """B8, for each input that an ended run lists; `most` runs make a round that goes at once."""

    def __init__(self, interactions: Interactions, *, most: int) -> None:
        self._interactions = interactions
        self._rounds: Batches[_Ended, None] = Batches(self._round, most=most, apart=APART)

    async def __call__(self, run_id: str, namespace: str, input_ids: Iterable[str]) -> None:
        """Mark them; an id that is unknown, pending or another run's is passed over. Raises Unavailable."""
        await self._rounds.submit(_Ended(run_id, namespace, tuple(input_ids)))

    async def _round(self, runs: Sequence[_Ended]) -> list[Exception | None]:
        return await asyncio.gather(*map(self._of_run, runs))

    async def _of_run(self, run: _Ended) -> Exception | None:
        try:
            for id in run.input_ids:
                await self._mark(id, run)
        except Exception as error:  # noqa: BLE001 - for whoever told of this run, not of the others
            return error
        return None

    async def _mark(self, id: str, run: _Ended) -> None:
        for _ in range(TRIES):
            record = await self._interactions.get(id)
            if record is None or record.pending or record.applied or not record.from_runner:
                return
            if (record.run_id, record.namespace) != (run.run_id, run.namespace):
                return
            if await self._interactions.mark_applied(record) is not None:
                return
        raise busy(id)
