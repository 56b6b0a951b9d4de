"""What becomes of a question that nobody answers in time. Nothing that a clock does approves."""

from placet.domain.answer import Action, reduce
from placet.domain.form import sealed_names
from placet.domain.interaction import (
    FormRequest,
    FreeTextRequest,
    InputState,
    InteractionRequest,
    MultipleChoiceRequest,
    QuestionsRequest,
)
from placet.domain.outcome import Outcome
from placet.errors import FieldError, Invalid

_DEFAULTED = (FreeTextRequest, MultipleChoiceRequest, QuestionsRequest, FormRequest)


def check_on_expiry(request: InteractionRequest) -> None:
    """Whether a question may be opened with its `on_expiry` and `default`.

    Raises:
        Invalid: `escalate` without a step; a declared answer that does not fit, is missing, stands
            where no clock may answer, or says what only a sealed answer may.
    """
    if request.on_expiry == "escalate" and not request.policy.escalation:
        raise _unfit("/on_expiry", "escalate needs steps: policy.escalation says who comes next")
    if request.on_expiry != "default":
        if request.default is not None:
            raise _unfit("/default", 'needs on_expiry: "default"')
        return
    if not isinstance(request, _DEFAULTED):
        kinds = ", ".join(str(each.model_fields["kind"].default) for each in _DEFAULTED)
        raise _unfit("/on_expiry", f"a clock answers no {request.kind}; default is for {kinds}")
    if request.default is None:
        raise _unfit("/default", "on_expiry default needs the answer that is to be taken")
    if secret := _told(request):
        raise _unfit(
            f"/default/{secret}", "a sealed field can't be declared: a request is no secret"
        )
    try:
        reduce(request, Action.ACCEPT, request.default)
    except Invalid as error:
        errors = [FieldError(f"/default{each.pointer}", each.detail) for each in error.errors]
        raise Invalid(f"default: {error}", errors) from error


def outcome_of_expiry(request: InteractionRequest) -> Outcome:
    """The outcome where nobody answered: `expired`, with the declared answer as content if there is one."""
    content = None
    if request.on_expiry == "default" and isinstance(request, _DEFAULTED):
        content = reduce(request, Action.ACCEPT, request.default).content
    return Outcome(state=InputState.EXPIRED, content=content)


def _told(request: InteractionRequest) -> str | None:
    """The sealed field that the declared answer gives away, if it does."""
    if not isinstance(request, FormRequest) or not isinstance(request.default, dict):
        return None
    return next((name for name in sealed_names(request.form) if name in request.default), None)


def _unfit(pointer: str, why: str) -> Invalid:
    return Invalid(f"{pointer[1:]}: {why}", [FieldError(pointer, why)])
