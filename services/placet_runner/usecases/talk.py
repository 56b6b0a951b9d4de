"""What people and programs ask of a run: start it, tell it something, end it, look at it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placet.agents.agent import Agent
from placet.clock import Clock
from placet.domain.run import Message, RunStatus
from placet.errors import Conflict, NotFound
from placet.ids import derived_id, new_id
from placet.kernel.journal import RunCancelled
from placet.messages import CommandName, EventType, RunCommand
from placet_runner.ports import Agents, Document, Image, Observer, Runs
from placet_runner.rules.runs import MOST_UNREAD, close_entry, event_entry, new_run, outbox_entry
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
    ) -> Image:
        """Start a run: of a definition by its name, or the next one of an agent by its id.

        An agent that is at work gets the text as a message. The same `key` of the same caller is
        the same run.

        Raises:
            NotFound: no such definition or agent.
            Conflict: the key was used for another input.
        """
        run_id = derived_id("run", namespace, caller, key) if key else new_id("run")
        message = Message(id=derived_id("msg", run_id, text), text=text, sender=initiator)
        if target in self.definitions:
            agent_id = run_id.replace("run_", "agt_", 1)
            return await self._create(namespace, run_id, agent_id, target, message)
        for _ in range(RACES):
            done = await self._next_turn(namespace, target, run_id, message)
            if done is not None:
                return done
        raise Conflict(f"agent {target} keeps changing; try again")

    async def _next_turn(
        self, namespace: str, agent_id: str, run_id: str, message: Message
    ) -> Image | None:
        """A message to the agent's current run, or its next run. None: it changed meanwhile."""
        current, last = await self._newest(namespace, agent_id)
        if last.id == run_id or message.id in last.document["seen"]:
            return last  # the same key again
        if current == last.id and last.status.live:
            if not await self.runs.message(last.id, message):
                if await self._has_room(last.id):
                    return None
                raise _full(last)
            await self._nudge(last.id)
            return await self._read(namespace, last.id)
        if current not in (run_id, last.id):
            await self._bury(namespace, current, agent_id, last.document["agent"])
        if current != run_id and not await self.agents.set_current(
            namespace, agent_id, current, run_id, last.id
        ):
            return None
        agent = last.document["agent"]
        return await self._create(namespace, run_id, agent_id, agent, message, after=last.id)

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
        never = new_run(
            run_id,
            namespace=namespace,
            agent_id=agent_id,
            agent=agent,
            message=nothing,
            initiator=None,
            now=self.clock.now(),
        )
        await self.runs.create(
            never | {"status": "cancelled", "inbox": [], "outbox": [], "due": None}
        )

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
        row = self.runs.queue_message if message.mode == "queue" else self.runs.message
        image = await row(current.id, message)
        if image is None:
            image = await self._read(namespace, current.id)
            if message.id not in image.document["seen"]:
                if image.status.live:
                    raise _full(image)
                raise Conflict("no agent accepted the message", code="not_live")
            return image
        if image.wake:
            await self._nudge(image.id)
        return image

    async def abort(self, namespace: str, target: str, by: str | None) -> Image:
        """R18: end a run at once, also while the broker is away. An ended one is shown as it ended."""
        current = await self._target(namespace, target)
        entry = RunCancelled(by=by, at=self.clock.now())
        control = outbox_entry(
            RunCommand(command=CommandName.ABORT, run_id=current.id, namespace=namespace),
            exchange="placet.control",
            key="abort",
            event_id=derived_id("evt", current.id, "control"),
            run_id=current.id,
        )
        cancelled = self._cancelled(current.document, await self.runs.history(current))
        image = await self.runs.abort(current.id, entry, [control, cancelled])
        if image is None:
            return await self._read(namespace, current.id)
        self.replica.cancel(image.id)
        self.metrics.ended(RunStatus.CANCELLED)
        closes = [close_entry(image.document, e, "cancelled") for e in image.open]
        self.relay.post(image.id, image.document["outbox"])
        self.relay.post(image.id, closes)
        return image

    async def look(self, namespace: str, run_id: str) -> Image:
        """One run. Raises NotFound, also for another namespace's."""
        return await self._read(namespace, run_id)

    async def _create(
        self,
        namespace: str,
        run_id: str,
        agent_id: str,
        agent: str,
        message: Message,
        after: str | None = None,
    ) -> Image:
        document = new_run(
            run_id,
            namespace=namespace,
            agent_id=agent_id,
            agent=agent,
            message=message,
            initiator=message.sender,
            now=self.clock.now(),
            after_run_id=after,
        )
        created = await self.replica.create(document)
        if created is None:
            return await self._again(namespace, document)
        self.metrics.created()
        return created

    async def _again(self, namespace: str, wanted: Document) -> Image:
        """R1 met its own id: the same request gets the same run."""
        image = await self._read(namespace, wanted["_id"])
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
            return await self._read(namespace, target)
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

    async def _read(self, namespace: str, run_id: str) -> Image:
        image = await self.runs.get(run_id)
        if image is None or image.document["namespace"] != namespace:
            raise NotFound(f"no run {run_id!r}")
        return image

    async def _nudge(self, run_id: str) -> None:
        """Take the run up here and now if that can be; else its wake goes out."""
        if not await self.replica.take_up(run_id, wait=False):
            image = await self.runs.get(run_id)
            if image:
                self.relay.post(run_id, [e for e in image.document["outbox"] if e["key"] == "wake"])

    def _cancelled(self, run: Document, history: Sequence[Document]) -> Document:
        """The event; what arrives between the read and the abort is not in it, but in the run."""
        applied = [entry["input_id"] for entry in history if entry["type"] == "input.resolved"]
        undelivered = [message["id"] for message in run["inbox"]]
        now = self.clock.now()
        return event_entry(
            run, EventType.RUN_CANCELLED, number=0, at=now, applied=applied, undelivered=undelivered
        )


def _full(image: Image) -> Conflict:
    """The refusal of a message that a run has no room for."""
    detail = f"{image.id} has {MOST_UNREAD} unread messages; wait until it reads them"
    return Conflict(detail, code="full")
