"""The broker's metrics."""

from datetime import datetime

from placet.process.metrics import HUMAN, Metrics
from placet_broker.rules.record import Record


class BrokerMetrics:
    """Counters that the use cases raise, and gauges that are read from the database at a scrape."""

    def __init__(self, metrics: Metrics) -> None:
        self._opened = metrics.counter(
            "interactions_opened", "Questions that were opened.", ("kind",)
        )
        self._ended = metrics.counter(
            "interactions", "Questions that have ended.", ("kind", "outcome")
        )
        self._wait = metrics.histogram(
            "interaction_wait_seconds",
            "From opened to settled.",
            ("kind", "outcome"),
            buckets=HUMAN,
        )
        self._answers = metrics.counter(
            "answers", "Answers that arrived, by what became of them.", ("channel", "outcome")
        )
        self.pending = metrics.gauge(
            "interactions_pending", "Questions that wait, counted up to 10,000.", ("kind",)
        )
        self.unanswerable = metrics.gauge(
            "interactions_unanswerable", "Questions that fewer people may answer than it takes."
        )
        self.oldest = metrics.gauge(
            "interaction_oldest_pending_seconds", "Age of the oldest question that waits."
        )
        self.freezes = metrics.gauge(
            "freezes_active", "Freezes that keep calls from starting, counted up to 1,000."
        )
        self.dead = metrics.gauge("dead_letters", "Messages that could not be handled.")
        self.outbox = metrics.gauge(
            "outbox_pending", "Documents whose outbox is overdue, up to 1,000.", ("service",)
        ).labels("broker")
        self.outbox_age = metrics.gauge(
            "outbox_oldest_seconds", "How long the oldest outbox is overdue.", ("service",)
        ).labels("broker")

    def opened(self, record: Record) -> None:
        """A question was opened."""
        self._opened.labels(record.kind).inc()

    def ended(self, record: Record) -> None:
        """A question has ended."""
        resolution = record.resolution
        if resolution is None:
            return
        outcome = str(resolution.outcome.decision or record.state)
        kind = record.kind or "unknown"
        self._ended.labels(kind, outcome).inc()
        self._wait.labels(kind, outcome).observe(_seconds(record.opened_at, resolution.at))

    def answered(self, channel: str, outcome: str) -> None:
        """An answer arrived: `settled`, `same`, or the code of the error."""
        self._answers.labels(channel, outcome).inc()


def _seconds(first: datetime, last: datetime) -> float:
    return max(0.0, (last - first).total_seconds())
