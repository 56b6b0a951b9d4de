"""An agent's runs, one after another: which is its current one, and how the next one begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from placet.clock import Clock
from placet.domain.heritage import Birth, Heritage
from placet.domain.run import Message
from placet.errors import Conflict, NotAllowed, NotFound
from placet.ids import derived_id
from placet_runner.ports import Agents, Document, Image, Observer, Runs
from placet_runner.rules.families import heritage_of
from placet_runner.rules.runs import MOST_UNREAD, new_run
from placet_runner.usecases.definitions import Shelf
from placet_runner.usecases.grip import Outgoing
from placet_runner.usecases.replica import Replica

RACES = 8
_LISTED = 20
"""Definitions that a refusal names."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Runs by their agents."""

    runs: Runs
    agents: Agents
    definitions: Shelf
    replica: Replica
    relay: Outgoing
    clock: Clock
    metrics: Observer

    async def turn(
        self,
        namespace: str,
        agent_id: str,
        run_id: str,
        messages: Sequence[Message],
        heritage: Heritage,
        after: str | None = None,
        *,
        lets_go: bool = True,
    ) -> Image:
        """The next run of an agent, or these messages to the run that it has; each of them once.

        `after` is the run that held the messages: what a later one has had already is left out.
        `lets_go`: whether the sender may start runs that let go on what would ask.

        Raises:
            NotFound: no such agent.
            Conflict: the id is of another input, the run has no room, the agent runs below another, or
                its run is watched otherwise than is asked for.
            NotAllowed: the run lets go on what would ask, which the sender may not.
        """
        for _ in range(RACES):
            own_id, made = await self._own_id(run_id)
            if made is not None:
                return _same(made, namespace, agent_id, messages)
            current, last = await self.newest(namespace, agent_id)
            refuse_child(last)
            if current == last.id and last.status.live:
                refuse_unwatched(last, lets_go)
                if after is None:
                    _refuse_other_watch(last, heritage)
            done = await self._next_turn(
                namespace, (current, last), own_id, messages, heritage, after
            )
            if done is not None:
                return done
        raise Conflict(f"agent {agent_id} keeps changing; try again")

    async def _own_id(self, run_id: str) -> tuple[str, Image | None]:
        """The run of this id, if it was made; else an id that can be had."""
        while (made := await self.runs.get(run_id)) is not None and _buried(made):
            run_id = derived_id("run", run_id, "again")
        return run_id, made

    async def _next_turn(
        self,
        namespace: str,
        newest: tuple[str, Image],
        run_id: str,
        messages: Sequence[Message],
        heritage: Heritage,
        after: str | None,
    ) -> Image | None:
        """Messages to the agent's current run, or its next run. None: it changed meanwhile."""
        current, last = newest
        agent_id = last.document["agent_id"]
        fresh = await self._unheard(last, messages, after)
        if not fresh:
            return last
        if current == last.id and last.status.live:
            for message in fresh:
                if not await self._told(namespace, last, message):
                    return None
            await self.nudge(last.id)
            return await self.read(namespace, last.id)
        if current not in (run_id, last.id):
            await self._bury(namespace, current, last)
        if current != run_id and not await self.agents.set_current(
            namespace, agent_id, current, run_id, last.id
        ):
            return None
        birth = Birth(
            agent=last.document["agent"],
            agent_id=agent_id,
            messages=tuple(fresh),
            initiator=fresh[0].sender,
            after_run_id=last.id,
            heritage=heritage,
        )
        return await self.create(new_run(run_id, namespace, birth, self.clock.now()))

    async def _unheard(
        self, last: Image, messages: Sequence[Message], after: str | None
    ) -> list[Message]:
        """Those that no run has had: not the last one, nor any since `after`."""
        left, image = list(messages), last
        while image.id != after:
            left = [message for message in left if message.id not in image.document["seen"]]
            before = image.document["after_run_id"] if after else None
            earlier = await self.runs.get(before) if before else None
            if earlier is None:
                break
            image = earlier
        return left

    async def _told(self, namespace: str, run: Image, message: Message) -> bool:
        """Whether a live run has the message now. Raises Conflict where it has no room."""
        if await self.runs.message(run.id, message):
            return True
        image = await self.read(namespace, run.id)
        if message.id in image.document["seen"]:
            return True
        if image.status.live and len(image.inbox) >= MOST_UNREAD:
            raise full(image)
        return False

    async def newest(self, namespace: str, agent_id: str) -> tuple[str, Image]:
        """The id of the agent's current run, and that run, or the one before it.

        A record may name a run whose insert never happened: its writer died in between. If it still
        lives, its insert finds the id taken by a cancelled run, and it takes another.
        """
        record = await self.agents.current(namespace, agent_id)
        current = record["current_run"] if record else agent_id.replace("agt_", "run_", 1)
        image = await self.runs.get(current)
        if image is None and record and record.get("previous_run"):
            image = await self.runs.get(record["previous_run"])
        if image is None or image.document["namespace"] != namespace:
            raise await self._no_agent(namespace, agent_id)
        return current, image

    async def _bury(self, namespace: str, run_id: str, last: Image) -> None:
        """Take the id of a run that was announced and never inserted, so that it never will be."""
        nothing = Message(id=_never_said(run_id), text="")
        birth = Birth(
            agent=last.document["agent"],
            agent_id=last.document["agent_id"],
            messages=(nothing,),
            after_run_id=last.id,
        )
        await self.never(namespace, run_id, birth)

    async def never(self, namespace: str, run_id: str, birth: Birth) -> bool:
        """Insert a run as cancelled, so that it never runs. False: it exists."""
        never = new_run(run_id, namespace, birth, self.clock.now())
        ended: Document = {"status": "cancelled", "inbox": [], "outbox": [], "due": None}
        return await self.runs.create(never | ended)

    async def create(self, document: Document) -> Image | None:
        """R1. None: that id exists."""
        created = await self.replica.create(document)
        if created is not None:
            self.metrics.created()
        return created

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

    async def _no_agent(self, namespace: str, agent_id: str) -> NotFound:
        names = await self.definitions.names(namespace)
        if agent_id in names:
            return NotFound(
                f"{agent_id!r} is a definition; name an agent (agt_...) or a run (run_...)"
            )
        known = ", ".join(names[:_LISTED]) or "none is loaded"
        return NotFound(f"no agent {agent_id!r}; definitions: {known}")


