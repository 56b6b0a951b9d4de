"""What the notifier counts."""

from datetime import timedelta

from placet.process.metrics import FAST, Metrics


class NotifierMetrics:
    """Events, deliveries and streams, with few and bounded labels."""

    def __init__(self, metrics: Metrics) -> None:
        self._stored = metrics.counter("events_stored", "Events stored, each once.")
        self._repeated = metrics.counter("events_repeated", "Events that were stored before.")
        self._tries = metrics.counter(
            "webhook_attempts", "Tries, by what they brought.", ("outcome",)
        )
        self._ended = metrics.counter("webhook_deliveries", "Deliveries over.", ("outcome",))
        self._took = metrics.histogram(
            "webhook_delivery_seconds", "How long one try took.", buckets=FAST
        )
        self.pending = metrics.gauge("webhook_deliveries_pending", "Deliveries that wait.")
        self.oldest = metrics.gauge(
            "webhook_oldest_pending_seconds", "Age of the oldest delivery that waits."
        )
        self.streams = metrics.gauge("sse_connections", "Open event streams.")
        self._dropped = metrics.counter("sse_dropped", "Streams ended for a slow reader.")

    def stored(self, fresh: int, given: int) -> None:
        """So many of those given were new."""
        self._stored.inc(fresh)
        self._repeated.inc(given - fresh)

    def tried(self, outcome: str, took: timedelta) -> None:
        """One try: `ok`, `refused` (by a status) or `no_answer`."""
        self._tries.labels(outcome).inc()
        self._took.observe(max(0.0, took.total_seconds()))

    def ended(self, state: str) -> None:
        """One delivery is over: delivered, failed or dropped."""
        self._ended.labels(state).inc()

    def dropped(self) -> None:
        """A reader was too slow."""
        self._dropped.inc()
