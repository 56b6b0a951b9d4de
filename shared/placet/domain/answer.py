"""What a person submits, reduced to its outcome by one function for every surface."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import orjson

from placet.domain.approving import approval_outcome
from placet.domain.digest import check_storable
from placet.domain.form import form_errors, sealed_names, with_defaults
from placet.domain.interaction import (
    ApprovalDecision,
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InputState,
    InteractionRequest,
    MultipleChoiceRequest,
    Question,
    QuestionsRequest,
    ReviewRequest,
    UrlRequest,
)
from placet.domain.options import match_option
from placet.domain.outcome import Outcome, answered, reason_in, unfit
from placet.domain.schema import field_errors, pointer
from placet.errors import FieldError, Invalid
from placet.sealing import PROCESS_MARKS, Marks, seal

MAX_TEXT = 2000
LONGEST_EDIT = 524_288
"""Bytes of an edited text as JSON."""


class Action(StrEnum):
    """What is done with an input."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


def reduce(
    request: InteractionRequest,
    action: Action,
    content: Any = None,
    *,
    marks: Marks = PROCESS_MARKS,
) -> Outcome:
    """The outcome of an answer to this request, which every store can keep.

    What answers a form's sealed fields is judged, encrypted and forgotten here, before anything is
    kept; `marks` tells the same answer again, so all replicas of a broker share its key.

    Raises:
        Invalid: the content does not fit; `errors` lists each field. Nothing is a yes but `true`
            or `decision: "approved"`.
    """
    if action is not Action.ACCEPT:
        return _turned_down(request, action, content)
    outcome = _accepted(request, content, marks)
    try:
        check_storable(outcome.content)
    except Invalid as error:
        raise Invalid(
            f"the content can't be kept: {error}", [FieldError("", str(error))]
        ) from error
    return outcome


def _accepted(request: InteractionRequest, content: Any, marks: Marks) -> Outcome:
    match request:
        case ApprovalRequest():
            return approval_outcome(request, content)
        case ConfirmRequest():
            return _confirm(content)
        case FreeTextRequest():
            return answered(_text(content, "a string"))
        case MultipleChoiceRequest():
            return answered(_choice(request.options, content))
        case QuestionsRequest():
            return answered(_questions(request.questions, content))
        case FormRequest():
            return _form(request, content, marks)
        case UrlRequest():
            if content is not True:
                raise unfit("true once it is done; to refuse, decline")
            return answered(True)
        case EditTextRequest():
            return answered(_edited(request, content))
        case ReviewRequest():
            return answered(_review(request, content))


def _turned_down(request: InteractionRequest, action: Action, content: Any) -> Outcome:
    reason = None
    if content is not None:
        if not isinstance(request, ApprovalRequest):
            raise unfit(f"nothing: a {action} takes no content here")
        reason = reason_in(content.get("reason") if isinstance(content, dict) else content)
        if isinstance(content, dict) and set(content) - {"reason"}:
            raise unfit('a string or {"reason": "..."}')
    if action is Action.CANCEL:
        return Outcome(state=InputState.CANCELLED, reason=reason)
    decision = ApprovalDecision.DENIED if isinstance(request, ApprovalRequest) else None
    return Outcome(state=InputState.DECLINED, decision=decision, reason=reason)


def _confirm(content: Any) -> Outcome:
    if content is True:
        return answered(True)
    if content is False:
        return Outcome(state=InputState.DECLINED)
    raise unfit("true or false")


def _choice(options: tuple[str, ...], content: Any) -> str:
    if (meant := match_option(options, content)) is not None:
        return meant
    if isinstance(content, int) and not isinstance(content, bool) and 0 <= content < len(options):
        return options[content]
    raise unfit(f"one of {', '.join(options)}, or its index from 0")