def refuse_child(image: Image) -> None:
    """A run below another takes no messages of its own, and its agent no other runs. Raises Conflict."""
    if image.document.get("parent"):
        root = image.document["root_run_id"]
        detail = f"{image.id} runs below another and takes no messages; tell its root, {root}"
        raise Conflict(detail, code="not_root")


def refuse_unwatched(image: Image, lets_go: bool) -> None:
    """Whoever may not start a run that lets go on what would ask tells it nothing. Raises NotAllowed."""
    if heritage_of(image.document).unattended == "allow" and not lets_go:
        raise NotAllowed(
            f"{image.id} lets go on what would ask; telling it something needs the scope runs:unattended, "
            "as starting it did"
        )


def _refuse_other_watch(image: Image, heritage: Heritage) -> None:
    """A run that goes on is watched as it was started; what asks for another watch is told so."""
    said, now = heritage.unattended, heritage_of(image.document).unattended
    if said is not None and said != now:
        how = "somebody is there" if now is None else f"unattended is {now}"
        raise Conflict(
            f"{image.id} is at work, and for it {how}; wait until it has ended, or abort it",
            code="watched_otherwise",
        )


def full(image: Image) -> Conflict:
    """The refusal of a message that a run has no room for."""
    detail = f"{image.id} has {MOST_UNREAD} unread messages; wait until it reads them"
    return Conflict(detail, code="full")


def _never_said(run_id: str) -> str:
    return derived_id("msg", run_id, "never")


def _buried(image: Image) -> bool:
    return bool(image.document["seen"] == [_never_said(image.id)])


def _same(made: Image, namespace: str, agent_id: str, messages: Sequence[Message]) -> Image:
    """The run that this very request made before. Raises Conflict where it was another."""
    document = made.document
    ours = (document["namespace"], document["agent_id"]) == (namespace, agent_id)
    if not ours or not any(message.id in document["seen"] for message in messages):
        raise Conflict("this idempotency key was used for another run", code="idempotency_conflict")
    return made
