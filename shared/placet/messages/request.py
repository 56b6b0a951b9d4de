"""What goes to the broker besides requests: answers over the bus, and closing what is no longer asked."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from placet.domain.answer import Action
from placet.domain.base import DEFAULT_NAMESPACE, Value, WireId
from placet.domain.person import Person


class AnswerMessage(Value):
    """An answer over RabbitMQ; whose it is comes from the validated `user_id` of the message."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    input_id: WireId
    action: Action = Action.ACCEPT
    content: Any = None
    digest: str | None = None
    id: WireId = ""
    """The sender's own id of this answer, the same on every try."""
    named: str | Person | None = Field(
        default=None, alias="from", exclude_if=lambda named: named is None
    )
    """For whom a sender with the scope `answer:as` answers; only the id counts. Nobody else says it."""

    @property
    def person(self) -> Person | None:
        """The same as a person."""
        return Person(id=self.named) if isinstance(self.named, str) else self.named


class Close(Value):
    """A run asks the broker to close a question; the confirmation is the resolution of that id."""

    input_id: WireId
    run_id: WireId
    namespace: WireId = DEFAULT_NAMESPACE
    reason: Literal["superseded", "withdrawn", "cancelled"]
    digest: str = ""
    because: Literal["tool_gone", "point_gone", "covered"] | None = Field(
        default=None, exclude_if=lambda word: word is None
    )
    """Why it is withdrawn: what asked does not exist any more, or a grant covers the call."""
