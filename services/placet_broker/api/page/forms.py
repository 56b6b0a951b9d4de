"""From a submitted page form to an action and content, by the kind of question."""

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData

from placet.domain.answer import Action
from placet.domain.form import choices, sealed_names
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    Question,
    QuestionsRequest,
    ReviewRequest,
    UrlRequest,
)
from placet.errors import Invalid

Act = tuple[Action, Any]


def submitted(request: InteractionRequest, form: FormData) -> Act:
    """What the pressed button and the fields amount to; whether it fits is not decided here.

    Raises Invalid for a button that this page does not have.
    """
    act = _text(form, "act")
    if act == "cancel":
        return Action.CANCEL, None
    if act == "decline":
        return Action.DECLINE, _reason(request, form)
    if act != "accept":
        raise Invalid("press one of the buttons")
    return Action.ACCEPT, _content(request, form)


def kept(request: InteractionRequest, form: FormData) -> dict[str, list[str]]:
    """What was typed, to show it again; but for what is sealed, which no page shows."""
    sealed = sealed_names(request.form) if isinstance(request, FormRequest) else ()
    hidden = {"nonce", "digest", "act", *(f"f_{name}" for name in sealed)}
    names = [name for name in form if name not in hidden]
    return {name: [str(item) for item in form.getlist(name)] for name in names}


def _content(request: InteractionRequest, form: FormData) -> Any:
    match request:
        case ApprovalRequest():
            return _approval(request, form)
        case ConfirmRequest() | UrlRequest():
            return True
        case FreeTextRequest():
            return _text(form, "text")
        case MultipleChoiceRequest():
            return form.get("choice")
        case QuestionsRequest():
            return {q.question: _question(q, str(n), form) for n, q in enumerate(request.questions)}
        case FormRequest():
            return _fields(request.form, form)
        case EditTextRequest():
            edited = _text(form, "text", keep="\r\n" in request.text)
            return "" if edited == request.text else edited
        case ReviewRequest():
            return _review(form)


def _approval(request: ApprovalRequest, form: FormData) -> Any:
    """Where the agent's own evaluator reads the answer, the buttons say words."""
    decision = _text(form, "decision")
    if decision == "trust":
        return "trust"
    if decision == "approved" and request.accepts == "anything":
        return "yes"
    if decision == "skipped":
        return {"decision": "skipped"}
    return {"decision": decision, "scope": _text(form, "scope") or "once"}


def _review(form: FormData) -> dict[str, Any]:
    outcome = _text(form, "outcome")
    result = _text(form, "result")
    return {"outcome": outcome, **({"result": result} if outcome == "happened" and result else {})}


def _question(question: Question, name: str, form: FormData) -> Any:
    chosen: list[Any] = [item for item in form.getlist(f"q{name}") if item]
    other = _text(form, f"other{name}")
    if question.allow_other and other.strip():
        chosen = [*chosen, other] if question.multi_select else [other]
    if question.multi_select:
        return chosen
    return chosen[0] if chosen else None


def _fields(schema: Mapping[str, Any], form: FormData) -> dict[str, Any]:
    """A field that was left empty is left out; the broker says if it must be there."""
    content = {}
    for name, field in schema["properties"].items():
        given = _field(field, form, f"f_{name}")
        if given is not None:
            content[name] = given
    return content


def _field(field: Mapping[str, Any], form: FormData, name: str) -> Any:
    kind = field.get("type", "string")
    if kind == "array":
        offered = [value for value, _ in choices(field.get("items", {})) or ()]
        return [_enum(offered, str(item)) for item in form.getlist(name)] or None
    text = _text(form, name)
    if text == "":
        return None
    if (offered_one := choices(field)) is not None:
        return _enum([value for value, _ in offered_one], text)
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    return _number(text, kind) if kind in ("integer", "number") else text


def _enum(options: list[Any], text: str) -> Any:
    return next((option for option in options if str(option) == text), text)


def _number(text: str, kind: str) -> Any:
    """The number, or the text as it is, which then does not fit."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return number if kind == "number" and abs(number) < float("inf") else text


def _reason(request: InteractionRequest, form: FormData) -> Any:
    reason = _text(form, "reason").strip()
    return {"reason": reason} if reason and isinstance(request, ApprovalRequest) else None


def _text(form: FormData, name: str, *, keep: bool = False) -> str:
    """A browser sends line breaks as CR LF, whatever the text had."""
    given = form.get(name)
    text = given if isinstance(given, str) else ""
    return text if keep else text.replace("\r\n", "\n")
