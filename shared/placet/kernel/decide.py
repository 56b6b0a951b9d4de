"""What a run does next: a pure function of its state and of the tools it has."""

from collections.abc import Collection, Mapping, Sequence

from placet.domain.interaction import ToolCall
from placet.domain.stage import Stage
from placet.kernel.call import CallState
from placet.kernel.journal import PointSettled, StageEntered
from placet.kernel.moves import STOPS, move_of
from placet.kernel.points import Reading
from placet.kernel.refusals import DeniedLoop
from placet.kernel.staging import Present, at_points, following
from placet.kernel.state import State
from placet.kernel.steps import (
    Act,
    CallModel,
    Cancel,
    Ended,
    Fail,
    Finish,
    Judge,
    Next,
    Record,
    ToolFacts,
    Wait,
)
from placet.kernel.turns import CallResult


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
    if staging.ask is not None and staging.ask.stopped:
        where = f"at the point {staging.asking}"
        return Fail("input_expired", f"nobody answered in time {where}, {STOPS}")
    stage = next((each for each in stages if each.name == staging.name), None)
    found = at_points(staging, stage, unattended=unattended, label=state.taint)
    if isinstance(found, Present):
        return found
    if found is not None:
        return Wait() if found == "wait" else Record(tuple(found))
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
    unjudged = tuple(call for call in pending if _to_judge(call, tools.get(call.call.tool)))
    if unjudged:
        return _remembered(state, unjudged) or Judge(unjudged)
    moves: dict[str, list[CallState]] = {
        word: [] for word in ("ask", "review", "start", "changed", "delegate")
    }
    close: list[CallResult] = []
    for call in pending:
        if call.call.id in running or call.waits:
            continue
        match move_of(call, tools.get(call.call.tool), state.heritage.unattended is not None):
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


def _to_judge(call: CallState, tool: ToolFacts | None) -> bool:
    """Whether a verdict is due. A tool that has changed since the last one is put to a person first."""
    if call.verdict is not None or call.waits:
        return False
    return tool is None or not call.outlived(tool.schema_digest)


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
