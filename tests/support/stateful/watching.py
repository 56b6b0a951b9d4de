"""Sees every write and every publish of every process, as it happens."""

import asyncio
import contextvars
import traceback
from collections.abc import Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import structlog

from placet.bus.port import Outgoing
from placet.messages import decode
from placet.messages.event import Event
from placet.messages.wire import APPROVAL_REQUEST, INTERACTION_REQUEST, NAMES, decode_request
from placet.store.port import Document

if TYPE_CHECKING:
    from tests.support.stateful.fleet import Fleet
    from tests.support.stateful.member import Member

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
        self.effects: Callable[[], int] = int
        """How many effects there have been."""
        self.finished: dict[tuple[str, str], int] = {}
        """How many there had been when this call of this run got its result."""
        self.landed: dict[tuple[str, ...], int] = {}
        """In which order starts of calls (key and attempt) and ends of grants (id) were stored."""
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
        for entry in image["journal"]:
            if entry["type"] == "tool.finished":
                call = (image["_id"], entry["result"]["call_id"])
                self.finished.setdefault(call, self.effects())
            elif entry["type"] == "tool.started":
                self._landed(entry["key"], str(entry["attempt"]))
        for taken in image["revoked"]:
            self._landed(taken["id"])

    def _landed(self, *what: str) -> None:
        self.landed.setdefault(what, len(self.landed))

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

    def held_of(self, runs: Sequence[Document]) -> set[str]:
        """What is held of suspended runs now, each as it stands."""
        waiting = {run["_id"]: run for run in runs if run["status"] == "input_required"}
        shown = {id: f"{id} in epoch {run['epoch']} at {run['seq']}" for id, run in waiting.items()}
        leases = {f"{shown[id]} has a lease" for id, run in waiting.items() if run["lease"]}
        held = [id for member in self.fleet.living("runner") for id in member.part.replica._holders]
        return leases | {f"{shown[id]} is held by a task" for id in held if id in waiting}
