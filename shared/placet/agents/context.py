"""What a tool is given: who it works for, its idempotency key, and ways to ask a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from placet.domain.interaction import (
    ConfirmRequest,
    FormRequest,
    FreeTextRequest,
    InputState,
    InteractionRequest,
    MultipleChoiceRequest,
    UrlRequest,
)
from placet.domain.label import Label, highest
from placet.domain.outcome import Outcome
from placet.domain.resolution import Resolution
from placet.errors import Invalid, ToolError
from placet.kernel.call import Ask, answered

MAX_ASKS = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Asked(BaseException):
    """A tool asks a person: the call ends here and runs again with the answer.

    Not an Exception, so that a tool's own `except Exception` does not swallow the question.
    """

    def __init__(self, draft: InteractionRequest) -> None:
        super().__init__(draft.message)
        self.draft = draft


@dataclass(slots=True)
class Context:
    """One execution of one call.

    An ask ends the call: once a person has answered, the tool is called again with the same
    arguments and the ask returns the answer. Everything before an ask runs again, so ask first,
    act after, and key side effects by `idempotency_key`.
    """

    agent_id: str = ""
    agent: str = ""
    run_id: str = ""
    namespace: str = "default"
    call_id: str = ""
    user: str | None = None
    """Who started the run."""
    idempotency_key: str = ""
    """The same on every execution of this call."""
    attempt: int = 1
    """Counts the executions of this call, from 1."""
    approval: Resolution | None = None
    """The proof that a person approved this call: input, who, when; None if it needed nobody."""
    taint: Label = Label.PUBLIC
    """The label of this result, as far as `label` raised it."""
    outcome: InputState | None = None
    """How the last ask ended; tells a no from silence."""
    raised: InteractionRequest | None = None
    """The question that ended this execution, if one did; a call that goes on after it is an error."""
    _answers: Sequence[Ask] = ()
    _asked: int = field(default=0)

    def label(self, label: Label | str) -> None:
        """Say that what this call returns may go only so far; the highest of all that is said holds."""
        self.taint = highest(self.taint, Label(label))

    async def confirm(self, message: str) -> bool:
        """Yes or no. False if it was declined, cancelled or nobody answered; `outcome` says which."""
        return self._ask(ConfirmRequest(message=message, requested_at=_EPOCH)) is True

    async def ask(self, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """A flat form. The fields as an object, or None if there was no answer.

        Raises:
            ToolError: the schema is no flat object of simple fields.
        """
        try:
            draft = FormRequest(message=message, form=dict(schema), requested_at=_EPOCH)
        except (Invalid, ValueError) as error:
            raise ToolError(f"the form can't be asked: {error}") from error
        content = self._ask(draft)
        return content if isinstance(content, dict) else None

    async def ask_text(self, message: str, *, body: str | None = None) -> str | None:
        """A text, or None if there was no answer."""
        content = self._ask(FreeTextRequest(message=message, body=body, requested_at=_EPOCH))
        return content if isinstance(content, str) else None

    async def choose(self, message: str, options: Sequence[str]) -> str | None:
        """One of the options, or None if there was no answer. Raises ToolError for fewer than two."""
        try:
            draft = MultipleChoiceRequest(
                message=message, options=tuple(options), requested_at=_EPOCH
            )
        except ValueError as error:
            raise ToolError(
                f"the choice can't be asked: it takes 2 or more options: {error}"
            ) from error
        content = self._ask(draft)
        return content if isinstance(content, str) else None

    async def require_url(self, url: str, message: str) -> bool:
        """Whether a person says that they did what the https page asks. It is only their word."""
        try:
            draft = UrlRequest(message=message, url=url, requested_at=_EPOCH)
        except ValueError as error:
            raise ToolError(f"the address can't be asked for: {error}") from error
        return self._ask(draft) is True

    def _ask(self, draft: InteractionRequest) -> Any:
        number = self._asked
        self._asked += 1
        if number >= MAX_ASKS:
            raise ToolError(f"more than {MAX_ASKS} asks in one call")
        if number >= len(self._answers):
            self.raised = draft
            raise Asked(draft)
        ask = self._answers[number]
        if ask.digest != draft.with_digest().digest:
            raise ToolError(
                f"ask {number + 1} of this call was {ask.message!r} and is now {draft.message!r}; "
                "a tool must ask the same questions in the same order each time it runs"
            )
        return self._content(ask.outcome)

    def _content(self, outcome: Outcome | None) -> Any:
        self.outcome = outcome.state if outcome else None
        return outcome.content if outcome and answered(outcome) else None
