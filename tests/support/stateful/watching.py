"""Sees every write and every publish of every process, as it happens."""

import asyncio
import contextvars
import traceback
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import structlog

from placet.bus.port import Outgoing
from placet.messages import decode
from placet.messages.event import Event
from placet.messages.wire import APPROVAL_REQUEST, INTERACTION_REQUEST, NAMES, decode_request
from placet.store.port import Document

if TYPE_CHECKING:
    from tests.support.stateful.fleet import Fleet, Member

KEPT = 200
CRASHES: list[str] = []
"""What the services logged of exceptions that nobody expected, in this example."""


def keep_crashes(_logger: Any, method: str, event: MutableMapping[str, Any]) -> NoReturn:
    """A processor for structlog that keeps those and drops the rest."""
    if method == "exception" or event.get("exc_info") or event.get("event") == "handler_raised":
        shown = {k: v for k, v in event.items() if k not in ("exc_info", "module")}
        CRASHES.append(f"{shown} {traceback.format_exc()[-3000:]}")
    raise structlog.DropEvent


class Watching:
    """What was seen, and what of it must not be."""

    def __init__(self) -> None:
        CRASHES.clear()
        self.fleet: Fleet
        self.published_so_far: list[tuple[Outgoing, str]] = []
        self.unheard: list[str] = []
        self.zombies: list[str] = []
        self.holding: list[str] = []
        self._holders: dict[str, tuple[int, int, Member]] = {}

    def wrote(self, member: "Member", table: str, image: Document) -> None:
        """Who moves a run's journal on must be who claimed it last."""
        if table != "runs" or "epoch" not in image:
            return
        epoch, seq, holder = self._holders.get(image["_id"], (-1, 0, member))
        if image["epoch"] > epoch:
            holder = member
        elif image["epoch"] < epoch or image["seq"] < seq:
            self.zombies.append(f"{image['_id']} went back to {image['epoch']}, {image['seq']}")
        elif image["seq"] > seq and holder is not member:
            self.zombies.append(f"{image['_id']}: another process holds epoch {epoch}")
        self._holders[image["_id"]] = (image["epoch"], image["seq"], holder)

    async def published(self, member: "Member", message: Outgoing) -> None:
        """A question that is told of must be stored: with the run that asks, and with the broker."""
        user = "placet-" + member.service
        self.published_so_far = [*self.published_so_far[-KEPT:], (message, user)]
        if message.type in (APPROVAL_REQUEST, INTERACTION_REQUEST):
            request = decode_request(message.body)
            if not await self._asked(request.run_id, request.id):
                self.unheard.append(f"{request.id} was asked and {request.run_id} knows nothing")
        elif message.type == NAMES[Event] and message.key.endswith("input.requested"):
            event = decode(Event, message.body)
            if await self._get("placet_interactions", "interactions", event.input_id or "") is None:
                self.unheard.append(f"{event.input_id} was told of and is not stored")

    async def _asked(self, run_id: str, input_id: str) -> bool:
        run = await self._get("placet_runs", "runs", run_id)
        tail: list[Any] = run["journal"] if run else []
        return run is not None and (
            bool(run["base"])
            or any(entry["id"] == input_id for entry in run["waiting"])
            or any(entry.get("input_id") == input_id for entry in tail)
        )

    async def _get(self, database: str, table: str, id: str) -> Document | None:
        collection = self.fleet.databases[database].collection(table)

        async def look() -> Document | None:
            return await collection.get(id)

        return await contextvars.Context().run(asyncio.ensure_future, look())

    def look_at_holders(self, runs: Sequence[Document]) -> None:
        """Of a suspended run nothing may be held, once nothing moves."""
        waiting = {run["_id"]: run for run in runs if run["status"] == "input_required"}
        self.holding += [f"{id} has a lease" for id, run in waiting.items() if run["lease"]]
        for member in self.fleet.living("runner"):
            held = set(member.part.replica._holders) & set(waiting)
            self.holding += [f"a task holds {id}" for id in sorted(held)]
