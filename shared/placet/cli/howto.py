"""How each kind is answered in a terminal, as a command to copy."""

import shlex

from placet.cli.asked import safe
from placet.client import Input
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
            return _fields(request.form.get("required") or list(request.form["properties"])[:1])
        case ReviewRequest():
            return f"--field outcome={request.outcomes[0]}   (or {', '.join(request.outcomes[1:])})"
        case EditTextRequest():
            return '"text"   ("" leaves it as it is)'
        case _:
            return '"text"'


def _fields(names: list[str]) -> str:
    return " ".join(f"--field {safe(shlex.quote(name))}=..." for name in names)
