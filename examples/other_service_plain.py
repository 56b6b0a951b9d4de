"""A service without Placet's library: RabbitMQ and JSON are enough to ask for an approval.

    python other_service_plain.py ask 4711 1200    prints how it ended, and by whom
    python other_service_plain.py withdraw 4711    takes the question back

Wants AMQP_URL, the AMQP user of this service, here `svc-billing`, which the operator made known with
`placet keys user svc-billing --service billing --scope runs:write`.
"""

import asyncio
import hashlib
import json
import os
import sys
from datetime import UTC, datetime
from typing import Any

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractQueue

USER = "svc-billing"
REPLIES = f"placet.reply.{USER}.plain"


def own_id(order: str) -> str:
    """This service's own name for the question, `inp_` and 32 hex digits: the same for the same order."""
    return "inp_" + hashlib.sha256(f"refund {order}".encode()).hexdigest()[:32]


def request(order: str, cents: int) -> dict[str, Any]:
    """The question; sent again, it is the same one."""
    return {
        "kind": "tool_approval",
        "id": own_id(order),
        "call": {
            "id": f"refund-{order}",
            "tool": "refund",
            "args": {"order": order, "cents": cents},
        },
        "risk": "high",
        "agent_id": "billing",
        "run_id": f"order-{order}",
        "message": f"Refund order {order}?",
        "requested_at": datetime.now(UTC).isoformat(),
    }


def close(order: str) -> dict[str, Any]:
    """Nobody needs to answer any more."""
    return {"input_id": own_id(order), "run_id": f"order-{order}", "reason": "withdrawn"}


async def publish(channel: AbstractChannel, key: str, name: str, body: dict[str, Any]) -> None:
    """Send one message; returns once RabbitMQ has it for good."""
    message = aio_pika.Message(
        json.dumps(body).encode(),
        type=name,
        content_type="application/json",
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        user_id=USER,  # who asks: RabbitMQ refuses a name that is not the connection's
        headers={"event-id": f"{key}:{body.get('id') or body['input_id']}"},
        correlation_id=body["run_id"],
        reply_to=REPLIES,
    )
    exchange = await channel.get_exchange("placet.requests", ensure=False)
    await exchange.publish(message, routing_key=key)


async def ended(queue: AbstractQueue, run_id: str) -> str:
    """How the question ended, once it has."""
    async with queue.iterator() as replies:
        async for message in replies:
            async with message.process():
                reply = json.loads(message.body)
                if message.correlation_id != run_id:
                    continue
                if message.type != "placet.resolution.v1":
                    return f"refused: {reply['detail']}"
                outcome, by = reply["outcome"], reply["by"]
                word = outcome.get("decision") or outcome["state"]
                return f"{word} by {by['id'] if by else 'nobody'}"
    raise ConnectionError("RabbitMQ went away")


async def main(word: str, order: str, cents: str = "0") -> None:
    """Ask for one refund and wait, or withdraw the question."""
    connection = await aio_pika.connect(os.environ["AMQP_URL"])
    async with connection:
        channel = await connection.channel()
        if word == "withdraw":
            await publish(channel, "close", "placet.close.v1", close(order))
            return
        asked = request(order, int(cents))
        # Durable, and there before the question: a reply waits here while this service is away.
        queue = await channel.declare_queue(REPLIES, durable=True)
        await publish(channel, asked["kind"], "placet.approval_request.v1", asked)
        print(await ended(queue, asked["run_id"]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
