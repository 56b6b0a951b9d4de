"""What a run does next: a pure function of its state and of the tools it has."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from placet.domain.digest import call_digest
from placet.domain.interaction import InputState, ToolCall
from placet.domain.label import Label
from placet.domain.outcome import Outcome
from placet.domain.stage import Stage
from placet.gate import Decision
from placet.kernel.call import Ask, CallState, answered
from placet.kernel.closing import closed_as, delegated, not_answered, not_approved
from placet.kernel.journal import Entry, PointSettled, StageEntered
from placet.kernel.points import Reading
from placet.kernel.refusals import DeniedLoop
from placet.kernel.staging import Present, at_points, following
from placet.kernel.state import State
from placet.kernel.turns import CallOutcome, CallResult

MAX_DRIFTS = 3
"""How often a call is asked about again because what it acts on changed."""


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What `decide` needs to know about a tool that exists now."""

    schema_digest: str
    retry: Literal["safe", "ask"] = "ask"
    denied_by: str | None = None
    """The layer of the policy that denies it now, whatever was said before."""
    label: Label = Label.PUBLIC
    """Of what it returns."""
    delegates: bool = False
    """Whether its calls are done by other runs."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Let the gate look at these calls."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class Act:
    """Put these questions, start these calls, close these without running them: in one write."""

    ask: tuple[CallState, ...] = ()
    review: tuple[CallState, ...] = ()
    start: tuple[CallState, ...] = ()
    close: tuple[CallResult, ...] = ()
    changed: tuple[CallState, ...] = ()
    """Their tools have changed: put the difference to a person."""
    delegate: tuple[CallState, ...] = ()
    """Have these done by child runs."""


@dataclass(frozen=True, slots=True)
class Record:
    """These facts follow from what is known: note them, and look again."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until a question is answered or a running call ends."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is complete."""

    text: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The run can't go on."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """A person ended the run at a point."""

    by: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """It has ended already."""


Next: TypeAlias = (
    Judge | Act | Record | Present | CallModel | Wait | Finish | Fail | Cancel | Ended
)


def decide(
    state: State,
    tools: Mapping[str, ToolFacts],
    *,
    stages: Sequence[Stage] = (),
    running: Collection[str] = (),
    max_steps: int = 50,
) -> Next:
    """What comes next.

    Args:
        state: the fold of the journal.
        tools: the tools that exist now, by name.
        stages: the stages that the definition has now, in order.
        running: ids of the calls that this holder has started and not finished.
        max_steps: model calls allowed in one run.
    """
    if state.end:
        return Ended()
    if state.calls:
        return _calls(state, tools, running)
    if not state.turns:
        return Wait()
    if state.stage.concluded or state.stage.asking:
        return _concluded(state, stages)
    if state.steps >= max_steps:
        return Fail(
            "step_limit", f"the run made {state.steps} model calls, the limit of its definition"
        )
    return CallModel()


def _concluded(state: State, stages: Sequence[Stage]) -> Next:
    """The model has answered without a call: the points of the stage, the next stage, or the end."""
    staging, unattended = state.stage, state.heritage.unattended is not None
    if ended := staging.ended:
        return _ended_at(ended)
    stage = next((each for each in stages if each.name == staging.name), None)
    match at_points(staging, stage, unattended=unattended):
        case "wait":
            return Wait()
        case PointSettled() as settled:
            return Record((settled,))
        case Present() as present:
            return present
        case None:
            following_stage = following(stages, staging.name)
    if following_stage is None:
        return Finish(staging.text)
    return Record((StageEntered(stage=following_stage.name),))


def _ended_at(ended: PointSettled) -> Next:
    match ended.reading:
        case Reading.ABORTED:
            return Cancel(ended.by)
        case Reading.UNANSWERED:
            what = f"nobody answered at the point {ended.point}, which needs a person"
            return Fail("checkpoint_unanswered", what)
        case _:
            what = f"the revisions at the point {ended.point} are used up and nobody approved it"
            return Fail("revisions_exhausted", what)


def _calls(state: State, tools: Mapping[str, ToolFacts], running: Collection[str]) -> Next:
    pending = [call for call in state.calls.values() if call.result is None]
    unjudged = tuple(call for call in pending if call.verdict is None)
    if unjudged:
        return _remembered(state, unjudged) or Judge(unjudged)
    moves: dict[str, list[CallState]] = {
        word: [] for word in ("ask", "review", "start", "changed", "delegate")
    }
    close: list[CallResult] = []
    for call in pending:
        if call.call.id in running or call.waits:
            continue
        match _move(call, tools.get(call.call.tool), state.heritage.unattended is not None):
            case CallResult() as result:
                close.append(result)
            case Fail() as fail if not running:
                return fail
            case Fail():
                pass  # what runs is let end first
            case word:
                moves[word].append(call)
    if close or any(moves.values()):
        return Act(close=tuple(close), **{word: tuple(calls) for word, calls in moves.items()})
    return Wait()


def _remembered(state: State, calls: Sequence[CallState]) -> Act | Fail | None:
    """Calls that a person refused before, with these very arguments, are answered from that."""
    close: list[CallResult] = []
    closed: list[ToolCall] = []
    for call in calls:
        same = sum((c.tool, c.args) == (call.call.tool, call.call.args) for c in closed)
        try:
            known = state.refusals.about(call.call, same)
        except DeniedLoop:
            what = f"the model asked for {call.call.tool} again and again after it was refused"
            return Fail("denied_loop", what)
        if known is not None:
            close.append(known)
            closed.append(call.call)
    return Act(close=tuple(close)) if close else None


_Word: TypeAlias = Literal["ask", "review", "start", "changed", "delegate"]
_Move: TypeAlias = _Word | CallResult | Fail


def _move(call: CallState, tool: ToolFacts | None, unattended: bool) -> _Move:
    """Where one call, neither finished nor running nor waiting, goes."""
    if stopped := next((ask for ask in call.questions if _stops(ask)), None):
        what = f"nobody answered {stopped.message!r} in time, and its definition stops the run then"
        return Fail("input_expired", what)
    if call.children:
        return delegated(call)
    if call.review and not _reruns(call.review):
        told = _reviewed(call, call.review.outcome)
        label = tool.label if tool else Label.PRIVATE
        return told.model_copy(update={"label": label}) if isinstance(told, CallResult) else told
    move = _permitted(call)
    if move is None or move == "ask":
        move = _possible(call, tool) or move or _begins(tool)
    return _reviewed(call, None) if move == "review" and unattended else move


def _begins(tool: ToolFacts | None) -> _Move:
    return "delegate" if tool is not None and tool.delegates else "start"


def _stops(ask: Ask) -> bool:
    return ask.stops and ask.outcome is not None and ask.outcome.state is InputState.EXPIRED


def _permitted(call: CallState) -> _Move | None:
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


def _possible(call: CallState, tool: ToolFacts | None) -> _Move | None:
    """What keeps a call from being started, as far as the call and its tool go; None: nothing."""
    changed = tool is None or tool.schema_digest != call.schema_digest
    asks = changed or tool is None or tool.retry == "ask"
    if call.in_doubt and not _reviewed_since(call) and asks:
        return "review"
    if tool is None:
        why = f"{call.call.tool} does not exist any more; it was not run."
    elif tool.denied_by:
        why = (
            f"policy_changed: the {tool.denied_by} denies {call.call.tool} by now; it was not run."
        )
    elif not _consented(call):
        why = "args_drift: these are not the arguments that a person approved; it was not run."
    elif changed:
        return _changed(call, tool)
    else:
        return None
    return closed_as(call, CallOutcome.REFUSED, why)


def _changed(call: CallState, tool: ToolFacts) -> _Move:
    """The tool was deployed with another schema: a person sees the difference, once for each."""
    if call.change is None or call.change.changed_to != tool.schema_digest:
        return "changed"
    how = "a person ended the run" if answered(call.change.outcome) else "nobody accepted the call"
    what = f"{call.call.tool} has changed since the model wanted it, and {how}"
    return Fail("definition_changed", what)


def _covered(call: CallState) -> bool:
    """Whether the question was taken back because a grant covers the call, before anybody said no."""
    outcome = call.approval.outcome if call.approval else None
    allowed = call.verdict is not None and call.verdict.decision is Decision.ALLOW
    return allowed and outcome is not None and outcome.state is InputState.WITHDRAWN


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


def _reviewed(call: CallState, outcome: Outcome | None) -> _Move:
    content = outcome.content if outcome and answered(outcome) else {}
    if content.get("outcome") == "happened":
        result = content.get("result", "It happened; a person confirmed it.")
        return closed_as(call, CallOutcome.OK, result)
    how = "a person said that it failed" if content else "nobody confirmed whether it happened"
    return Fail(
        "outcome_unknown", f"{call.call.tool} was started and its outcome is unknown; {how}"
    )
