"""What a person said no to, remembered: the same call again is answered without asking, and not for ever."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from placet.domain.digest import digest_of
from placet.domain.interaction import ToolCall
from placet.errors import Invalid
from placet.kernel.turns import CallOutcome, CallResult

ANSWERED_AGAIN: Final = 3
"""How often the same call is answered from a refusal; the next time ends the run."""
ASKED_AGAIN: Final = 3
"""How often a call is asked again that was skipped, or that nobody answered."""
MOST_INHERITED: Final = 50

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
    inherited: dict[str, Refusal] = field(default_factory=dict)
    """What was refused to the runs above: nobody takes that back here."""

    def clear(self) -> None:
        """Somebody spoke: what was refused may be asked about again."""
        self.by_call.clear()

    def inherit(self, refused: Iterable[Mapping[str, Any]]) -> None:
        """Take over what `kept` gave."""
        for each in refused:
            result = CallResult.model_validate(each["result"])
            self.inherited[each["key"]] = Refusal(result, denied=True)

    def kept(self) -> tuple[dict[str, Any], ...]:
        """What a run below is to remember, the latest of it."""
        denied = {**self.inherited, **{k: v for k, v in self.by_call.items() if v.denied}}
        return tuple(
            {"key": key, "result": known.result.model_dump(mode="json")}
            for key, known in list(denied.items())[-MOST_INHERITED:]
        )

    def note(self, call: ToolCall, result: CallResult, *, asked: bool) -> None:
        """A call ended; `asked` says whether it was put to a person."""
        if not asked and not self.by_call and not self.inherited:
            return  # most calls of a long run: there is nothing to compare them with
        key = _key(call)
        known = self.inherited.get(key) or self.by_call.get(key)
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
        if not self.by_call and not self.inherited:
            return None
        key = _key(call)
        known = self.inherited.get(key) or self.by_call.get(key)
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
