"""Measures what a consumer does: how many, how long, how old, how often again."""

import time
from datetime import UTC, datetime

from placet.bus.port import Ack, Delivery, Handler, Later, Reject, Settle
from placet.process.metrics import HUMAN, Metrics


def measured(queue: str, handler: Handler, metrics: Metrics) -> Handler:
    """The same handler, counted: `messages_consumed_total{queue,outcome=ack|dead|retry|error}`.

    Also the time that handling takes, the age of a message when its handling starts, and how many
    came again.
    """
    consumed = metrics.counter(
        "messages_consumed", "Messages handled, by what became of them.", ("queue", "outcome")
    )
    seconds = metrics.histogram(
        "message_processing_seconds", "Time that handling a message takes.", ("queue",)
    ).labels(queue)
    age = metrics.histogram(
        "message_age_seconds",
        "From the publish of a message to the start of its handling.",
        ("queue",),
        buckets=(0.01, 0.1, *HUMAN),
    ).labels(queue)
    again = metrics.counter(
        "messages_redelivered", "Messages that were delivered before.", ("queue",)
    ).labels(queue)
    by_outcome = {word: consumed.labels(queue, word) for word in ("ack", "dead", "retry", "error")}

    async def handle(delivery: Delivery) -> Settle:
        if delivery.redelivered:
            again.inc()
        if delivery.timestamp is not None:
            age.observe(max(0.0, (datetime.now(UTC) - delivery.timestamp).total_seconds()))
        started = time.perf_counter()
        outcome = "error"
        try:
            settled = await handler(delivery)
            outcome = _word(settled)
            return settled
        finally:
            seconds.observe(time.perf_counter() - started)
            by_outcome[outcome].inc()

    return handle


def _word(settled: Settle) -> str:
    match settled:
        case Ack():
            return "ack"
        case Reject():
            return "dead"
        case Later():
            return "retry"
