"""What everybody else hears: facts in the past tense, without the content of answers."""

from datetime import datetime
from enum import StrEnum

from placet.domain.base import DEFAULT_NAMESPACE, JsonObject, Value


class EventType(StrEnum):
    """Routing keys of `placet.events`, behind the namespace."""

    INPUT_REQUESTED = "input.requested"
    INPUT_REMINDER = "input.reminder"
    INPUT_ESCALATED = "input.escalated"
    INPUT_CODE_REQUESTED = "input.code_requested"
    INPUT_RESOLVED = "input.resolved"
    RUN_STARTED = "run.started"
    RUN_SUSPENDED = "run.suspended"
    RUN_RESUMED = "run.resumed"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"


class Event(Value):
    """One fact. `id` is the same on every try; consumers drop the second by it."""

    id: str
    type: EventType
    namespace: str = DEFAULT_NAMESPACE
    at: datetime
    agent_id: str = ""
    run_id: str = ""
    root_run_id: str = ""
    input_id: str | None = None
    data: JsonObject = {}
    """By type: `kind`, `state`, `by`, `expires_at` for inputs; `applied` (input ids), `status`, `error`,
    `undelivered` for ended runs."""
