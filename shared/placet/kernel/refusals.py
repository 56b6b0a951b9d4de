"""What a person said no to, remembered: the same call again is answered without asking, and not for ever."""

from dataclasses import dataclass, field
from typing import Final

from placet.domain.digest import digest_of
from placet.domain.interaction import ToolCall
from placet.errors import Invalid
from placet.kernel.turns import CallOutcome, CallResult

ANSWERED_AGAIN: Final = 3
"""How often the same call is answered from a refusal; the next time ends the run."""
ASKED_AGAIN: Final = 3
"""How often a call is asked again that was skipped, or that nobody answered."""

_UNDECIDED = (
    CallOutcome.SKIPPED,
    CallOutcome.EXPIRED,
    CallOutcome.WITHDRAWN,
    CallOutcome.CANCELLED,
)


@dataclass(slots=True)
class Refusal:
    """One call that did not run, and how often it came back."""

    result: CallResult
    denied: bool
    asked: int = 1
    answered: int = 0

    @property
    def stands(self) -> bool:
        """Whether the call is not asked about any more."""
        return self.denied or self.asked > ASKED_AGAIN


@dataclass(slots=True)
class Refusals:
    """The memory of one run; a message or a yes of a person clears it."""

    by_call: dict[str, Refusal] = field(default_factory=dict)

    def clear(self) -> None:
        """Somebody spoke: what was refused may be asked about again."""
        self.by_call.clear()

    def note(self, call: ToolCall, result: CallResult, *, asked: bool) -> None:
        """A call ended; `asked` says whether it was put to a person."""
        if not asked and not self.by_call:
            return  # most calls of a long run: there is nothing to compare them with
        key = _key(call)
        known = self.by_call.get(key)
        if not asked:
            if known and known.stands and result.outcome is known.result.outcome:
                known.answered += 1
            return
        denied = result.outcome is CallOutcome.DENIED
        if denied or result.outcome in _UNDECIDED:
            times = known.asked + 1 if known else 1
            self.by_call[key] = Refusal(result, denied, times)

    def about(self, call: ToolCall, already: int = 0) -> CallResult | None:
        """The result that the same call gets without being asked; None: it may be asked about.

        Raises:
            DeniedLoop: it was answered often enough; `already` more than was noted.
        """
        known = self.by_call.get(_key(call)) if self.by_call else None
        if known is None or not known.stands:
            return None
        if known.answered + already >= ANSWERED_AGAIN:
            raise DeniedLoop(call.tool)
        return known.result.model_copy(update={"call_id": call.id})


class DeniedLoop(Exception):
    """The model asks for the same refused call again and again."""


def _key(call: ToolCall) -> str:
    try:
        return digest_of({"tool": call.tool, "args": call.args})
    except Invalid:
        return ""
