"""How a question ended, and the question as people see it."""

from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from placet.domain.base import DEFAULT_NAMESPACE, Value
from placet.domain.interaction import InputState, InteractionRequest
from placet.domain.outcome import Outcome
from placet.domain.person import Person


class Resolution(Value):
    """How one question ended: what, who, when, through which channel. Never changes once it exists."""

    input_id: str
    namespace: str = DEFAULT_NAMESPACE
    run_id: str = ""
    digest: str = ""
    """The digest that the question was opened with."""
    outcome: Outcome
    by: Person | None = None
    """None where nobody decided: expired, superseded, withdrawn, cancelled by the run."""
    at: datetime
    asked_at: datetime | None = Field(default=None, exclude_if=lambda asked_at: asked_at is None)
    """When the question was put, where that is known."""
    channel: str = ""
    """rest, bus, web, cli, sdk; or `timer`, `run`."""
    answer_id: str = ""

    @property
    def state(self) -> InputState:
        """The final state."""
        return self.outcome.state

    @property
    def waited(self) -> timedelta | None:
        """How long the question waited, where it is known when it was put."""
        return max(self.at - self.asked_at, timedelta(0)) if self.asked_at else None


class Input(Value):
    """One question as REST shows it."""

    id: str
    state: InputState = InputState.PENDING
    request: InteractionRequest
    resolution: Resolution | None = None
    asked_by: str = ""
    """The verified identity of who asked, such as `service:placet-runner`."""
    applied: bool = False
    """Whether the run has acted on the resolution."""

    def detail(self) -> dict[str, Any]:
        """What this kind asks, for a person who reads JSON."""
        return self.request.model_dump(
            mode="json", exclude=set(type(self.request).model_fields) & _COMMON
        )


_COMMON = {
    "id",
    "namespace",
    "context",
    "audience",
    "digest",
    "requested_at",
    "expires_at",
    "idempotency_key",
}
