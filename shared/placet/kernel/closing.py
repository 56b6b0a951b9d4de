"""What the model is told of calls that did not run."""

from placet.domain.interaction import InputState
from placet.domain.label import highest
from placet.gate import Level
from placet.kernel.call import Ask, CallState
from placet.kernel.turns import CallOutcome, CallResult

SUPERSEDED = "Not answered: the user sent a new message instead"


def not_approved(call: CallState, approval: Ask) -> CallResult:
    """The result of a call that a person did not approve, or nobody did."""
    outcome = approval.outcome
    by = approval.resolution.by if approval.resolution else None
    who = f" by {by.name or by.id}" if by else ""  # nobody, where nobody could be asked
    reason = f": {outcome.reason}" if outcome and outcome.reason else "."
    match outcome.state if outcome else None:
        case InputState.DECLINED if outcome and outcome.decision == "skipped":
            return closed_as(
                call, CallOutcome.SKIPPED, f"Skipped{who}; the intent was not refused{reason}"
            )
        case InputState.DECLINED if call.verdict and call.verdict.level is Level.TAINT:
            blocked = f"[blocked] The data was not let out{who}{reason}"
            return closed_as(call, CallOutcome.DENIED, blocked)
        case InputState.DECLINED | InputState.ANSWERED:  # answered, and not with a yes
            return closed_as(call, CallOutcome.DENIED, f"Denied{who}{reason}")
        case InputState.CANCELLED if by:
            return closed_as(
                call, CallOutcome.CANCELLED, f"Not run: the question was cancelled{who}{reason}"
            )
        case _:
            return not_answered(call, approval)


def not_answered(call: CallState, ask: Ask) -> CallResult:
    """The result of a call whose question ended without an answer."""
    match ask.outcome.state if ask.outcome else None:
        case InputState.SUPERSEDED:
            return superseded(call)
        case InputState.EXPIRED:
            return closed_as(call, CallOutcome.EXPIRED, "Not run: nobody answered in time.")
        case InputState.WITHDRAWN:
            return closed_as(call, CallOutcome.WITHDRAWN, "Not run: the question was withdrawn.")
        case _:
            return closed_as(call, CallOutcome.CANCELLED, "Not run: the question was cancelled.")


def superseded(call: CallState) -> CallResult:
    """The result of a call that a message overtook."""
    return closed_as(call, CallOutcome.SUPERSEDED, SUPERSEDED)


def closed_as(call: CallState, outcome: CallOutcome, content: object) -> CallResult:
    """The one result of a call."""
    return CallResult(call_id=call.call.id, tool=call.call.tool, outcome=outcome, content=content)


def delegated(call: CallState) -> CallResult:
    """The result of a call that child runs did: theirs, in the order of its tasks."""
    ends = [call.ends[child.run_id] for child in call.children]
    content = [
        {"agent": child.agent, "status": end.status.value, "text": end.text}
        for child, end in zip(call.children, ends, strict=True)
    ]
    failed = any(end.status != "completed" for end in ends)
    outcome = CallOutcome.ERROR if failed else CallOutcome.OK
    label = highest(*(end.label for end in ends))
    return closed_as(call, outcome, content).model_copy(update={"label": label})
