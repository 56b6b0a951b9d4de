"""What people and programs ask of a run: start it, tell it something, end it, look at it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placet.agents.agent import Agent
from placet.clock import Clock
from placet.domain.heritage import Birth, Heritage, UnattendedApproval
from placet.domain.run import Message, RunStatus
from placet.errors import Conflict, NotFound
from placet.ids import derived_id, new_id
from placet.kernel import fold, read_entry
from placet.kernel.journal import RunCancelled
from placet.messages import CommandName, EventType, RunCommand
from placet_runner.ports import Agents, Document, Image, Observer, Runs
from placet_runner.rules.families import end_entries, stop_entry
from placet_runner.rules.runs import (
    MOST_UNREAD,
    close_entry,
    event_entry,
    is_child,
    new_run,
    outbox_entry,
)
from placet_runner.rules.views import undelivered
from placet_runner.usecases.grip import Outgoing
from placet_runner.usecases.replica import Replica

RACES = 8


@dataclass(frozen=True, slots=True)
class Talk:
    """The use cases behind the REST API and the commands on the bus."""

    runs: Runs
    agents: Agents
    definitions: Mapping[str, Agent]
    replica: Replica
    relay: Outgoing
    clock: Clock
    metrics: Observer

    async def start(
        self,
        namespace: str,
        target: str,
        text: str,
        *,
        initiator: str | None,
        key: str | None = None,
        caller: str = "",
        unattended: UnattendedApproval | None = None,
    ) -> Image:
        """Start a run: of a definition by its name, or the next one of an agent by its id.

        An agent that is at work gets the text as a message. The same `key` of the same caller is
        the same run. `unattended` says that nobody is there, for this run and all below it.

        Raises:
            NotFound: no such definition or agent.
            Conflict: the key was used for another input, or the agent runs below another.
        """
        run_id = derived_id("run", namespace, caller, key) if key else new_id("run")
        message = Message(id=derived_id("msg", run_id, text), text=text, sender=initiator)
        heritage = Heritage(unattended=unattended)
        if target in self.definitions:
            birth = Birth(
                agent=target,
                agent_id=run_id.replace("run_", "agt_", 1),
                messages=(message,),
                initiator=initiator,
                heritage=heritage,
            )
            return await self._create(namespace, run_id, birth)
        return await self.turn(namespace, target, run_id, (message,), heritage)

    async def turn(
        self,
        namespace: str,
        agent_id: str,
        run_id: str,
        messages: Sequence[Message],
        heritage: Heritage,
    ) -> Image:
        """The next run of an agent, or these messages to the run that it has. Raises Conflict."""
        for _ in range(RACES):
            done = await self._next_turn(namespace, agent_id, run_id, messages, heritage)
            if done is not None:
                return done
        raise Conflict(f"agent {agent_id} keeps changing; try again")

    async def _next_turn(
        self,
        namespace: str,
        agent_id: str,
        run_id: str,
        messages: Sequence[Message],
        heritage: Heritage,
    ) -> Image | None:
        """Messages to the agent's current run, or its next run. None: it changed meanwhile."""
        current, last = await self._newest(namespace, agent_id)
        if last.id == run_id or messages[-1].id in last.document["seen"]:
            return last  # the same key again
        if current == last.id and last.status.live:
            for message in messages:
                if not await self._told(namespace, last, message):
                    return None
            await self.nudge(last.id)
            return await self.read(namespace, last.id)
        if current not in (run_id, last.id):
            await self._bury(namespace, current, agent_id, last.document["agent"])
        if current != run_id and not await self.agents.set_current(
            namespace, agent_id, current, run_id, last.id
        ):
            return None
        birth = Birth(
            agent=last.document["agent"],
            agent_id=agent_id,
            messages=tuple(messages),
            initiator=messages[0].sender,
            after_run_id=last.id,
            heritage=heritage,
        )
        return await self._create(namespace, run_id, birth)

    async def _told(self, namespace: str, run: Image, message: Message) -> bool:
        """Whether a live run has the message now. Raises Conflict where it has no room or takes none."""
        _refuse_child(run)
        if await self.runs.message(run.id, message):
            return True
        if not await self._has_room(run.id):
            raise _full(run)
        return message.id in (await self.read(namespace, run.id)).document["seen"]

    async def _newest(self, namespace: str, agent_id: str) -> tuple[str, Image]:
        """The id of the agent's current run, and that run, or the one before it.

        A record may name a run whose insert never happened: its writer died in between. If it still
        lives, its insert finds the id taken by a cancelled run.
        """
        record = await self.agents.current(namespace, agent_id)
        current = record["current_run"] if record else agent_id.replace("agt_", "run_", 1)
        image = await self.runs.get(current)
        if image is None and record and record.get("previous_run"):
            image = await self.runs.get(record["previous_run"])
        if image is None or image.document["namespace"] != namespace:
            raise self._no_agent(agent_id)
        return current, image

    async def _bury(self, namespace: str, run_id: str, agent_id: str, agent: str) -> None:
        """Take the id of a run that was announced and never inserted, so that it never will be."""
        nothing = Message(id=derived_id("msg", run_id, "never"), text="")
        birth = Birth(agent=agent, agent_id=agent_id, messages=(nothing,))
        await self.never(namespace, run_id, birth)

    async def never(self, namespace: str, run_id: str, birth: Birth) -> bool:
        """Insert a run as cancelled, so that it never runs. False: it exists."""
        never = new_run(run_id, namespace, birth, self.clock.now())
        ended: Document = {"status": "cancelled", "inbox": [], "outbox": [], "due": None}
        return await self.runs.create(never | ended)

    async def _has_room(self, run_id: str) -> bool:
        image = await self.runs.get(run_id)
        return image is None or len(image.inbox) < MOST_UNREAD

    async def tell(self, namespace: str, target: str, message: Message) -> Image:
        """R15: a message to a live run, or to the current run of an agent; the same id counts once.

        Raises:
            NotFound: no such run or agent.
            Conflict: nothing live accepted it.
        """
        current = await self._target(namespace, target)
        _refuse_child(current)
        row = self.runs.queue_message if message.mode == "queue" else self.runs.message
        image = await row(current.id, message)
        if image is None:
            image = await self.read(namespace, current.id)
            if message.id not in image.document["seen"]:
                if image.status.live:
                    raise _full(image)
                raise Conflict("no agent accepted the message", code="not_live")
            return image
        if image.wake:
            await self.nudge(image.id)
        return image

    async def abort(self, namespace: str, target: str, by: str | None) -> Image:
        """R18: end a run at once, also while the broker is away. An ended one is shown as it ended."""
        return await self.cancel(await self._target(namespace, target), by)

    async def cancel(self, current: Image, by: str | None) -> Image:
        """R18 for a run that was read; what it waits for is closed, and its parent is told."""
        entry = RunCancelled(by=by, at=self.clock.now())
        control = outbox_entry(
            RunCommand(
                command=CommandName.ABORT,
                run_id=current.id,
                namespace=current.document["namespace"],
            ),
            exchange="placet.control",
            key="abort",
            event_id=derived_id("evt", current.id, "control"),
            run_id=current.id,
        )
        history = await self.runs.history(current)
        told = [control, self._cancelled(current.document, history)]
        if current.document.get("parent"):
            label = fold(map(read_entry, history)).taint
            told += end_entries(current.document, RunStatus.CANCELLED, "cancelled", label)
        image = await self.runs.abort(current.id, entry, told)
        if image is None:
            return await self.read(current.document["namespace"], current.id)
        self.replica.cancel(image.id)
        self.metrics.ended(RunStatus.CANCELLED)
        closes = [
            stop_entry(image.document, e)
            if is_child(e)
            else close_entry(image.document, e, "cancelled")
            for e in image.open
        ]
        self.relay.post(image.id, image.document["outbox"])
        self.relay.post(image.id, closes)
        return image

    async def _create(self, namespace: str, run_id: str, birth: Birth) -> Image:
        document = new_run(run_id, namespace, birth, self.clock.now())
        created = await self.replica.create(document)
        if created is None:
            return await self._again(namespace, document)
        self.metrics.created()
        return created

    async def _again(self, namespace: str, wanted: Document) -> Image:
        """R1 met its own id: the same request gets the same run."""
        image = await self.read(namespace, wanted["_id"])
        same = ("agent", "agent_id", "initiator")
        if (
            any(image.document[f] != wanted[f] for f in same)
            or wanted["seen"][0] not in image.document["seen"]
        ):
            raise Conflict(
                "this idempotency key was used for another run", code="idempotency_conflict"
            )
        return image

    async def _target(self, namespace: str, target: str) -> Image:
        if target.startswith("run_"):
            return await self.read(namespace, target)
        return await self._current(namespace, target)

    async def _current(self, namespace: str, agent_id: str) -> Image:
        _, image = await self._newest(namespace, agent_id)
        return image

    def _no_agent(self, agent_id: str) -> NotFound:
        if agent_id in self.definitions:
            return NotFound(
                f"{agent_id!r} is a definition; name an agent (agt_...) or a run (run_...)"
            )
        known = ", ".join(sorted(self.definitions)) or "none is loaded"
        return NotFound(f"no agent {agent_id!r}; definitions: {known}")

    async def read(self, namespace: str, run_id: str) -> Image:
        """One run. Raises NotFound, also for another namespace's."""
        image = await self.runs.get(run_id)
        if image is None or image.document["namespace"] != namespace:
            raise NotFound(f"no run {run_id!r}")
        return image

    async def nudge(self, run_id: str) -> None:
        """Take the run up here and now if that can be; else its wake goes out."""
        if not await self.replica.take_up(run_id, wait=False):
            image = await self.runs.get(run_id)
            if image:
                self.relay.post(run_id, [e for e in image.document["outbox"] if e["key"] == "wake"])

    def _cancelled(self, run: Document, history: Sequence[Document]) -> Document:
        """The event; what arrives between the read and the abort is not in it, but in the run."""
        applied = [entry["input_id"] for entry in history if entry["type"] == "input.resolved"]
        unread = [message.id for message in undelivered(run)]
        now = self.clock.now()
        return event_entry(
            run, EventType.RUN_CANCELLED, number=0, at=now, applied=applied, undelivered=unread
        )


def _refuse_child(image: Image) -> None:
    """A run below another takes no messages of its own."""
    if image.document.get("parent"):
        root = image.document["root_run_id"]
        detail = f"{image.id} runs below another and takes no messages; tell its root, {root}"
        raise Conflict(detail, code="not_root")


def _full(image: Image) -> Conflict:
    """The refusal of a message that a run has no room for."""
    detail = f"{image.id} has {MOST_UNREAD} unread messages; wait until it reads them"
    return Conflict(detail, code="full")
