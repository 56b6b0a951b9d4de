"""The audit trail: what happened to each input, chained, and an export that shows any change of it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

from placet import audit
from placet.clock import Clock
from placet.errors import NotFound
from placet.process.caller import Caller, Scope
from placet_broker.ports import Interactions, Query, Trail
from placet_broker.rules import answering

PAGE = 200


class ExportAudit:
    """Reads trails; changes nothing."""

    def __init__(self, interactions: Interactions, clock: Clock) -> None:
        self._interactions = interactions
        self._clock = clock
        self.seed = ""
        """The signing key's; the same on every replica once the broker has started."""

    @property
    def key(self) -> str:
        """The public key that exports are signed with, in hex."""
        return audit.public_key(audit.signing_key(self.seed))

    async def one(self, caller: Caller, input_id: str) -> tuple[Trail, list[str]]:
        """The trail of one input, and what is wrong with it. Raises NotFound."""
        record = await self._interactions.get(input_id)
        trail = await self._interactions.trail(input_id)
        if record is None or trail is None or not answering.may_read(record, caller):
            raise NotFound(f"there is no input {input_id}")
        return trail, trail.disagreements()

    async def export(
        self, caller: Caller, since: datetime | None, until: datetime | None
    ) -> AsyncIterator[bytes]:
        """Every input of the namespace opened from `since` to before `until`, oldest first, as JSON lines.

        What is opened or changes meanwhile may be in it or not. Raises NotAllowed without `operate`.
        """
        caller.need(Scope.OPERATE)
        written = audit.Export(audit.signing_key(self.seed), _of(caller.namespace, since, until))
        query = Query(caller.namespace, limit=PAGE, oldest_first=True, since=since, until=until)
        while True:
            found = await self._interactions.trails(query)
            for trail in found:
                yield written.line(trail.line())
            if len(found) < PAGE:
                break
            query = replace(query, after=(found[-1].opened_at, found[-1].id))
        yield written.end(self._clock.now())


def _of(namespace: str, since: datetime | None, until: datetime | None) -> dict[str, str | None]:
    """What is exported, so that a part does not pass for the whole."""
    return {
        "namespace": namespace,
        "since": since.isoformat() if since else None,
        "until": until.isoformat() if until else None,
    }
