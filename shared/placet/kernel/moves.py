"""Where one call goes: to a person, to its tool, to a child run, or back to the model with a result."""

from typing import Literal, TypeAlias

from placet.domain.digest import call_digest
from placet.domain.interaction import InputState
from placet.domain.label import Label
from placet.domain.outcome import Outcome
from placet.gate import Decision
from placet.kernel.call import Ask, CallState, answered
from placet.kernel.closing import closed_as, delegated, not_answered, not_approved
from placet.kernel.steps import Fail, ToolFacts
from placet.kernel.turns import CallOutcome, CallResult

STOPS = "and the definition stops the run then"
MAX_DRIFTS = 3
"""How often a call is asked about again because what it acts on changed."""


Word: TypeAlias = Literal["ask", "review", "start", "changed", "delegate"]
Move: TypeAlias = Word | CallResult | Fail


def move_of(call: CallState, tool: ToolFacts | None, unattended: bool) -> Move:
    """Where one call, neither finished nor running nor waiting, goes."""
    if stopped := next((ask for ask in call.questions if ask.stopped), None):
        return Fail("input_expired", f"nobody answered {stopped.message!r} in time, {STOPS}")
    if call.children:
        return delegated(call)
    if call.verdict is None and tool is not None:
        return _changed(call, tool, unattended)  # else it would be judged for the tool as it is now
    if call.review and not _reruns(call.review):
        told = _reviewed(call, call.review.outcome)
        label = tool.label if tool else Label.PRIVATE
        return told.model_copy(update={"label": label}) if isinstance(told, CallResult) else told
    if tool is None and call.approval and _withdrawn(call.approval):
        return _gone(call, CallOutcome.WITHDRAWN)
    move = "ask" if _outgrown(call, tool) else _permitted(call)
    if move is None or move == "ask":
        move = _possible(call, tool, unattended) or move or _begins(tool)
    return _reviewed(call, None) if move == "review" and unattended else move


def _outgrown(call: CallState, tool: ToolFacts | None) -> bool:
    """Whether a yes was enough when it was given, and by now more people must say so, or others."""
    asked = call.approval
    if tool is None or asked is None or not asked.approved or call.attempt:
        return False
    return tool.asks_more_than(asked.policy, call.call.tool, call.risk)


def _begins(tool: ToolFacts | None) -> Move:
    return "delegate" if tool is not None and tool.delegates else "start"


def _permitted(call: CallState) -> Move | None:
    """What keeps a call from being started, as far as people and the policy go; None: nothing."""
    verdict = call.verdict
    if verdict is not None and verdict.decision is Decision.DENY:
        return closed_as(call, CallOutcome.REFUSED, f"Not allowed: {verdict.reason.sentence}.")
    if call.drift and call.approval is None:
        if call.approvals <= MAX_DRIFTS:
            return "ask"
        moving = f"resource_drift: it keeps changing: {call.drift}."
        return closed_as(call, CallOutcome.REFUSED, moving)
    if verdict is not None and verdict.decision is Decision.ASK and _unasked(call):
        return "ask"
    if call.approval and not call.approval.approved and not _covered(call):
        return not_approved(call, call.approval)
    closed = next((ask for ask in call.asks if ask.outcome and ask.outcome.state in _CLOSED), None)
    return not_answered(call, closed) if closed else None


def _possible(call: CallState, tool: ToolFacts | None, unattended: bool) -> Move | None:
    """What keeps a call from being started, as far as the call and its tool go; None: nothing."""
    changed = tool is None or tool.schema_digest != call.schema_digest
    asks = changed or tool is None or tool.retry == "ask"
    if call.in_doubt and not _reviewed_since(call) and asks:
        return "review"
    if tool is None:
        return _gone(call, CallOutcome.REFUSED)
    if tool.denied_by:
        why = (
            f"policy_changed: the {tool.denied_by} denies {call.call.tool} by now; it was not run."
        )
    elif not _consented(call):
        why = "args_drift: these are not the arguments that a person approved; it was not run."
    elif changed:
        return _changed(call, tool, unattended)
    else:
        return None
    return closed_as(call, CallOutcome.REFUSED, why)


def _gone(call: CallState, outcome: CallOutcome) -> CallResult:
    what = f"tool_gone: {call.call.tool} does not exist any more; it was not run."
    return closed_as(call, outcome, what)


def _changed(call: CallState, tool: ToolFacts, unattended: bool) -> Move:
    """The tool was deployed with another schema: a person sees the difference, once for each."""
    asked = call.change
    shown = asked is not None and asked.changed_to == tool.schema_digest
    if not shown and not unattended:
        return "changed"
    how = "nobody is there to accept the call"
    if shown and asked is not None:
        ended = answered(asked.outcome)
        how = "a person ended the run" if ended else "nobody accepted the call"
    what = f"{call.call.tool} has changed since the model wanted it, and {how}"
    return Fail("definition_changed", what)


def _covered(call: CallState) -> bool:
    """Whether the question was taken back because a grant covers the call, before anybody said no."""
    allowed = call.verdict is not None and call.verdict.decision is Decision.ALLOW
    return allowed and call.approval is not None and _withdrawn(call.approval)


def _withdrawn(ask: Ask) -> bool:
    return ask.outcome is not None and ask.outcome.state is InputState.WITHDRAWN


def _unasked(call: CallState) -> bool:
    """Whether nobody was asked about this call, or only about one that was judged less strictly."""
    if call.approval is None:
        return True
    changed = call.approval.approved and call.proposed is not None
    if not changed or call.facts is None or call.verdict is None:
        return False
    return call.stricter(call.facts, call.verdict)


def _consented(call: CallState) -> bool:
    """Whether the yes, if there is one, is to exactly these arguments: as asked, or as changed."""
    approval = call.approval
    if approval is None:
        return call.facts is None or not call.facts.digest or call.facts.digest == _digest(call)
    if not approval.digest:
        return True
    changed = approval.outcome.args if approval.outcome else None
    if changed is not None:
        return changed == call.call.args
    return approval.digest == _digest(call)


def _digest(call: CallState) -> str:
    return call_digest(call.call.tool, call.schema_digest, call.call.args)


_CLOSED = (InputState.SUPERSEDED, InputState.WITHDRAWN)


def _reruns(review: Ask) -> bool:
    outcome = review.outcome
    return answered(outcome) and outcome is not None and outcome.content.get("outcome") == "rerun"


def _reviewed_since(call: CallState) -> bool:
    """Whether a person has said "run it again" about the latest attempt."""
    return call.review is not None and call.review.number == call.attempt


def _reviewed(call: CallState, outcome: Outcome | None) -> Move:
    content = outcome.content if outcome and answered(outcome) else {}
    if content.get("outcome") == "happened":
        result = content.get("result", "It happened; a person confirmed it.")
        return closed_as(call, CallOutcome.OK, result)
    how = "a person said that it failed" if content else "nobody confirmed whether it happened"
    return Fail(
        "outcome_unknown", f"{call.call.tool} was started and its outcome is unknown; {how}"
    )
