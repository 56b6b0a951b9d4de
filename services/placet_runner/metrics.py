"""What the runner counts."""

from datetime import timedelta

from placet.domain.run import RunStatus
from placet.kernel.call import CallState
from placet.kernel.turns import CallOutcome
from placet.process.metrics import FAST, Metrics


class RunnerMetrics:
    """Runs, steps and calls, with few and bounded labels."""

    def __init__(self, metrics: Metrics) -> None:
        self._ended = metrics.counter("runs_ended", "Runs that ended.", ("status",))
        self._created = metrics.counter("runs_created", "Runs accepted over REST.")
        self._steps = metrics.counter("model_requests", "Model calls.", ("outcome",))
        self._started = metrics.counter("tool_calls_started", "Effects begun.")
        self._called = metrics.counter("tool_calls", "Calls that have their result.", ("outcome",))
        self._resumed = metrics.histogram(
            "decision_to_resume_seconds",
            "From an answer to its run taking it up.",
            buckets=(*FAST, 30, 120),
        )
        self._held = metrics.gauge("runs_held", "Runs that this replica holds now.")
        self._in_status = metrics.gauge(
            "runs", "Runs that can still move, counted up to 10,000.", ("status",)
        )
        self._outbox = metrics.gauge(
            "outbox_pending", "Documents whose outbox is overdue, up to 1,000.", ("service",)
        ).labels("runner")
        self._outbox_age = metrics.gauge(
            "outbox_oldest_seconds", "How long the oldest outbox is overdue.", ("service",)
        ).labels("runner")

    def created(self) -> None:
        """One run more."""
        self._created.inc()

    def ended(self, status: RunStatus) -> None:
        """One run came to its end."""
        self._ended.labels(status.value).inc()

    def replied(self, outcome: str) -> None:
        """One model call: `ok` or `failed`."""
        self._steps.labels(outcome).inc()

    def started(self, call: CallState) -> None:
        """One effect begins."""
        self._started.inc()

    def called(self, outcome: CallOutcome) -> None:
        """One call has its result."""
        self._called.labels(outcome.value).inc()

    def resumed(self, waited: timedelta) -> None:
        """One answer reached its run."""
        self._resumed.observe(max(0.0, waited.total_seconds()))

    def held(self, count: int) -> None:
        """How many runs are held now."""
        self._held.set(count)

    def in_status(self, status: RunStatus, count: int) -> None:
        """How many runs have this status, up to the limit of what is counted."""
        self._in_status.labels(status.value).set(count)

    def overdue(self, documents: int, oldest: timedelta) -> None:
        """How many outboxes are overdue, and since when."""
        self._outbox.set(documents)
        self._outbox_age.set(max(0.0, oldest.total_seconds()))
