"""What a person submits, reduced to its outcome by one function for every surface."""

from enum import StrEnum
from typing import Any, Literal

from placet.domain.base import Value
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
from placet.domain.schema import field_errors
from placet.errors import FieldError, Invalid

MAX_REASON = 1000
MAX_TEXT = 2000
Scope = Literal["once", "stage", "run"]


class Action(StrEnum):
    """What is done with an input."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class Outcome(Value):
    """What an answer amounts to. Two answers are the same if everything but `reason` is equal."""

    state: InputState
    content: Any = None
    """As the asker gets it: a bool, a string, a label, an object."""
    decision: ApprovalDecision | None = None
    scope: Scope | None = None
    grant: Literal["named", "exact"] | None = None
    trust: bool = False
    """The tool runs unasked from now on, for this person's runs."""
    reason: str | None = None

    def same_as(self, other: "Outcome") -> bool:
        """Whether settling with `other` again changes nothing."""
        return self.model_dump(exclude={"reason"}) == other.model_dump(exclude={"reason"})


def reduce(request: InteractionRequest, action: Action, content: Any = None) -> Outcome:
    """The outcome of an answer to this request.

    Raises:
        Invalid: the content does not fit; `errors` lists each field. Nothing is a yes but `true`
            or `decision: "approved"`.
    """
    if action is not Action.ACCEPT:
        return _turned_down(request, action, content)
    match request:
        case ApprovalRequest():
            return _approval(request, content)
        case ConfirmRequest():
            return _confirm(content)
        case FreeTextRequest():
            return _answered(_text(content, "a string"))
        case MultipleChoiceRequest():
            return _answered(_choice(request.options, content, ""))
        case QuestionsRequest():
            return _answered(_questions(request.questions, content))
        case FormRequest():
            return _answered(_form(request.form, content))
        case UrlRequest():
            if content is not True:
                raise _unfit("true once it is done; to refuse, decline")
            return _answered(True)
        case EditTextRequest():
            edited = _text(content, "the edited text; blank means unchanged")
            return _answered(edited if edited.strip() else request.text)
        case ReviewRequest():
            return _answered(_review(request, content))


def _turned_down(request: InteractionRequest, action: Action, content: Any) -> Outcome:
    reason = None
    if content is not None:
        if not isinstance(request, ApprovalRequest):
            raise _unfit(f"nothing: a {action} takes no content here")
        reason = _reason(content.get("reason") if isinstance(content, dict) else content)
        if isinstance(content, dict) and set(content) - {"reason"}:
            raise _unfit('a string or {"reason": "..."}')
    if action is Action.CANCEL:
        return Outcome(state=InputState.CANCELLED, reason=reason)
    decision = ApprovalDecision.DENIED if isinstance(request, ApprovalRequest) else None
    return Outcome(state=InputState.DECLINED, decision=decision, reason=reason)


def _approval(request: ApprovalRequest, content: Any) -> Outcome:
    if request.accepts == "anything":
        if content is None:
            raise _unfit("anything but null")
        return _answered(content)
    match content:
        case bool():
            return _approved() if content else _denied()
        case str() if request.accepts == "words":
            return _worded(request, content)
        case dict():
            return _decided(request, content)
        case _:
            raise _unfit('true, false or {"decision": "approved" | "denied" | "skipped", ...}')


def _decided(request: ApprovalRequest, content: dict[str, Any]) -> Outcome:
    unknown = sorted(set(content) - {"decision", "scope", "grant", "args", "reason"})
    if unknown:
        raise _unfit("decision, scope, grant, args, reason", *(f"/{key}" for key in unknown))
    if content.get("args") is not None:
        raise Invalid(
            "arguments can't be edited", [FieldError("/args", "this agent does not allow edits")]
        )
    try:
        decision = ApprovalDecision(content.get("decision", ""))
    except ValueError:
        raise _unfit("approved, denied or skipped", "/decision") from None
    reason = _reason(content.get("reason"))
    if decision is not ApprovalDecision.APPROVED:
        return Outcome(state=InputState.DECLINED, decision=decision, reason=reason)
    grant = content.get("grant")
    if grant not in (None, "named", "exact"):
        raise _unfit("named or exact", "/grant")
    return _approved(_scope(request, content.get("scope")), grant, reason)


