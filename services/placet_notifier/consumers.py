"""`placet.notifier.events`: every event of every namespace, from runner and broker."""

from placet.bus.port import Ack, Delivery, Later, Reject, Settle
from placet.errors import Invalid, Unavailable
from placet.messages import Event, decode
from placet.messages.users import BROKER_USER, RUNNER_USER
from placet.process import logs
from placet_notifier.usecases.record_events import RecordEvents

QUEUE = "placet.notifier.events"
_SENDERS = (RUNNER_USER, BROKER_USER)

_log = logs.get(__name__)


class EventsConsumer:
    """Stores events; handling one twice, late or out of order is harmless."""

    def __init__(self, record: RecordEvents) -> None:
        self._record = record

    async def handle(self, delivery: Delivery) -> Settle:
        """Ack once the event and what it makes us owe are durable."""
        if delivery.user_id not in _SENDERS:
            return Reject(f"sent by {delivery.user_id!r}, not by {' or '.join(_SENDERS)}")
        try:
            event = decode(Event, delivery.body)
            await self._record(event, len(delivery.body))
        except Invalid as error:
            return Reject(str(error)[:500])
        except Unavailable as error:
            _log.warning("event_waits", reason=str(error))
            return Later()
        return Ack()
