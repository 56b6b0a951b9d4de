"""How each kind is answered in a terminal, as a command to copy."""

import shlex
from collections.abc import Sequence

from placet.cli.asked import safe
from placet.client import Input
from placet.domain.form import sealed_names
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    QuestionsRequest,
    ReviewRequest,
    UrlRequest,
)


def how_to_answer(each: Input) -> str:
    """The command that answers this input, as markup of a terminal."""
    if isinstance(each.value.request, ReviewRequest):
        return f"placet review {each.id}"
    return f"placet respond {each.id} {how_to(each.value.request)}"


def how_to(request: InteractionRequest) -> str:
    """The words that answer this kind."""
    match request:
        case ApprovalRequest():
            return "--approve   (or --deny)" + "   (or --approve --trust)" * request.trust
        case ConfirmRequest():
            return "--approve   (or --deny)"
        case MultipleChoiceRequest():
            return "--choice N"
        case UrlRequest():
            return "--approve   (once it is done)"
        case QuestionsRequest():
            if len(request.questions) == 1:
                return '"label"'
            return _fields([question.header for question in request.questions])
        case FormRequest():
            names = request.form.get("required") or list(request.form["properties"])[:1]
            return _fields(names, sealed_names(request.form))
        case ReviewRequest():
            return f"--field outcome={request.outcomes[0]}   (or {', '.join(request.outcomes[1:])})"
        case EditTextRequest():
            return '"text"   ("" leaves it as it is)'
        case _:
            return '"text"'


def _fields(names: list[str], sealed: Sequence[str] = ()) -> str:
    """What is sealed is named alone, and typed where no history of the shell keeps it."""
    return " ".join(
        f"--field {safe(shlex.quote(name))}{'' if name in sealed else '=...'}" for name in names
    )
