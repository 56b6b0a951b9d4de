"""The bus: one port, RabbitMQ and an in-process twin behind it."""

from placet.bus.inprocess import Hub
from placet.bus.port import (
    Ack,
    Bus,
    Consumption,
    DeadLetter,
    Delivery,
    Handler,
    Later,
    Outgoing,
    Reject,
    Settle,
)

__all__ = [
    "Ack",
    "Bus",
    "Consumption",
    "DeadLetter",
    "Delivery",
    "Handler",
    "Hub",
    "Later",
    "Outgoing",
    "Reject",
    "Settle",
    "bus_on",
    "open_bus",
]


async def open_bus(where: str | Hub, user: str | None = None) -> Bus:
    """An open bus: on the server of an `amqp://` URL, as the URL's user, or on a hub as `user`.

    Raises `Unavailable` naming the server.
    """
    bus = bus_on(where, user)
    await bus.open()
    return bus


def bus_on(where: str | Hub, user: str | None = None) -> Bus:
    """The same, not opened yet."""
    if isinstance(where, Hub):
        return where.bus(user or "placet")
    # Imported here: a process on the in-process bus has no use for aio-pika.
    from placet.bus.rabbit import RabbitBus  # noqa: PLC0415

    return RabbitBus(where)
