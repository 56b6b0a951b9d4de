"""A conversation in no provider's format."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from placet.domain.base import Value
from placet.domain.interaction import ToolCall
from placet.domain.label import Label


class CallOutcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    ERROR = "error"
    """The tool raised, or its arguments did not fit."""
    REFUSED = "refused"
    """It never ran: unknown, denied by policy, changed or gone."""
    DENIED = "denied"
    SKIPPED = "skipped"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"
    UNKNOWN = "unknown"
    """It was started; nobody knows whether it happened."""


class CallResult(Value):
    """What the model is told about one call."""

    call_id: str
    tool: str
    outcome: CallOutcome
    content: Any
    """A string or any JSON value."""
    label: Label = Field(default=Label.PUBLIC, exclude_if=lambda label: label == Label.PUBLIC)
    """How far this may go."""


class Usage(Value):
    """Tokens of one model call."""

    input_tokens: int = 0
    output_tokens: int = 0


class ModelReply(Value):
    """One answer of the model: text, calls, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    bad_calls: tuple[CallResult, ...] = ()
    """Calls whose arguments could not be read, answered already; they have their place in `calls`."""
    raw: Any = None
    """The provider library's own form of the turn, to be sent back as it was."""
    usage: Usage = Usage()


class UserTurn(Value):
    """Somebody spoke."""

    role: Literal["user"] = "user"
    text: str
    sender: str | None = None


class ModelTurn(Value):
    """The model answered."""

    role: Literal["model"] = "model"
    reply: ModelReply


class ResultsTurn(Value):
    """What came of the calls of the turn before, one result each, in the model's order."""

    role: Literal["results"] = "results"
    results: tuple[CallResult, ...]


Turn = Annotated[UserTurn | ModelTurn | ResultsTurn, Field(discriminator="role")]
