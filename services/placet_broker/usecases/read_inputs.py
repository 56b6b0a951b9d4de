"""What waits and how it ended, for those who may see it."""

import asyncio
from dataclasses import replace

from placet.process.caller import Caller, Scope
from placet_broker.ports import Interactions, Query
from placet_broker.rules import answering, finding
from placet_broker.rules.record import Record
from placet_broker.usecases.arrivals import Arrivals
from placet_broker.usecases.people import People


class ReadInputs:
    """Lists and single interactions of the caller's namespace."""

    def __init__(self, interactions: Interactions, arrivals: Arrivals, people: People) -> None:
        self._interactions = interactions
        self._arrivals = arrivals
        self._people = people

    async def find(self, caller: Caller, query: Query, *, mine: bool = False) -> list[Record]:
        """A page of the list: what the caller may see, or with `mine` what it may answer.

        Raises NotAllowed for a caller that may neither read nor answer inputs.
        """
        if not caller.may(Scope.INPUTS_READ):
            caller.need(Scope.INPUTS_ANSWER)
            mine = True
        own = replace(query, namespace=caller.namespace)
        if mine:
            names = await self._people.names_of(caller)
            own = replace(own, any_of=tuple(finding.for_people(names)))
        return await self._interactions.find(own)

    async def get(self, caller: Caller, input_id: str) -> Record:
        """One interaction. Raises NotFound."""
        record = await self._arrivals.get(input_id)
        if record is None:
            raise answering.unknown(input_id)
        if not await self._people.may_know(record, caller):
            raise answering.unknown(input_id)
        return record

    async def barred(self, record: Record, caller: Caller) -> tuple[str, str]:
        """Why the caller can't answer it, and why not with a yes; empty where they may."""
        return await self._people.barred(record, caller)

    async def seen(self, caller: Caller, record: Record) -> None:
        """Note that the caller looked at it, once a person; lost if another write comes between."""
        noted = any(e["what"] == "seen" and e["by"] == caller.id for e in record.history)
        if record.pending and not noted:
            await self._interactions.note(record, "seen", caller.id)


class Waiters:
    """Who in this process waits for a resolution; woken by what settles here."""

    def __init__(self, interactions: Interactions) -> None:
        self._interactions = interactions
        self._events: dict[str, set[asyncio.Event]] = {}

    def settled(self, record: Record) -> None:
        """Wake who waits for this one."""
        if not record.pending:
            for event in self._events.get(record.id, ()):
                event.set()

    async def wait(self, record: Record, seconds: float) -> Record:
        """The settled record, or as it is after that time; another broker's settling is polled for."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        event = self._enter(record.id)
        pause = _FIRST_LOOK
        try:
            while record.pending and (left := until - loop.time()) > 0:
                await _either(event, min(pause, left))
                event.clear()
                pause = min(pause * 2, _LONGEST_LOOK)
                record = await self._interactions.get(record.id) or record
        finally:
            self._leave(record.id, event)
        return record

    def _enter(self, id: str) -> asyncio.Event:
        event = asyncio.Event()
        self._events.setdefault(id, set()).add(event)
        return event

    def _leave(self, id: str, event: asyncio.Event) -> None:
        waiting = self._events[id]
        waiting.discard(event)
        if not waiting:
            del self._events[id]


_FIRST_LOOK = 0.25
_LONGEST_LOOK = 2.0


async def _either(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
