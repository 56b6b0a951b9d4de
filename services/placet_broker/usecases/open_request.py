"""A service asks: opens an interaction, or finds the one that it opened before."""

from dataclasses import replace
from datetime import timedelta

from placet.clock import Clock
from placet.domain.interaction import InteractionRequest
from placet.errors import Conflict
from placet.process import logs
from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer, Outbox
from placet_broker.rules import opening, outgoing
from placet_broker.rules.opening import Asker
from placet_broker.rules.record import Address, Record
from placet_broker.usecases.people import People

_log = logs.get(__name__)


class OpenRequest:
    """B1 and B2. Asking again is harmless, whatever became of the first time."""

    def __init__(
        self,
        interactions: Interactions,
        outbox: Outbox,
        clock: Clock,
        metrics: Observer,
        people: People,
        *,
        default_life: timedelta | None,
    ) -> None:
        self._interactions = interactions
        self._outbox = outbox
        self._clock = clock
        self._metrics = metrics
        self._people = people
        self._default_life = default_life

    async def __call__(
        self, request: InteractionRequest, asker: Asker, address: Address | None = None
    ) -> Record:
        """The interaction, durable: a new one, or the one of this id from the same publisher.

        Raises:
            Invalid, NotAllowed, TooLarge: the request can't be opened.
            Conflict: the id belongs to another publisher, or asked something else.
            Unavailable: nothing is certain; the same request may be sent again.
        """
        now = self._clock.now()
        full = opening.prepared(request, asker, now=now, default_life=self._default_life)
        if await self._kept_as_given(request.id, asker):
            full = full.model_copy(update={"id": request.id})
        opening.check_deadline(full, asker, now)
        record = opening.opened(full, asker, address, now)
        if not await self._people.can_be_met(record):
            _log.warning("unanswerable", input_id=record.id, named=record.audience.named)
            record = replace(record, unanswerable=True)
        if await self._interactions.open(record):
            crash_point("open.done")
            self._metrics.opened(record)
            self._outbox.post(record)
            return record
        found = await self._interactions.get(record.id)
        if found is None or _foreign(found, record):
            raise Conflict(f"the id {record.id} belongs to another request", code="id_taken")
        return await self._again(found, address)

    async def _kept_as_given(self, id: str, asker: Asker) -> bool:
        """Whether a service sends the id again that it was answered with, not one of its own making."""
        if not id or asker.is_runner:
            return False
        found = await self._interactions.get(id)
        return found is not None and found.is_of(asker.publisher, asker.namespace)

    async def _again(self, found: Record, address: Address | None) -> Record:
        if found.pending and address is not None and address != found.address:
            found = await self._interactions.readdress(found, address) or found
        if found.pending:
            await self._outbox.again(found, [outgoing.requested(found.id)])
        else:
            await self._outbox.again(found, outgoing.confirmation(found, address))
        return found


def _foreign(found: Record, record: Record) -> bool:
    """Whether the id is another publisher's, or asked something else; a tombstone fits its run's."""
    same = found.is_of(record.publisher, record.namespace)
    return not same or (found.digest != record.digest and bool(found.digest))
