"""Every write of a run, one function a row. Nothing else writes one."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from placet.domain.freeze import Freeze
from placet.domain.heritage import ChildEnd
from placet.domain.resolution import Resolution
from placet.domain.run import Message, RunStatus
from placet.ids import new_id
from placet.kernel import Entry, write_entry
from placet.messages import CommandName, RunCommand
from placet.store.port import Collection
from placet_runner.ports import NOTHING, Document, Image, Step
from placet_runner.rules.frozen import frozen_entry
from placet_runner.rules.runs import CHUNK, command_entry, stirs
from placet_runner.store.changes import (
    CLOSE_AGAIN,
    PARKED,
    REVOKED,
    closing,
    closing_all_open,
    heard,
    is_open,
    mine,
    no_more_calls,
    others_open,
    outbox,
    same_revoked,
    stepped,
    stepping,
    unheard,
    waits_for_other,
    with_resolution,
)
from placet_runner.store.expressions import (
    DUE,
    FREE,
    LIVE,
    RUNNABLE,
    Expression,
    Stage,
    later,
    literal,
    milliseconds,
    push,
)

LONGEST_ASK_AGAIN = timedelta(hours=6)
LOOKED_AT = ("namespace", "agent", "status", "lease", "wake", "waiting", "inbox", "outbox")
"""What a sweep goes by: many runs are read at once, and their journals would be most of it."""


class StoredRuns:
    """Runs and their journals in two collections of one database."""

    def __init__(self, runs: Collection, journal: Collection, *, lease: timedelta) -> None:
        self._runs = runs
        self._journal = journal
        self._lease = lease

    async def get(self, run_id: str) -> Image | None:
        """Read one run."""
        return _image(await self._runs.get(run_id))

    async def history(self, image: Image) -> list[Document]:
        """Every journal entry of a run, oldest first: chunks, then the tail."""
        base = image.document["base"]
        ids = [_chunk_id(image.id, first) for first in range(0, base, CHUNK)]
        chunks = await self._journal.get_many(ids) if ids else {}
        stored = [entry for chunk_id in ids for entry in chunks[chunk_id]["entries"]]
        return stored + list(image.document["journal"])

    async def create(self, document: Document) -> bool:
        """R1: insert a queued run. False: that id exists."""
        return await self._runs.insert(document)

    async def claim(
        self, run_id: str, owner: str, op: str, agents: Sequence[str] | None = None
    ) -> Image | None:
        """R2: hold a run that is free, has something to do, and is of one of these agents (or any)."""
        where: dict[str, Any] = {"status": {"$in": LIVE}, "$expr": RUNNABLE}
        if agents is not None:
            where["agent"] = {"$in": list(agents)}
        return await self._update(run_id, where, self._claimed(owner, op))

    async def renew(self, held: Image) -> Image | None:
        """R3: keep the lease that this very claim got."""
        where = {"epoch": held.epoch, "lease.op": held.lease_op}
        return await self._update(held.id, where, {"lease.until": later(self._lease)})

    async def append(self, held: Image, step: Step) -> Image | None:
        """R4: a finished step."""
        return await self._update(held.id, stepping(held, step), stepped(step))

    async def ask_and_park(self, held: Image, step: Step) -> Image | None:
        """R5: ask, and hold nothing, unless something arrived that was not looked at."""
        return await self._update(held.id, mine(held) | {"wake": False}, stepped(step) | PARKED)

    async def ask_and_go_on(self, held: Image, step: Step) -> Image | None:
        """R5b: ask, and start the calls that need nobody, in one write."""
        return await self._update(held.id, stepping(held, step), stepped(step))

    async def take(self, held: Image) -> Image | None:
        """R6: look at what arrived. The image is what the holder decides from next."""
        where = {"epoch": held.epoch, "lease.op": held.lease_op, "wake": True}
        return await self._update(held.id, where, {"wake": False})

    async def park(self, held: Image, step: Step = NOTHING) -> Image | None:
        """R7: hold nothing, unless something arrived that was not looked at."""
        where = mine(held) | {"wake": False}
        return await self._update(held.id, where, PARKED | {"outbox": outbox(step)})

    async def record_answer(
        self, run_id: str, resolution: Resolution, *, looked_at: bool = False
    ) -> Image | None:
        """R8: keep an answer that can't be acted on now; wake the run once all are there, or it stirs.

        `looked_at`: somebody must look at this one now, whatever else is open.
        """
        value = resolution.model_dump(mode="json")
        stirring = looked_at or stirs(resolution)
        return await self._record(run_id, resolution.input_id, value, stirring=stirring)

    async def record_child(self, run_id: str, end: ChildEnd) -> Image | None:
        """R8 for a child run: keep how it ended; wake the run once nothing is waited for any more."""
        return await self._record(run_id, end.run_id, end.model_dump(mode="json"), stirring=False)

    async def record_lift(self, run_id: str, freeze: Freeze) -> Image | None:
        """R8 for a freeze that was lifted: the run looks what may start now, whatever else is open."""
        entry_id = frozen_entry(run_id, freeze)["id"]
        value = freeze.model_dump(mode="json", include={"lifted_at", "lifted_by"})
        return await self._record(run_id, entry_id, value, stirring=True)

    async def _record(
        self, run_id: str, entry_id: str, value: Document, *, stirring: bool
    ) -> Image | None:
        others = others_open(entry_id)
        settles: Expression = True if stirring else {"$eq": [{"$size": others}, 0]}
        wake = _wake(run_id, new_id("evt"))
        return await self._update(
            run_id,
            {"status": {"$in": LIVE}, **is_open(entry_id)},
            {
                "waiting": with_resolution(entry_id, value),
                "wake": {"$or": ["$wake", {"$ne": ["$lease", None]}, settles]},
                "outbox": {
                    "$cond": [
                        {"$and": [FREE, settles]},
                        {"$concatArrays": ["$outbox", literal([wake])]},
                        "$outbox",
                    ]
                },
            },
        )

    async def resume(
        self, read: Image, resolution: Resolution, step: Step, owner: str, op: str
    ) -> Image | None:
        """R9: the claim, the answers and the intents of what they allow, in one write.

        It is pinned to what had been taken back: no grant lets a call start that is not there any more.
        """
        where = {
            "status": "input_required",
            "epoch": read.epoch,
            "seq": read.seq,
            "$expr": {"$and": [FREE, same_revoked(read)]},
            **is_open(resolution.input_id),
        }
        changes = self._claimed(owner, op) | stepped(step) | {"waiting": [], "tries": 0}
        changes["outbox"] = {
            "$concatArrays": [no_more_calls(step.published), literal(list(step.outbox))]
        }
        return await self._update(read.id, where, changes)

    async def apply_answers(self, held: Image, step: Step) -> Image | None:
        """R10: settled questions enter the journal, with what follows from them."""
        return await self._update(held.id, stepping(held, step), stepped(step))

    async def finish_call(self, held: Image, step: Step) -> Image | None:
        """R11: the effect has happened; its result is written before the next model call."""
        return await self._update(held.id, mine(held), stepped(step))

    async def take_over(self, held: Image, step: Step) -> Image | None:
        """R12: a call that an earlier holder started: again with its key, or a review."""
        return await self._update(held.id, stepping(held, step), stepped(step))

    async def end(self, held: Image, status: RunStatus, step: Step) -> Image | None:
        """R13: completed or failed, unless something arrived that was not looked at."""
        changes = stepped(step) | {"status": status.value, "lease": None}
        if status is not RunStatus.COMPLETED:
            changes["waiting"] = closing_all_open(changes.get("waiting", "$waiting"))
        return await self._update(held.id, mine(held) | {"wake": False}, changes)

    async def hand_back(self, held: Image) -> Image | None:
        """R14: give the run to another replica, at once."""
        wake = _wake(held.id, new_id("evt"))
        changes = {"lease": None, "tries": 0, "outbox": push("outbox", [wake])}
        return await self._update(held.id, mine(held), changes)

    async def message(self, run_id: str, message: Message) -> Image | None:
        """R15: a message for a live run, once, with a wake."""
        wake = _wake(run_id, f"{message.id}.wake")
        changes = heard(message) | {"wake": True, "outbox": push("outbox", [wake])}
        return await self._update(run_id, unheard(message), changes)

    async def queue_message(self, run_id: str, message: Message) -> Image | None:
        """R15c: a message that waits for the questions to be answered first."""
        held = {"$or": [{"$ne": ["$lease", None]}, {"$ne": ["$status", "input_required"]}]}
        return await self._update(
            run_id, unheard(message), heard(message) | {"wake": {"$or": ["$wake", held]}}
        )

    async def supersede(
        self, held: Image, closes: Mapping[str, Document], step: Step = NOTHING
    ) -> Image | None:
        """R16: ask the broker to close what a message overtook, and wait for its word."""
        changes = closing(closes, "superseded") | PARKED
        changes["outbox"] = outbox(step, *closes.values())
        return await self._update(held.id, mine(held) | {"wake": False}, changes)

    async def withdraw(
        self, held: Image, closes: Mapping[str, Document], step: Step = NOTHING
    ) -> Image | None:
        """R17: ask the broker to close what need not be asked any more."""
        changes = closing(closes, "withdrawn")
        changes["outbox"] = outbox(step, *closes.values())
        return await self._update(held.id, mine(held), changes)

    async def abort(self, run_id: str, entry: Entry, outbox: Sequence[Document]) -> Image | None:
        """R18: the run ends at once; what is open stays open until the broker says how it ended."""
        return await self._update(
            run_id,
            {"status": {"$in": LIVE}},
            {
                "status": "cancelled",
                "epoch": {"$add": ["$epoch", 1]},
                "lease": None,
                "wake": False,
                "seq": {"$add": ["$seq", 1]},
                "journal": push("journal", [write_entry(entry)]),
                "outbox": {"$concatArrays": [no_more_calls(), literal(list(outbox))]},
                "waiting": closing_all_open("$waiting"),
            },
        )

    async def revoke(self, run_id: str, grant_id: str, by: str, at: datetime) -> Image | None:
        """R21: take a grant back, once; a holder looks before it starts a call, parks or ends."""
        taken = {"id": grant_id, "by": by, "at": at}
        return await self._update(
            run_id,
            {"status": {"$in": LIVE}, "revoked.id": {"$ne": grant_id}},
            {
                "revoked": {"$concatArrays": [REVOKED, literal([taken])]},
                "wake": {"$or": ["$wake", {"$ne": ["$lease", None]}]},
            },
        )

    async def note_closed(self, run_id: str, ended: Resolution | ChildEnd) -> Image | None:
        """R19: how what an ended run waited for ended; nothing else changes."""
        entry_id = ended.run_id if isinstance(ended, ChildEnd) else ended.input_id
        value = ended.model_dump(mode="json")
        return await self._update(
            run_id,
            {"status": {"$nin": LIVE}, **is_open(entry_id)},
            {"waiting": with_resolution(entry_id, value)},
        )

    async def asked_again(
        self, run_id: str, input_ids: Sequence[str], *, stir: bool = False
    ) -> None:
        """The backoff of the sweep: the next time doubles, up to hours. `stir`: somebody must look."""
        waited = {"$subtract": ["$$this.ask_again_at", "$$this.asked_at"]}
        span = {
            "$max": [{"$min": [waited, milliseconds(LONGEST_ASK_AGAIN)]}, milliseconds(CLOSE_AGAIN)]
        }
        moved = {"$mergeObjects": ["$$this", {"ask_again_at": {"$add": ["$$NOW", span]}}]}
        chosen = {"$in": ["$$this.id", literal(list(input_ids))]}
        await self._update(
            run_id,
            {},
            {
                "wake": {"$or": ["$wake", stir]},
                "waiting": {
                    "$map": {"input": "$waiting", "in": {"$cond": [chosen, moved, "$$this"]}}
                },
            },
        )

    async def postpone(self, run_id: str, span: timedelta) -> None:
        """A sweep has done what it can; it looks again after this span, or when something changes."""
        await self._runs.update(run_id, {}, [{"$set": {"due": later(span)}}])

    async def store_chunk(self, held: Image) -> Image | None:
        """Entries 64k to 64k+63 into their chunk, then off the tail: fixed bounds, one content."""
        base = held.document["base"]
        entries = held.document["journal"][:CHUNK]
        chunk = {
            "_id": _chunk_id(held.id, base),
            "run_id": held.id,
            "first": base,
            "entries": entries,
        }
        await self._journal.insert(chunk)  # it exists: an earlier holder stored the same entries
        changes: dict[str, Expression] = {
            "journal": {"$slice": ["$journal", CHUNK, 1_000_000]},
            "base": base + CHUNK,
        }
        return await self._update(held.id, mine(held) | {"base": base}, changes)

    async def due(self, now: datetime, limit: int) -> list[Image]:
        """Runs that a sweep must look at, the longest due first; without what it does not look at."""
        found = await self._runs.find(
            {"due": {"$lte": now}}, sort=[("due", 1)], limit=limit, fields=LOOKED_AT
        )
        return [Image(document) for document in found]

    async def frozen(self, active: Sequence[str], limit: int) -> list[Image]:
        """Live runs that wait for a freeze which is none of these, by the index on freezes."""
        found = await self._runs.find(
            {"status": {"$in": LIVE}, "waiting.freeze": {"$gt": ""}, **waits_for_other(active)},
            limit=limit,
            fields=LOOKED_AT,
        )
        return [Image(document) for document in found]

    async def any_frozen(self) -> bool:
        """Whether a run waits for any freeze at all: one look at the index."""
        return bool(await self._runs.find({"waiting.freeze": {"$gt": ""}}, limit=1, fields=["_id"]))

    async def list(
        self,
        namespace: str,
        *,
        status: RunStatus | None,
        agent_id: str | None,
        before: str | None,
        limit: int,
    ) -> list[Image]:
        """Runs of a namespace, newest first."""
        where: dict[str, Any] = {"namespace": namespace}
        if status:
            where["status"] = status.value
        if agent_id:
            where["agent_id"] = agent_id
        if before:
            where["order"] = {"$lt": before}
        found = await self._runs.find(where, sort=[("order", -1)], limit=limit)
        return [Image(document) for document in found]

    def _claimed(self, owner: str, op: str) -> dict[str, Expression]:
        lease = {"owner": literal(owner), "op": literal(op), "until": later(self._lease)}
        return {
            "status": "running",
            "epoch": {"$add": ["$epoch", 1]},
            "wake": False,
            "lease": lease,
            "tries": {"$add": ["$tries", 1]},
            "outbox": no_more_calls(),
        }

    async def _update(
        self, run_id: str, where: Mapping[str, Any], changes: Mapping[str, Expression]
    ) -> Image | None:
        stages: list[Stage] = [{"$set": dict(changes)}, DUE]
        return _image(await self._runs.update(run_id, where, stages))


def _wake(run_id: str, event_id: str) -> Document:
    return command_entry(RunCommand(command=CommandName.WAKE, run_id=run_id), event_id)


def _chunk_id(run_id: str, first: int) -> str:
    return f"{run_id}:{first:09d}"


def _image(document: Document | None) -> Image | None:
    return None if document is None else Image(document)
