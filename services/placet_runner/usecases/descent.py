"""What runs tell one another: start, how a child ended, be quiet, stop. Each may come twice or late."""

from placet.domain.heritage import Birth, ChildEnd
from placet.domain.run import Message, RunStatus
from placet.errors import Invalid
from placet_runner.rules.families import ended_again, held_messages
from placet_runner.rules.runs import new_run
from placet_runner.usecases.talk import Talk


class Descent:
    """The use cases behind the commands that only runners send."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    async def born(self, namespace: str, run_id: str, birth: Birth) -> None:
        """A run starts another: a child, or its agent's next turn. Doing it again is harmless.

        A child that has ended already says so again.
        """
        if birth.parent_run_id is None:
            agent_id, after = birth.agent_id, birth.after_run_id
            messages = birth.messages or await self._held(namespace, after, run_id)
            await self._talk.turn(namespace, agent_id, run_id, messages, birth.heritage, after)
            if after:
                begun = ChildEnd(run_id=run_id, status=RunStatus.COMPLETED)
                await self._talk.runs.note_closed(after, begun)
            return
        document = new_run(run_id, namespace, birth, self._talk.clock.now())
        if await self._talk.create(document):
            return
        image = await self._talk.read(namespace, run_id)
        if image.status.live:
            await self._talk.replica.take_up(run_id)
        else:
            self._talk.relay.post(run_id, ended_again(image.document))

    async def _held(self, namespace: str, after: str | None, run_id: str) -> tuple[Message, ...]:
        """What the run before held for this one. Raises NotFound, Invalid: nothing is known of it."""
        before = await self._talk.read(namespace, after or "")
        messages = held_messages(before.document, run_id)
        if not messages:
            raise Invalid(f"{before.id} holds nothing for {run_id}")
        return messages

    async def child_ended(self, run_id: str, end: ChildEnd) -> None:
        """R8 for a child: its parent goes on once nothing is waited for any more."""
        if await self._talk.runs.record_child(run_id, end) or await self._talk.runs.note_closed(
            run_id, end
        ):
            await self._talk.nudge(run_id)
        elif (image := await self._talk.runs.get(run_id)) and image.status.live:
            await self._talk.replica.take_up(run_id, wait=False)

    async def hush(self, run_id: str, message: Message) -> None:
        """A message came to the root: what this run below asks is closed, and it goes on."""
        if await self._talk.runs.message(run_id, message):
            await self._talk.nudge(run_id)

    async def stop(self, namespace: str, run_id: str, birth: Birth, by: str | None) -> None:
        """R18 for a child: one that does not exist yet never will run."""
        if await self._talk.never(namespace, run_id, birth):
            never = new_run(run_id, namespace, birth, self._talk.clock.now())
            self._talk.relay.post(run_id, ended_again(never | {"status": "cancelled"}))
            return
        image = await self._talk.cancel(await self._talk.read(namespace, run_id), by)
        if not image.status.live:
            self._talk.relay.post(run_id, ended_again(image.document))
