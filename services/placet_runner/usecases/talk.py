"""What people and programs ask of a run: start it, tell it something, end it, look at it."""

from collections.abc import Sequence

from placet.domain.heritage import Birth, Heritage, UnattendedApproval
from placet.domain.run import QUEUE, Message, RunStatus
from placet.errors import Conflict
from placet.ids import derived_id, new_id
from placet.kernel.journal import RunCancelled
from placet.messages import CommandName, EventType, RunCommand
from placet_runner.ports import Document, Image
from placet_runner.rules.families import end_entries, ending_entry
from placet_runner.rules.runs import event_entry, new_run, outbox_entry
from placet_runner.rules.views import undelivered
from placet_runner.usecases.turns import Turns, full, refuse_child, refuse_unwatched


class Talk(Turns):
    """The use cases behind the REST API and the commands on the bus."""

    __slots__ = ()

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
        lets_go: bool = False,
    ) -> Image:
        """Start a run: of a definition by its name, or the next one of an agent by its id.

        An agent that is at work gets the text as a message. The same `key` of the same caller is
        the same run. `unattended` says that nobody is there, for this run and all below it; `lets_go`
        that the caller may start runs that let go on what would ask.

        Raises:
            NotFound: no such definition or agent.
            Conflict: the key was used for another input, or the agent runs below another.
            NotAllowed: the agent is at work, letting go on what would ask, which the caller may not.
        """
        run_id = derived_id("run", namespace, caller, key) if key else new_id("run")
        message = Message(id=derived_id("msg", run_id, text), text=text, sender=initiator)
        heritage = Heritage(unattended=unattended)
        if await self.definitions.find(namespace, target) is not None:
            birth = Birth(
                agent=target,
                agent_id=run_id.replace("run_", "agt_", 1),
                messages=(message,),
                initiator=initiator,
                heritage=heritage,
            )
            return await self._made(namespace, run_id, birth)
        return await self.turn(namespace, target, run_id, (message,), heritage, lets_go=lets_go)

    async def tell(
        self, namespace: str, target: str, message: Message, *, lets_go: bool = False
    ) -> Image:
        """R15: a message to a live run, or to the current run of an agent; the same id counts once.

        `lets_go`: whether the sender may start runs that let go on what would ask.

        Raises:
            NotFound: no such run or agent.
            Conflict: nothing live accepted it.
            NotAllowed: the run lets go on what would ask, which the sender may not.
        """
        current = await self._target(namespace, target)
        refuse_child(current)
        refuse_unwatched(current, lets_go)
        row = self.runs.queue_message if message.mode == QUEUE else self.runs.message
        image = await row(current.id, message)
        if image is None:
            image = await self.read(namespace, current.id)
            if message.id not in image.document["seen"]:
                if image.status.live:
                    raise full(image)
                raise Conflict("no agent accepted the message", code="not_live")
            await self._same_words(image, message)
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
        told += end_entries(current.document, RunStatus.CANCELLED)
        image = await self.runs.abort(current.id, entry, told)
        if image is None:
            return await self.read(current.document["namespace"], current.id)
        self.replica.cancel(image.id)
        self.metrics.ended(RunStatus.CANCELLED)
        closes = [ending_entry(image.document, entry) for entry in image.open]
        self.relay.post(image.id, image.document["outbox"])
        self.relay.post(image.id, closes)
        return image

    async def _made(self, namespace: str, run_id: str, birth: Birth) -> Image:
        document = new_run(run_id, namespace, birth, self.clock.now())
        return await self.create(document) or await self._again(namespace, document)

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

    async def _same_words(self, image: Image, message: Message) -> None:
        """Raise Conflict if the run was told something else under this id before."""
        before = next((m["text"] for m in image.inbox if m["id"] == message.id), None)
        if before is None:
            read = (e for e in await self.runs.history(image) if e["type"] == "message.received")
            before = next((e["text"] for e in read if e["id"] == message.id), message.text)
        if before != message.text:
            raise Conflict(
                "this id was used for another message; take another", code="idempotency_conflict"
            )

    async def _target(self, namespace: str, target: str) -> Image:
        if target.startswith("run_"):
            return await self.read(namespace, target)
        return (await self.newest(namespace, target))[1]

    def _cancelled(self, run: Document, history: Sequence[Document]) -> Document:
        """The event; what arrives between the read and the abort is not in it, but in the run."""
        applied = [entry["input_id"] for entry in history if entry["type"] == "input.resolved"]
        unread = [message.id for message in undelivered(run)]
        passed = {"passed": run["passed"]} if run.get("passed") else {}
        data = {"applied": applied, "undelivered": unread, **passed}
        now = self.clock.now()
        return event_entry(run, EventType.RUN_CANCELLED, number=0, at=now, **data)
