"""What an answer amounts to, and how one that does not fit is refused."""

from typing import Any, Literal

from pydantic import Field

from placet.domain.base import JsonObject, Value
from placet.domain.digest import same_json
from placet.domain.interaction import ApprovalDecision, InputState
from placet.errors import FieldError, Invalid

MAX_REASON = 1000
Scope = Literal["once", "stage", "run"]


class Outcome(Value):
    """What an answer amounts to. Two answers are the same if everything but `reason` is equal."""

    state: InputState
    content: Any = None
    """As the asker gets it: a bool, a string, a label, an object."""
    decision: ApprovalDecision | None = None
    scope: Scope | None = None
    grant: Literal["named", "exact"] | None = None
    args: JsonObject | None = Field(default=None, exclude_if=lambda args: args is None)
    """The arguments as the approver changed them."""
    trust: bool = Field(default=False, exclude_if=lambda trusted: not trusted)
    """The tool runs unasked from now on, for this person's runs."""
    reason: str | None = None
    marks: dict[str, str] = Field(default={}, exclude_if=lambda marks: not marks)
    """Of a form's sealed fields: what tells whether another answer is the same, which ciphertext can't."""

    def same_as(self, other: "Outcome") -> bool:
        """Whether settling with `other` again changes nothing."""
        return same_json(self._told(), other._told())

    def _told(self) -> dict[str, Any]:
        told = self.model_dump(exclude={"reason"})
        if self.marks:
            told["content"] = {k: v for k, v in self.content.items() if k not in self.marks}
        return told


def answered(content: Any) -> Outcome:
    """Settled with this content."""
    return Outcome(state=InputState.ANSWERED, content=content)


def reason_in(reason: Any) -> str | None:
    """The reason that somebody gave. Raises Invalid for one that is no text, or too long."""
    if reason is None:
        return None
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        raise unfit(f"a string of at most {MAX_REASON} characters", "/reason")
    return reason


def unfit(wanted: str, *pointers: str) -> Invalid:
    """The error for content that does not fit, with what was wanted, for each pointer."""
    errors = [FieldError(pointer, f"wanted: {wanted}") for pointer in pointers or ("",)]
    return Invalid(f"the content does not fit; wanted: {wanted}", errors)
