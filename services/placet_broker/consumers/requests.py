"""`placet.broker.requests`: questions, from the runner and from other services, and their closing."""

from placet.bus.port import Ack, Delivery, Reject, Settle
from placet.domain.interaction import InteractionRequest
from placet.errors import Invalid, Refused
from placet.messages import Close, decode, decode_strict
from placet.messages.strict import decode_request_strict
from placet.messages.wire import (
    APPROVAL_REQUEST,
    INTERACTION_REQUEST,
    NAMES,
    decode_request,
    name_of,
)
from placet.process import logs
from placet.process.auth import Auth, Scope
from placet_broker.consumers.sender import (
    RUNNER_USER,
    address_of,
    check_type,
    refuse,
    sender_of,
)
from placet_broker.ports import Outbox
from placet_broker.rules.opening import Asker
from placet_broker.rules.record import RUNNER
from placet_broker.usecases.close_input import CloseInput
from placet_broker.usecases.open_request import OpenRequest

QUEUE = "placet.broker.requests"
_UNREAD = frozenset({"applied", "notified"})


class RequestsConsumer:
    """Opens and closes; handling a message twice, late or out of order is harmless."""

    def __init__(
        self, open_request: OpenRequest, close_input: CloseInput, auth: Auth, outbox: Outbox
    ) -> None:
        self._open = open_request
        self._close = close_input
        self._auth = auth
        self._outbox = outbox

    async def handle(self, delivery: Delivery) -> Settle:
        """Ack once it is durable. Raises Unavailable, which brings the message back later."""
        if delivery.key in _UNREAD:
            return Reject(f"no version of the broker reads {delivery.key!r} yet")
        try:
            if delivery.key == "close":
                await self._handle_close(delivery)
            else:
                await self._handle_request(delivery)
        except Refused as error:
            return await refuse(delivery, error, self._outbox)
        return Ack()

    async def _handle_close(self, delivery: Delivery) -> None:
        check_type(delivery, NAMES[Close])
        read = decode if delivery.user_id == RUNNER_USER else decode_strict
        close = read(Close, delivery.body)
        with logs.bound_contextvars(input_id=close.input_id, run_id=close.run_id):
            if delivery.user_id == RUNNER_USER:
                await self._close.by_run(close)
            else:
                sender = await sender_of(delivery, self._auth)
                await self._close.withdraw(close.input_id, sender)

    async def _handle_request(self, delivery: Delivery) -> None:
        request = _request_in(delivery)
        with logs.bound_contextvars(input_id=request.id, run_id=request.run_id):
            if delivery.user_id == RUNNER_USER:
                await self._open(request, Asker(RUNNER, None))
                return
            sender = await sender_of(delivery, self._auth)
            sender.need(Scope.RUNS_WRITE)
            asker = Asker(sender.id, sender.namespace)
            await self._open(request, asker, address_of(delivery))


def _request_in(delivery: Delivery) -> InteractionRequest:
    """The request; what the runner wrote may have fields of a newer version. Raises Invalid."""
    check_type(delivery, APPROVAL_REQUEST, INTERACTION_REQUEST)
    own = delivery.user_id == RUNNER_USER
    request: InteractionRequest = (decode_request if own else decode_request_strict)(delivery.body)
    if delivery.type == APPROVAL_REQUEST and name_of(request) != APPROVAL_REQUEST:
        raise Invalid(f"a {request.kind} is no {APPROVAL_REQUEST}, but {INTERACTION_REQUEST}")
    return request
