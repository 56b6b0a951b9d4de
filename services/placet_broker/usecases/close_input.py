"""The asker no longer asks: a run closes its question, a service withdraws its request."""

from placet.clock import Clock
from placet.errors import Conflict, NotFound
from placet.messages import Close
from placet.process.caller import Caller
from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer, Outbox
from placet_broker.rules import opening, outgoing, settling
from placet_broker.rules.record import RUNNER, Record
from placet_broker.usecases.tries import TRIES, busy


class CloseInput:
    """B6. An answer that came first stands; the confirmation is the resolution, whatever it says."""

    def __init__(
        self, interactions: Interactions, outbox: Outbox, clock: Clock, metrics: Observer
    ) -> None:
        self._interactions = interactions
        self._outbox = outbox
        self._clock = clock
        self._metrics = metrics

    async def by_run(self, close: Close) -> Record:
        """Close for the runner; an unknown id gets a tombstone, so that it never opens later.

        Raises:
            Conflict: the id is not this run's.
            Unavailable: nothing is certain; send it again.
        """
        for _ in range(TRIES):
            record = await self._interactions.get(close.input_id)
            if record is None:
                record = settling.tombstone(close, self._clock.now())
                if await self._interactions.bury(record):
                    self._outbox.post(record)
                    return record
                continue
            if record.publisher != RUNNER or record.namespace != close.namespace:
                raise Conflict(f"{close.input_id} is not a question of a run", code="id_taken")
            closed = await self._close(record, settling.closing(close.reason, close.because))
            if closed is not None:
                return closed
        raise busy(close.input_id)

    async def withdraw(self, input_id: str, caller: Caller) -> Record:
        """Close a request of the caller's own, by its id or by the one that the caller gave it.

        Raises NotFound for anybody else's, Unavailable.
        """
        for _ in range(TRIES):
            record = await self._own(input_id, caller)
            if record is None:
                raise NotFound(f"there is no request {input_id} of yours")
            closed = await self._close(record, settling.closing("withdrawn"))
            if closed is not None:
                return closed
        raise busy(input_id)

    async def _own(self, input_id: str, caller: Caller) -> Record | None:
        for id in (input_id, opening.own_id(caller.namespace, caller.id, input_id)):
            record = await self._interactions.get(id)
            if record is not None and record.is_of(caller.id, caller.namespace):
                return record
        return None

    async def _close(self, record: Record, how: settling.Settlement) -> Record | None:
        """The settled record, its resolution on its way; None: look again."""
        if not record.pending:
            await self._outbox.again(record, outgoing.confirmation(record, record.address))
            return record
        closed = await self._interactions.close(record, how)
        if closed is not None:
            crash_point("close.done")
            self._metrics.ended(closed)
            self._outbox.post(closed)
        return closed
