"""What an answer at an interaction point means, without a model; silence approves nothing."""

from dataclasses import dataclass
from enum import StrEnum

from placet.domain.interaction import ApprovalDecision, InputState
from placet.domain.options import match_option
from placet.domain.outcome import Outcome
from placet.domain.stage import YES, InteractionPoint

MAX_REVISION_ROUNDS = 4
"""Rounds of revising and editing at one point; the prompt after them is its last."""
_APPROVALS = ("approve", "yes")
"""The texts that approve at a `free_text` point."""


class Reading(StrEnum):
    """What follows from an answer."""

    APPROVED = "approved"
    """The point is satisfied."""
    REVISED = "revised"
    """The words join the conversation, the stage runs again, the point asks once more."""
    EDIT = "edit"
    """The text opens as `edit_text`."""
    EDITED = "edited"
    """The text is adopted and the point asks once more, without a model call."""
    ABORTED = "aborted"
    """The run is cancelled."""
    AGAIN = "again"
    """That was no answer: the point asks once more, and no round is counted."""
    PROCEEDED_UNANSWERED = "proceeded_unanswered"
    """Nobody answered; the stage goes on past the point, which nobody approved."""
    UNANSWERED = "unanswered"
    """Nobody answered a point that needs somebody: the run stops with an error that names it."""
    SUPERSEDED = "superseded"
    """A message came instead: the stage runs again and the point asks again."""
    EXHAUSTED = "exhausted"
    """The rounds are used up: the stage goes on past this point alone, which nobody approved."""
    STOPPED = "stopped"
    """The rounds are used up and the point says to stop: the run ends with an error that names it."""
    AUTO_APPROVED = "auto_approved"
    """Nobody was there to ask, and the point does not need anybody."""
    GONE = "gone"
    """The definition does not have the point any more."""

    @property
    def passes(self) -> bool:
        """Whether the stage goes on past the point."""
        return self in (
            Reading.APPROVED,
            Reading.PROCEEDED_UNANSWERED,
            Reading.EXHAUSTED,
            Reading.AUTO_APPROVED,
        )


@dataclass(frozen=True, slots=True)
class PointAnswer:
    """An answer as the kernel acts on it."""

    reading: Reading
    says: str = ""
    """What joins the conversation as the user's words: a label, a directive, a text."""
    text: str | None = None
    """The document that the person made of the stage's text; None leaves it as it is."""


def read_answer(
    point: InteractionPoint, outcome: Outcome, *, rounds: int, editing: bool
) -> PointAnswer:
    """What the outcome of a point's question, or of the `edit_text` that its Edit opened, means.

    Args:
        point: what was asked.
        outcome: how the question was settled.
        rounds: how many answers at this point read as REVISED or EDITED before; one that read as EDIT
            counts only when its text is adopted.
        editing: whether the question was the `edit_text`.

    Total: whatever the outcome holds, there is a reading, and only a pick of the approve list is
    APPROVED. From `MAX_REVISION_ROUNDS` on there is no further REVISED or EDITED.
    """
    answer = _read(point, outcome, editing=editing)
    if rounds < MAX_REVISION_ROUNDS or answer.reading not in (Reading.REVISED, Reading.EDITED):
        return answer
    stops = point.on_exhausted == "stop"
    return PointAnswer(Reading.STOPPED if stops else Reading.EXHAUSTED, answer.says, answer.text)


def _read(point: InteractionPoint, outcome: Outcome, *, editing: bool) -> PointAnswer:
    match outcome.state:
        case InputState.PENDING:
            return PointAnswer(Reading.AGAIN)
        case InputState.SUPERSEDED:
            return PointAnswer(Reading.SUPERSEDED)
        case InputState.EXPIRED | InputState.CANCELLED | InputState.WITHDRAWN:
            asks = point.unattended == "ask"
            return PointAnswer(Reading.UNANSWERED if asks else Reading.PROCEEDED_UNANSWERED)
        case InputState.DECLINED:
            return _declined(point)
        case InputState.ANSWERED:
            pass
    if outcome.decision in (ApprovalDecision.DENIED, ApprovalDecision.SKIPPED):
        return _declined(point)
    return _edited(outcome) if editing else _picked(point, outcome.content)


def _declined(point: InteractionPoint) -> PointAnswer:
    """A decline aborts unless a directive is declared for it, and is never silence."""
    label = point.declined
    directive = None if point.aborts(label) else point.directive(label)
    if directive is None:
        return PointAnswer(Reading.ABORTED)
    return PointAnswer(Reading.REVISED, f"{label}\n\n{directive}")


def _edited(outcome: Outcome) -> PointAnswer:
    text = outcome.content
    if not isinstance(text, str):
        return PointAnswer(Reading.AGAIN)
    return PointAnswer(Reading.EDITED, text=text if text.strip() else None)


def _picked(point: InteractionPoint, content: object) -> PointAnswer:
    if point.style == "free_text":
        return _written(point, content)
    if point.style == "confirm":
        if content is False:
            return _declined(point)
        choice = YES if content is True else None
    else:
        choice = match_option(point.choices, content)
    if choice is None:
        return PointAnswer(Reading.AGAIN)
    if point.aborts(choice):
        return PointAnswer(Reading.ABORTED, choice)
    if point.edits(choice):
        return PointAnswer(Reading.EDIT, choice)
    if (directive := point.directive(choice)) is not None:
        return PointAnswer(Reading.REVISED, f"{choice}\n\n{directive}")
    return PointAnswer(Reading.APPROVED if point.approves(choice) else Reading.AGAIN, choice)


def _written(point: InteractionPoint, content: object) -> PointAnswer:
    if not isinstance(content, str):
        return PointAnswer(Reading.AGAIN)
    if not content.strip():
        return PointAnswer(Reading.AGAIN if point.required else Reading.APPROVED)
    approves = content.strip().casefold() in _APPROVALS
    return PointAnswer(Reading.APPROVED if approves else Reading.REVISED, content)
