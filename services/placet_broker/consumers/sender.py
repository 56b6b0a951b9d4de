"""Who sent a message, by its validated user, and how to reply to them."""

from placet.bus.port import Ack, Delivery, Outgoing, Reject, Settle
from placet.bus.topology import OWN_USERS
from placet.errors import Invalid, NotAllowed, PlacetError, Unroutable
from placet.ids import derived_id
from placet.process import logs, problems
from placet.process.auth import Auth, Caller
from placet_broker.ports import Outbox
from placet_broker.rules.record import Address

RUNNER_USER = "placet-runner"
PROBLEM = "placet.problem.v1"
DIRECT = "amq.rabbitmq.reply-to"

_log = logs.get(__name__)


def check_type(delivery: Delivery, *expected: str) -> None:
    """Refuse a message that does not say that it is what its queue takes. Raises Invalid."""
    if delivery.type not in expected:
        raise Invalid(f"the type {delivery.type!r} is not taken here: {' or '.join(expected)}")


async def sender_of(delivery: Delivery, auth: Auth) -> Caller:
    """The service behind the AMQP user. Raises NotAllowed for a user that nobody mapped."""
    user = delivery.user_id or ""
    found = None if user in OWN_USERS else await auth.keys.by_amqp_user(user)
    if found is None:
        raise NotAllowed(f"the AMQP user {user!r} stands for no service here")
    return found


def address_of(delivery: Delivery) -> Address | None:
    """Where the sender wants its reply. Raises NotAllowed for a queue that is not its own."""
    reply_to = delivery.reply_to
    if not reply_to:
        return None
    if not _is_own(reply_to, delivery.user_id or ""):
        raise NotAllowed(f"reply_to must be {DIRECT} or placet.reply.{delivery.user_id}.*")
    return Address(reply_to, delivery.correlation_id)


def _is_own(reply_to: str, user: str) -> bool:
    """Whether it is the server's direct reply-to, or a queue of this user and of no other.

    What follows the user's name is one word: `placet.reply.a.b.1` is of the user `a.b`, not of `a`.
    """
    if reply_to == DIRECT or reply_to.startswith(f"{DIRECT}."):
        return True
    of, _, word = reply_to.rpartition(".")
    return bool(word) and bool(user) and of == f"placet.reply.{user}"


async def refuse(
    delivery: Delivery, error: PlacetError, outbox: Outbox, *, kept: bool = True
) -> Settle:
    """Tell the sender if it can be told, else keep the message with the reason.

    What must not be kept is dropped, and the log says so. Raises Unavailable if the reply could not be
    published.
    """
    try:
        address = None if delivery.user_id in OWN_USERS else address_of(delivery)
    except NotAllowed:
        address = None
    if address is None and not kept:
        _log.warning("secret_dropped", user=delivery.user_id, reason=str(error))
        return Ack()
    if address is None:
        return Reject(f"{error.code}: {error}")
    body = bytes(problems.of_error(error).body)
    await reply(delivery, address, PROBLEM, body, outbox)
    return Ack()


async def reply(
    delivery: Delivery, address: Address, kind: str, body: bytes, outbox: Outbox
) -> None:
    """Publish a reply; that nobody is there to take it is no failure. Raises Unavailable."""
    message = Outgoing(
        exchange="",
        key=address.reply_to,
        type=kind,
        body=body,
        event_id=derived_id("evt", delivery.event_id, kind),
        correlation_id=address.correlation_id,
    )
    try:
        await outbox.publish(message)
    except Unroutable:
        return