def _questions(questions: tuple[Question, ...], content: Any) -> dict[str, Any]:
    if len(questions) == 1 and not isinstance(content, dict):
        content = {questions[0].question: content}
    if not isinstance(content, dict):
        raise unfit("an object keyed by the question's text")
    errors = [
        FieldError(pointer(key), "no such question")
        for key in content
        if key not in {q.question for q in questions}
    ]
    result: dict[str, Any] = {}
    for question in questions:
        try:
            result[question.question] = _one(question, content.get(question.question))
        except Invalid as error:
            errors += error.errors
    if errors:
        raise Invalid("the answers do not fit", errors)
    return result


def _one(question: Question, content: Any) -> str | list[str]:
    labels = [option.label for option in question.options]
    at = pointer(question.question)
    if question.multi_select:
        chosen = content if isinstance(content, list) else [content]
        named = [_label(question, labels, item, at) for item in chosen]
        if not named or len(set(named)) != len(named):
            raise unfit("one or several different labels", at)
        return named
    return _label(question, labels, content, at)


def _label(question: Question, labels: list[str], content: Any, at: str) -> str:
    if isinstance(content, int) and not isinstance(content, bool) and 0 <= content < len(labels):
        return labels[content]
    if isinstance(content, str) and content in labels:
        return content
    if (
        question.allow_other
        and isinstance(content, str)
        and content.strip()
        and len(content) <= MAX_TEXT
    ):
        return content
    raise unfit(f"one of {', '.join(labels)}" + (", or a text" if question.allow_other else ""), at)


def _form(request: FormRequest, content: Any, marks: Marks) -> Outcome:
    if not isinstance(content, dict):
        raise unfit("an object with the form's fields")
    filled = with_defaults(request.form, content)
    if errors := form_errors(request.form, filled):
        raise Invalid("the form's fields do not fit", errors)
    return _sealed(request, filled, marks)


def _sealed(request: FormRequest, content: dict[str, Any], marks: Marks) -> Outcome:
    """The content with ciphertext for what is sealed, and a mark of each such answer."""
    made: dict[str, str] = {}
    for name in sealed_names(request.form):
        if name not in content:
            continue
        secret, where = content[name].encode(), sealed_at(request.id, name)
        text = seal(request.seal_key or "", secret, where)
        content, made[name] = {**content, name: {"sealed": text}}, marks.mark(secret, where)
    return Outcome(state=InputState.ANSWERED, content=content, marks=made)


def sealed_at(input_id: str, field: str) -> str:
    """What a sealed answer is bound to: it opens for no other question and no other field."""
    return input_id + pointer(field)


def _review(request: ReviewRequest, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("outcome") not in request.outcomes:
        raise unfit(f"one of {', '.join(request.outcomes)}", "/outcome")
    allowed = {"outcome"} | _REVIEW_FIELDS.get(content["outcome"], set())
    if set(content) - allowed:
        raise unfit(
            f"only {' and '.join(sorted(allowed))} here",
            *(f"/{k}" for k in sorted(set(content) - allowed)),
        )
    if "args" in content:
        if not isinstance(content["args"], dict):
            raise unfit("an object with the arguments", "/args")
        if errors := field_errors(request.args_schema or {}, content["args"]):
            listed = [FieldError(f"/args{e.pointer}", e.detail) for e in errors]
            raise Invalid("the arguments do not fit", listed)
    return content


_REVIEW_FIELDS: Mapping[str, set[str]] = {"happened": {"result"}, "accept": {"args"}}


def _edited(request: EditTextRequest, content: Any) -> str:
    """The text as it is now; it may be shown, or given to be edited, again."""
    edited = _text(content, "the edited text; blank means unchanged")
    if len(orjson.dumps(edited)) > LONGEST_EDIT and edited != request.text:
        raise unfit(f"a text of at most {LONGEST_EDIT} bytes")
    return edited if edited.strip() else request.text


def _text(content: Any, what: str) -> str:
    if not isinstance(content, str):
        raise unfit(what)
    if "\x00" in content:
        raise unfit("text without null characters")
    check_storable(content)
    return content
