"""What is sent to /v1/inputs: answers, and more time, attention or other approvers for an input."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from placet.domain.answer import Action
from placet.domain.person import Person


class AnswerSent(BaseModel):
    """An answer to one input."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    action: Action = Action.ACCEPT
    content: Any = None
    """What fits the input's kind."""
    named: str | Person | None = Field(default=None, alias="from")
    """Who answers; of a person only the id counts. Somebody else needs `answer:as`."""
    digest: str | None = None
    """Of what was shown; another is refused as `shown_differs`."""


class BatchedAnswerSent(AnswerSent):
    """One answer of a batch."""

    id: str
    """Which input it answers; nothing goes by position."""


class BatchSent(BaseModel):
    """Answers to several inputs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    answers: list[BatchedAnswerSent] = Field(min_length=1, max_length=100)
    mode: Literal["all", "each"] = "all"
    """`all`: all of them settle, or none does. `each`: every one for itself."""


class ExtensionSent(BaseModel):
    """More time for an input."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    expires_at: datetime
    """Later than the present deadline, at most 30 days from now."""
    named: str | Person | None = Field(default=None, alias="from")
    """Who gives it; as for an answer."""


class Signed(BaseModel):
    """Who does it; as for an answer."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    named: str | Person | None = Field(default=None, alias="from")


class AudienceSent(BaseModel):
    """Other approvers of an input."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    add: list[str] = Field(default=[], max_length=100)
    remove: list[str] = Field(default=[], max_length=100)
