"""Freezes through the SDK: calls that an operator keeps from starting."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from placet.client.transport import Transport
from placet.domain.freeze import Freeze


@dataclass(frozen=True, slots=True)
class Freezes:
    """The freezes of the credential's namespace. Making and lifting them needs the scope `freeze`."""

    transport: Transport

    async def make(
        self,
        reason: str,
        *,
        agent: str | None = None,
        tools: Sequence[str] = (),
        key: str | None = None,
    ) -> Freeze:
        """Keep calls from starting until it is lifted; the reason is shown to whoever waits.

        `agent` is a definition's name or an agent's id; without it, every agent. Without `tools`,
        every call. The same `key` is the same freeze, as it stands now.

        Raises NotAllowed, Invalid; Conflict where 100 are active already, or another has this `key`.
        """
        body = {"reason": reason, "agent": agent, "tools": list(tools)}
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        made = await self.transport.post("/v1/freezes", body, headers=headers)
        return Freeze.model_validate(made)

    async def list(self, *, active: bool | None = True, limit: int = 100) -> list[Freeze]:
        """Freezes, newest first: the active ones, the lifted ones, or with None both."""
        word = None if active is None else str(active).lower()
        page = await self.transport.get("/v1/freezes", active=word, limit=limit)
        return [Freeze.model_validate(each) for each in page["items"]]

    async def lift(self, freeze_id: str) -> Freeze:
        """Let calls start again; one that is lifted stays as it was. Raises NotFound, NotAllowed."""
        path = f"/v1/freezes/{quote(freeze_id, safe='')}/lift"
        return Freeze.model_validate(await self.transport.post(path))
