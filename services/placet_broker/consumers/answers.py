"""`placet.broker.answers`: answers of other services; who answers is the validated AMQP user."""

from placet.bus.port import Ack, Delivery, Settle
from placet.errors import NotAllowed, Refused
from placet.messages import AnswerMessage, decode_strict, encode
from placet.messages.wire import NAMES, name_of
from placet.process import logs, problems
from placet.process.auth import Auth
from placet_broker.consumers.sender import PROBLEM, address_of, check_type, refuse, reply, sender_of
from placet_broker.ports import Outbox
from placet_broker.rules.outgoing import resolution_of
from placet_broker.rules.record import Record
from placet_broker.usecases.answer_input import AnswerInput
from placet_broker.usecases.submission import Answered, Submission

QUEUE = "placet.broker.answers"
CHANNEL = "bus"


class AnswersConsumer:
    """Answers, then replies with the resolution or a problem."""

    def __init__(self, answer_input: AnswerInput, auth: Auth, outbox: Outbox) -> None:
        self._answer = answer_input
        self._auth = auth
        self._outbox = outbox

    async def handle(self, delivery: Delivery) -> Settle:
        """Ack after the write and the reply. Raises Unavailable, which brings the message back."""
        try:
            answered = await self._handle(delivery)
        except Refused as error:
            return await refuse(
                delivery, error, self._outbox, kept=not await self._secret(delivery)
            )
        address = address_of(delivery)
        if address is not None:
            kind, body = _told(answered.record)
            await reply(delivery, address, kind, body, self._outbox)
        return Ack()

    async def _secret(self, delivery: Delivery) -> bool:
        """Whether the message may hold what a person typed for a tool alone."""
        try:
            message = decode_strict(AnswerMessage, delivery.body)
        except Refused:
            return False
        return await self._answer.takes_secrets(message.input_id)

    async def _handle(self, delivery: Delivery) -> Answered:
        check_type(delivery, NAMES[AnswerMessage])
        message = decode_strict(AnswerMessage, delivery.body)
        try:
            address_of(delivery)
            sender = await sender_of(delivery, self._auth)
        except NotAllowed as error:
            user = f"the AMQP user {delivery.user_id}"
            await self._answer.turned_away(message.input_id, user, str(error))
            raise
        submission = Submission(
            input_id=message.input_id,
            caller=sender,
            channel=CHANNEL,
            action=message.action,
            content=message.content,
            named=message.person,
            digest=message.digest,
            answer_id=message.id or delivery.event_id,
        )
        with logs.bound_contextvars(input_id=message.input_id):
            return await self._answer(submission)


def _told(record: Record) -> tuple[str, bytes]:
    """The type and body of the reply: the resolution, or how far it is with the yeses of several."""
    if not record.pending:
        resolution = resolution_of(record)
        return name_of(resolution), encode(resolution)
    detail = f"this yes is counted, {len(record.votes)} of the {record.policy.quorum} that it takes"
    body = problems.problem(202, detail, code="voted", extra={"input": record.as_fragment()}).body
    return PROBLEM, bytes(body)
