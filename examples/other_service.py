"""A service that knows nothing of agents asks for an approval over RabbitMQ, and waits for the answer.

Wants AMQP_URL, the AMQP user of this service, here `svc-billing`, which the operator made known with
`placet keys user svc-billing --service billing --scope runs:write`.
"""

import asyncio
import os
from datetime import UTC, datetime

import aio_pika
from aio_pika.abc import AbstractIncomingMessage

from placet import ApprovalRequest, ToolRisk
from placet.domain.interaction import ToolCall
from placet.domain.resolution import Resolution

USER = "svc-billing"
REPLIES = f"placet.reply.{USER}.refunds"


def request(order: str, cents: int) -> ApprovalRequest:
    """The same order gives the same input, however often this is sent."""
    return ApprovalRequest(
        call=ToolCall(id=f"refund-{order}", tool="refund", args={"order": order, "cents": cents}),
        risk=ToolRisk.HIGH,
        agent_id="billing",
        run_id=f"order-{order}",
        message=f"Refund order {order}?",
        requested_at=datetime.now(UTC),
    )


async def ask(url: str, asked: ApprovalRequest) -> Resolution:
    """Publish the request and wait until it is settled; a problem is raised as ValueError."""
    connection = await aio_pika.connect(url)
    async with connection:
        channel = await connection.channel()
        # Durable, so that an answer waits here if this service is away when it comes.
        replies = await channel.declare_queue(REPLIES, durable=True)
        exchange = await channel.get_exchange("placet.requests", ensure=False)
        await exchange.publish(_message(asked), routing_key=asked.kind)
        async with replies.iterator() as incoming:
            async for message in incoming:
                async with message.process():
                    if message.correlation_id == asked.run_id:
                        return _read(message)
    raise ValueError("the connection was closed")


def _message(asked: ApprovalRequest) -> aio_pika.Message:
    return aio_pika.Message(
        asked.model_dump_json().encode(),
        type="placet.approval_request.v1",
        content_type="application/json",
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        user_id=USER,  # RabbitMQ refuses a name that is not the connection's
        headers={"event-id": f"refund:{asked.call.id}"},
        correlation_id=asked.run_id,
        reply_to=REPLIES,
    )


def _read(message: AbstractIncomingMessage) -> Resolution:
    if message.type != "placet.resolution.v1":
        raise ValueError(message.body.decode())
    return Resolution.model_validate_json(message.body)


async def main() -> None:
    """Ask for one refund."""
    resolution = await ask(os.environ["AMQP_URL"], request("4711", 1200))
    by = resolution.by.id if resolution.by else "nobody"
    print(resolution.outcome.decision or resolution.state, "by", by)


if __name__ == "__main__":
    asyncio.run(main())
