"""What the runner does with each message; it acts on what the database says, not on the order."""

from collections.abc import Awaitable, Callable

from placet.bus.port import Ack, Delivery, Later, Reject, Settle
from placet.domain.resolution import Resolution
from placet.domain.run import HUSH, QUEUE
from placet.errors import Conflict, Invalid, NotFound, Unavailable
from placet.messages import CommandName, RunCommand, decode
from placet.messages.users import BROKER_USER, NOTIFIER_USER, RUNNER_USER
from placet.process import logs
from placet_runner.usecases.descent import Descent
from placet_runner.usecases.replica import Replica
from placet_runner.usecases.talk import Talk

RUNS_QUEUE = "placet.runner.runs"
RESOLUTIONS_QUEUE = "placet.runner.resolutions"

_log = logs.get(__name__)


class RunnerConsumers:
    """The handlers of the runner's queues."""

    def __init__(self, replica: Replica, talk: Talk) -> None:
        self._replica = replica
        self._talk = talk
        self._descent = Descent(talk)

    async def on_command(self, delivery: Delivery) -> Settle:
        """Start, wake, message, abort: from a runner or the notifier."""
        return await self._settle(delivery, (RUNNER_USER, NOTIFIER_USER), self._command)

    async def on_resolution(self, delivery: Delivery) -> Settle:
        """How a question ended: from the broker alone."""
        return await self._settle(delivery, (BROKER_USER,), self._resolution)

    async def on_control(self, delivery: Delivery) -> Settle:
        """A run ended elsewhere: its work here stops at once."""
        if delivery.user_id == RUNNER_USER:
            self._replica.cancel(decode(RunCommand, delivery.body).run_id)
        return Ack()

    async def _settle(
        self,
        delivery: Delivery,
        senders: tuple[str, ...],
        handle: Callable[[Delivery], Awaitable[None]],
    ) -> Settle:
        if delivery.user_id not in senders:
            return Reject(f"sent by {delivery.user_id!r}, not by {' or '.join(senders)}")
        try:
            await handle(delivery)
        except Unavailable as error:
            _log.warning("message_waits", type=delivery.type, reason=str(error))
            return Later()
        except (Invalid, NotFound, Conflict) as error:
            return Reject(str(error)[:500])
        return Ack()

    async def _command(self, delivery: Delivery) -> None:
        command = decode(RunCommand, delivery.body)
        if delivery.user_id == NOTIFIER_USER and command.command is not CommandName.MESSAGE:
            raise Invalid(f"the notifier may tell runs something, not {command.command}")
        match command.command:
            case CommandName.START if command.birth:
                await self._descent.born(command.namespace, command.run_id, command.birth)
            case CommandName.START | CommandName.WAKE:
                await self._replica.take_up(command.run_id)
            case CommandName.MESSAGE:
                await self._message(command, delivery.user_id)
            case CommandName.ABORT if command.birth:
                await self._descent.stop(
                    command.namespace, command.run_id, command.birth, command.by
                )
            case CommandName.ABORT:
                await self._talk.abort(command.namespace, command.run_id, command.by)
            case CommandName.CHILD:
                if command.child is None:
                    raise Invalid("a child command without the child's end")
                await self._descent.child_ended(command.run_id, command.child)

    async def _message(self, command: RunCommand, sender: str | None) -> None:
        if command.message is None:
            raise Invalid("a message command without a message")
        if command.message.mode == HUSH and sender == RUNNER_USER:
            await self._descent.hush(command.run_id, command.message)
        elif command.message.mode not in ("supersede", QUEUE):
            raise Invalid(f"a message of mode {command.message.mode!r}")
        else:
            await self._talk.tell(command.namespace, command.run_id, command.message)

    async def _resolution(self, delivery: Delivery) -> None:
        await self._replica.take_answer(decode(Resolution, delivery.body))