def _approved(
    scope: Scope = "once",
    grant: Literal["named", "exact"] | None = None,
    reason: str | None = None,
    *,
    trust: bool = False,
) -> Outcome:
    return Outcome(
        state=InputState.ANSWERED,
        content=True,
        decision=ApprovalDecision.APPROVED,
        scope=scope,
        grant=grant,
        reason=reason,
        trust=trust,
    )


def _denied() -> Outcome:
    return Outcome(state=InputState.DECLINED, decision=ApprovalDecision.DENIED)


def _worded(request: ApprovalRequest, content: str) -> Outcome:
    """`y`, `yes`, `n`, `no`; `t` and `trust` where trust is offered: anywhere else they are no yes."""
    match content.strip().lower():
        case "y" | "yes":
            return _approved()
        case "t" | "trust" if request.trust:
            return _approved(trust=True)
        case "n" | "no":
            return _denied()
        case _:
            raise _unfit("y, yes, t, trust, n or no" if request.trust else "y, yes, n or no")


def _scope(request: ApprovalRequest, word: Any) -> Scope:
    """A scope that the prompt offers; an unknown or a wider one narrows to `once`. `session` is `run`."""
    wanted = "run" if word == "session" else word
    return next((scope for scope in request.scopes if scope == wanted), "once")


def _confirm(content: Any) -> Outcome:
    if content is True:
        return _answered(True)
    if content is False:
        return Outcome(state=InputState.DECLINED)
    raise _unfit("true or false")


def _choice(options: tuple[str, ...], content: Any, pointer: str) -> str:
    if isinstance(content, str) and content in options:
        return content
    if isinstance(content, int) and not isinstance(content, bool) and 0 <= content < len(options):
        return options[content]
    raise _unfit(f"one of {', '.join(options)}, or its index from 0", pointer)


def _questions(questions: tuple[Question, ...], content: Any) -> dict[str, Any]:
    if len(questions) == 1 and not isinstance(content, dict):
        content = {questions[0].question: content}
    if not isinstance(content, dict):
        raise _unfit("an object keyed by the question's text")
    errors = [
        FieldError(f"/{key}", "no such question")
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
    pointer = f"/{question.question}"
    if question.multi_select:
        chosen = content if isinstance(content, list) else [content]
        named = [_label(question, labels, item, pointer) for item in chosen]
        if not named or len(set(named)) != len(named):
            raise _unfit("one or several different labels", pointer)
        return named
    return _label(question, labels, content, pointer)


def _label(question: Question, labels: list[str], content: Any, pointer: str) -> str:
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
    raise _unfit(
        f"one of {', '.join(labels)}" + (", or a text" if question.allow_other else ""), pointer
    )


def _form(schema: dict[str, Any], content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _unfit("an object with the form's fields")
    unknown = sorted(set(content) - set(schema["properties"]))
    errors = [FieldError(f"/{key}", "no such field") for key in unknown] + field_errors(
        schema, content
    )
    if errors:
        raise Invalid("the form's fields do not fit", errors)
    return content


def _review(request: ReviewRequest, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("outcome") not in request.outcomes:
        raise _unfit(f"one of {', '.join(request.outcomes)}", "/outcome")
    allowed = {"outcome", "result"} if content["outcome"] == "happened" else {"outcome"}
    if set(content) - allowed:
        raise _unfit(
            f"only {' and '.join(sorted(allowed))} here",
            *(f"/{k}" for k in sorted(set(content) - allowed)),
        )
    return content


def _text(content: Any, what: str) -> str:
    if not isinstance(content, str):
        raise _unfit(what)
    if "\x00" in content:
        raise _unfit("text without null characters")
    return content


def _reason(reason: Any) -> str | None:
    if reason is None:
        return None
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        raise _unfit(f"a string of at most {MAX_REASON} characters", "/reason")
    return reason


def _answered(content: Any) -> Outcome:
    return Outcome(state=InputState.ANSWERED, content=content)


def _unfit(wanted: str, *pointers: str) -> Invalid:
    errors = [FieldError(pointer, f"wanted: {wanted}") for pointer in pointers or ("",)]
    return Invalid(f"the content does not fit; wanted: {wanted}", errors)
