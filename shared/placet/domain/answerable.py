"""Whether a question can be put under its policy: what a number of people can say yes to, and when."""

from placet.domain.interaction import ApprovalRequest, InteractionRequest, Kind
from placet.errors import FieldError, Invalid

YES_OR_NO = frozenset({Kind.TOOL_APPROVAL, Kind.CONFIRM})
"""What several people can say the same yes to; anything else each would answer in their own way."""


def check_policy(request: InteractionRequest) -> None:
    """Whether a question may be opened with its policy.

    Raises:
        Invalid: a quorum or four eyes for what is no yes or no, or where only the agent's own
            evaluator knows a yes; a step for the deadline without `on_expiry` `escalate`.
    """
    policy = request.policy
    if policy.strict and request.kind not in YES_OR_NO:
        kinds = " and ".join(sorted(YES_OR_NO))
        raise _unfit(
            "/policy/quorum", f"a quorum and four eyes are for {kinds}, not {request.kind}"
        )
    if policy.strict and isinstance(request, ApprovalRequest) and request.accepts == "anything":
        raise _unfit(
            "/policy/quorum", "the agent's own evaluator judges this: nobody can count a yes"
        )
    untimed = [n for n, step in enumerate(policy.escalation) if step.after_seconds is None]
    if untimed and request.on_expiry != "escalate":
        at = f"/policy/escalation/{untimed[0]}/after_seconds"
        raise _unfit(at, 'a step for the deadline needs on_expiry: "escalate"')


def _unfit(pointer: str, why: str) -> Invalid:
    return Invalid(f"{pointer[1:]}: {why}", [FieldError(pointer, why)])
