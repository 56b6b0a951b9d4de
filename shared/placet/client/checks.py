"""What can't be meant as an answer, refused before anything is sent; the broker checks all the rest."""

from typing import Any

from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FreeTextRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    QuestionsRequest,
    UrlRequest,
)
from placet.errors import FieldError, Invalid


def check_content(request: InteractionRequest, content: Any) -> None:
    """Refuse a truth value where nothing is approved, and a text where no single text is asked for.

    Raises Invalid, naming what this kind takes.
    """
    if isinstance(content, bool) and not _takes_bool(request):
        raise _unfit(f"True and False answer an approval, a confirm or a url, not a {request.kind}")
    if isinstance(content, str) and not _takes_text(request):
        raise _unfit(f"one text is no answer to this {request.kind}; {_wanted(request)}")


def check_goes_on(request: InteractionRequest) -> None:
    """Refuse to wait for a run that is not Placet's: what another service asks has none.

    Raises Invalid, naming what answers it.
    """
    if not request.run_id.startswith("run_"):
        raise Invalid(
            "another service asks this, so there is no run to wait for; use accept(...) or settle(...)"
        )


def check_says_who(for_others: bool) -> None:
    """Refuse an answer of a credential that answers for others and does not say for whom."""
    if for_others:
        detail = "this input names who may answer it: say who answers, in from_"
        raise Invalid(detail, [FieldError("/from", detail)])


def _takes_bool(request: InteractionRequest) -> bool:
    return isinstance(request, ApprovalRequest | ConfirmRequest | UrlRequest)


def _takes_text(request: InteractionRequest) -> bool:
    match request:
        case ApprovalRequest():
            return request.accepts != "decision"
        case QuestionsRequest():
            return len(request.questions) == 1
        case FreeTextRequest() | MultipleChoiceRequest() | EditTextRequest():
            return True
        case _:
            return False


def _wanted(request: InteractionRequest) -> str:
    match request:
        case QuestionsRequest():
            return "give an object keyed by the text of each question"
        case ApprovalRequest() | ConfirmRequest() | UrlRequest():
            return "give True or False"
        case _:
            return "give an object with its fields"


def _unfit(detail: str) -> Invalid:
    return Invalid(detail, [FieldError("", detail)])
