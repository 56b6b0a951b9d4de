"""`placet.broker.runs`: ended runs tell which answers they have acted on."""

from placet.bus.port import Ack, Delivery, Reject, Settle
from placet.errors import Refused
from placet.messages import Event, decode
from placet.messages.wire import NAMES
from placet.process import logs
from placet_broker.consumers.sender import RUNNER_USER, check_type
from placet_broker.usecases.mark_applied import MarkApplied

QUEUE = "placet.broker.runs"


class RunsConsumer:
    """Marks the inputs that an ended run lists as applied."""

    def __init__(self, mark_applied: MarkApplied) -> None:
        self._mark = mark_applied

    async def handle(self, delivery: Delivery) -> Settle:
        """Ack after the writes. Raises Unavailable, which brings the message back."""
        if delivery.user_id != RUNNER_USER:
            return Reject(f"only the runner tells how runs end, not {delivery.user_id}")
        try:
            check_type(delivery, NAMES[Event])
            event = decode(Event, delivery.body)
        except Refused as error:
            return Reject(str(error))
        applied = event.data.get("applied") or []
        if not isinstance(applied, list):
            return Reject("applied is no list of input ids")
        with logs.bound_contextvars(run_id=event.run_id):
            await self._mark(event.run_id, event.namespace, [str(id) for id in applied])
        return Ack()
