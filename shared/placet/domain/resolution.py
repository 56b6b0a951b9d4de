"""How a question ended, and the question as people see it."""

import operator
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from placet.domain.base import DEFAULT_NAMESPACE, JsonObject, Value
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
    on_behalf_of: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """In whose place they answered, as a delegate."""
    voters: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Everybody whose yes it took, in order, where one was not enough."""
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


class VoteShown(Value):
    """One yes of several that are needed."""

    by: str
    on_behalf_of: str
    """In whose place; the same person where they are named themselves."""
    at: datetime
    channel: str = ""


class ClaimShown(Value):
    """Somebody is looking at it; it stops nobody."""

    by: str
    until: datetime


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
    digest: str = ""
    """Of what a yes consents to now; it differs from the request's once an approver has changed arguments."""
    votes: tuple[VoteShown, ...] = Field(default=(), exclude_if=operator.not_)
    """Who has said yes so far, where more are needed."""
    proposed_args: JsonObject | None = Field(default=None, exclude_if=lambda args: args is None)
    """The arguments that the votes are for, where an approver changed them."""
    claimed: ClaimShown | None = Field(default=None, exclude_if=lambda claim: claim is None)
    unanswerable: bool = Field(default=False, exclude_if=operator.not_)
    """Fewer people may answer than it takes; an operator can name more."""

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
    "policy",
    "priority",
    "labels",
}
