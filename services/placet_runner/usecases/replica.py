"""One replica: as many runs at once as it has slots, and what it does about each message."""

import asyncio
from collections.abc import Callable

from placet.agents.agent import Agent
from placet.domain.resolution import Resolution
from placet.domain.run import RunStatus
from placet.errors import Invalid, LostLease, PlacetError, Unavailable
from placet.ids import new_id
from placet.kernel import fold, read_entry
from placet.kernel.turns import Turn
from placet.process import logs
from placet.process.crash import crash_point
from placet_runner.ports import Document, Image
from placet_runner.rules.runs import held, is_for, lasting_trust, may_trust
from placet_runner.usecases.definitions import Shelf
from placet_runner.usecases.grip import Grip, Hand
from placet_runner.usecases.hold import Holder

MISSES = 8
"""How often a handler reads again before it gives a message up."""

REMEMBERED_RUNS = 20
"""Runs of an agent before this one whose turns the model is shown."""

_log = logs.get(__name__)


class Slots:
    """How many runs may be held at once."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._closed = False
        self._freed = asyncio.Condition()

    def take_one(self) -> bool:
        """Take a slot if one is free."""
        if self._free == 0 or self._closed:
            return False
        self._free -= 1
        return True

    async def wait_for_one(self) -> None:
        """Take a slot, when there is one. Raises Unavailable once there will be none any more."""
        async with self._freed:
            await self._freed.wait_for(lambda: self._free > 0 or self._closed)
            if self._closed:
                raise Unavailable("this replica is stopping")
            self._free -= 1

    async def close(self) -> None:
        """Give no more slots, and wake whoever waits for one."""
        async with self._freed:
            self._closed = True
            self._freed.notify_all()

    async def give_back(self) -> None:
        """One more is free."""
        async with self._freed:
            self._free += 1
            self._freed.notify()


class Replica:
    """Claims runs, holds them, and takes answers in. Every method may be called twice for one message."""

    def __init__(
        self, hand: Hand, definitions: Shelf, slots: int, moved: Callable[[str], None]
    ) -> None:
        """Hold `slots` runs at most; `moved` is told of each that was let go."""
        self._moved = moved
        self._hand = hand
        self._definitions = definitions
        self._slots = Slots(slots)
        self._holders: dict[str, tuple[Holder, asyncio.Task[None]]] = {}
        self._stopping = False

    async def take_up(self, run_id: str, *, wait: bool = True) -> bool:
        """R2, with a free slot: hold the run if it is free and has something to do.

        With `wait=False`, False also means that no slot is free.
        """
        if self._stopping:
            return False
        if wait:
            await self._slots.wait_for_one()
        elif not self._slots.take_one():
            return False
        try:
            before = self._hand.clock.monotonic()
            op = new_id("op")
            claimed = await self._claim(run_id, op)
            if claimed is not None:
                crash_point("claim.done")
                await self._hold(*claimed, op, before)
                return True
        except BaseException:
            await self._slots.give_back()
            raise
        await self._slots.give_back()
        return False

    async def create(self, document: Document) -> Image | None:
        """R1, with R2 in the same insert where a slot is free here. None: that id exists."""
        agent = await self._agent(document)
        if agent is None or self._stopping or not self._slots.take_one():
            if not await self._hand.runs.create(document):
                return None
            self._hand.relay.post(document["_id"], document["outbox"])
            return Image(document)
        try:
            clock, op = self._hand.clock, new_id("op")
            before = clock.monotonic()
            until = self._hand.clock.now() + self._hand.lease
            claimed = held(document, self._hand.owner, op, until)
            if await self._hand.runs.create(claimed):
                crash_point("claim.done")
                await self._hold(Image(claimed), agent, op, before)
                return Image(claimed)
        except BaseException:
            await self._slots.give_back()
            raise
        await self._slots.give_back()
        return None

    async def take_answer(self, resolution: Resolution) -> None:
        """The handler of a resolution: R9, R8, R19 or nothing, by what the database says.

        Raises:
            Invalid: it is not of the question that the run asked, or the run keeps moving.
        """
        runs = self._hand.runs
        for _ in range(MISSES):
            image = await runs.get(resolution.run_id)
            if image is None:
                raise Invalid(f"no run {resolution.run_id!r}")
            entry = next((e for e in image.open if e["id"] == resolution.input_id), None)
            if entry is None:
                await self.take_up(image.id, wait=False)
                return
            if not is_for(resolution, entry):
                raise Invalid(
                    f"the digest of {resolution.input_id} is not the one it was asked with"
                )
            if not image.status.live:
                if await runs.note_closed(image.id, resolution):
                    return
            elif await self._resume(image, resolution):
                return
            else:
                look = may_trust(resolution, entry)
                recorded = await runs.record_answer(image.id, resolution, looked_at=look)
                if recorded is not None:
                    crash_point("record.done")
                    if not await self.take_up(image.id, wait=False):
                        self._hand.relay.post(recorded.id, _wakes(recorded))
                    return
        raise Invalid(
            f"run {resolution.run_id} kept moving while {resolution.input_id} was recorded"
        )

    async def knows(self, run: Document) -> bool:
        """Whether the agent of a run can be had here."""
        return await self._agent(run) is not None

    def cancel(self, run_id: str) -> None:
        """The run ended elsewhere: stop its work here, start no effect."""
        held = self._holders.get(run_id)
        if held:
            held[1].cancel()

    async def take_no_more(self) -> None:
        """Claim nothing from now on; whoever waits for a slot hears that this replica stops."""
        self._stopping = True
        for holder, _ in self._holders.values():
            holder.stopping.set()
        await self._slots.close()

    async def stop(self, grace: float) -> None:
        """Hand runs back when no call of theirs is between intent and result."""
        await self.take_no_more()
        tasks = [task for _, task in self._holders.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _resume(self, image: Image, resolution: Resolution) -> bool:
        """R9, if the run is parked, nothing else is open and a slot is free."""
        agent = await self._agent(image.document)
        parked = image.status is RunStatus.INPUT_REQUIRED and image.lease_op is None
        if not parked or len(image.open) > 1 or agent is None or self._stopping:
            return False
        if not self._slots.take_one():
            return False
        try:
            holder = await self._holder(agent, image, new_id("op"))
            if await holder.resume(resolution):
                self._spawn(holder)
                return True
        except LostLease:
            await self._slots.give_back()
            return True  # the answer is applied; the run was aborted or taken over right after
        except BaseException:
            await self._slots.give_back()
            raise
        await self._slots.give_back()
        return False

    async def _agent(self, run: Document) -> Agent | None:
        return await self._definitions.find(run["namespace"], run["agent"])

    async def _claim(self, run_id: str, op: str) -> tuple[Image, Agent] | None:
        """R2, with the agent. A run of a definition that no file has is looked at first."""
        claim, owner, files = self._hand.runs.claim, self._hand.owner, self._definitions.files
        image = await claim(run_id, owner, op, list(files))
        if image is not None:
            return (image, files[image.document["agent"]]) if image.lease_op == op else None
        read = await self._hand.runs.get(run_id)
        if read is None or not read.status.live or read.document["agent"] in files:
            return None
        agent = await self._agent(read.document)
        if agent is None:
            return None
        image = await claim(run_id, owner, op, [agent.name])
        return (image, agent) if image is not None and image.lease_op == op else None

    async def _hold(self, image: Image, agent: Agent, op: str, before: float) -> None:
        holder = await self._holder(agent, image, op)
        holder.grip.renewed = before
        self._spawn(holder)

    async def _holder(self, agent: Agent, image: Image, op: str) -> Holder:
        history = [read_entry(entry) for entry in await self._hand.runs.history(image)]
        state = fold(history, earlier=await self._earlier(image.document))
        given = lasting_trust(history)  # again: its writer may have died before it was kept
        return Holder(agent, Grip(self._hand, image, state, op, given=given))

    async def _earlier(self, document: Document) -> list[Turn]:
        """The turns of the agent's runs before this one, oldest first."""
        chain: list[Image] = []
        previous = document.get("after_run_id")
        while previous and len(chain) < REMEMBERED_RUNS:
            image = await self._hand.runs.get(previous)
            if image is None:
                break
            chain.append(image)
            previous = image.document.get("after_run_id")
        turns: list[Turn] = []
        for image in reversed(chain):
            turns = fold(map(read_entry, await self._hand.runs.history(image)), earlier=turns).turns
        return turns

    def _spawn(self, holder: Holder) -> None:
        task = asyncio.get_running_loop().create_task(self._work(holder))
        self._holders[holder.grip.image.id] = (holder, task)
        self._hand.metrics.held(len(self._holders))
        if self._stopping:
            holder.stopping.set()

    async def _work(self, holder: Holder) -> None:
        run_id = holder.grip.image.id
        try:
            with logs.bound_contextvars(run_id=run_id):
                await holder.work()
        except PlacetError as error:
            _log.error("run_dropped", run_id=run_id, reason=str(error))
        except Exception:  # noqa: BLE001 - a run's bug must not end the replica; its lease runs out
            _log.exception("run_crashed", run_id=run_id)
        finally:
            if self._holders.get(run_id, (None,))[0] is holder:
                del self._holders[run_id]
            self._hand.metrics.held(len(self._holders))
            self._moved(run_id)
            await self._slots.give_back()


def _wakes(image: Image) -> list[Document]:
    return [entry for entry in image.document["outbox"] if entry["key"] == "wake"]
