"""What the answer to an approval amounts to: yes, no or skip, and for how long."""

from typing import Any, Literal

from placet.domain.digest import canonical, same_json
from placet.domain.interaction import ApprovalDecision, ApprovalRequest, InputState
from placet.domain.outcome import Outcome, Scope, answered, reason_in, unfit
from placet.domain.schema import field_errors
from placet.errors import FieldError, Invalid


def approval_outcome(request: ApprovalRequest, content: Any) -> Outcome:
    """The outcome of accepting with this content: nothing else is a yes. Raises Invalid."""
    if request.accepts == "anything":
        if content is None:
            raise unfit("anything but null")
        return answered(content)
    match content:
        case bool():
            return _approved() if content else _denied()
        case str() if request.accepts == "words":
            return _worded(request, content)
        case dict():
            return _decided(request, content)
        case _:
            raise unfit('true, false or {"decision": "approved" | "denied" | "skipped", ...}')


def _decided(request: ApprovalRequest, content: dict[str, Any]) -> Outcome:
    unknown = sorted(set(content) - {"decision", "scope", "grant", "args", "reason"})
    if unknown:
        raise unfit("decision, scope, grant, args, reason", *(f"/{key}" for key in unknown))
    args = _edited(request, content.get("args"))
    try:
        decision = ApprovalDecision(content.get("decision", ""))
    except ValueError:
        raise unfit("approved, denied or skipped", "/decision") from None
    reason = reason_in(content.get("reason"))
    if decision is not ApprovalDecision.APPROVED:
        return Outcome(state=InputState.DECLINED, decision=decision, reason=reason)
    grant = content.get("grant")
    if grant not in (None, "named", "exact"):
        raise unfit("named or exact", "/grant")
    yes = _approved(_scope(request, content.get("scope")), grant, reason)
    return yes if args is None else yes.model_copy(update={"args": args})


def _edited(request: ApprovalRequest, args: Any) -> dict[str, Any] | None:
    """Arguments that the approver changed, checked as the model's own are. None: left as they are."""
    if args is None or same_json(args, request.call.args):
        return None
    if request.args_schema is None:
        raise Invalid(
            "arguments can't be edited", [FieldError("/args", "this agent does not allow edits")]
        )
    if not isinstance(args, dict):
        raise unfit("an object with the arguments", "/args")
    try:
        canonical(args)
    except Invalid as error:
        raise Invalid(str(error), [FieldError("/args", str(error))]) from error
    if errors := field_errors(request.args_schema, args):
        raise Invalid(
            "the arguments do not fit", [FieldError(f"/args{e.pointer}", e.detail) for e in errors]
        )
    return args


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
            raise unfit("y, yes, t, trust, n or no" if request.trust else "y, yes, n or no")


def _scope(request: ApprovalRequest, word: Any) -> Scope:
    """A scope that the prompt offers; an unknown or a wider one narrows to `once`. `session` is `run`."""
    wanted = "run" if word == "session" else word
    return next((scope for scope in request.scopes if scope == wanted), "once")
