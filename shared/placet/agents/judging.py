"""From a model's call to the facts that the gate judges; what a tool computes is obtained once."""

from typing import Any

from placet.agents.agent import Agent
from placet.agents.authored import ours_to_pass_on, said
from placet.agents.tool import Tool
from placet.domain.digest import canonical
from placet.domain.risk import ToolRisk
from placet.domain.schema import field_errors
from placet.errors import Invalid
from placet.gate import Facts, judge
from placet.kernel.journal import CallJudged, ToolFinished
from placet.kernel.state import CallState
from placet.kernel.turns import CallOutcome, CallResult


def judge_call(agent: Agent, call: CallState) -> CallJudged | ToolFinished:
    """The journal's entry for one call that the model wants: judged, or closed because it can't be.

    Bad arguments go back to the model and are never put to a person.
    """
    tool = agent.toolbox.get(call.call.tool)
    if tool is None:
        return _closed(call, CallOutcome.REFUSED, f"There is no tool {call.call.tool!r}.")
    try:
        canonical(call.call.args)
    except Invalid as error:
        return _closed(call, CallOutcome.ERROR, f"The arguments can't be used: {error}")
    errors = field_errors(tool.schema, call.call.args)
    if errors:
        listed = "; ".join(f"{e.pointer or '/'}: {e.detail}" for e in errors[:20])
        return _closed(call, CallOutcome.ERROR, f"The arguments do not fit: {listed}")
    facts = _facts(tool, call.call.model_copy(deep=True).args)
    if facts is None:
        return _closed(
            call, CallOutcome.ERROR, f"{tool.name} computed a risk that is no tier; it did not run"
        )
    return CallJudged(
        call_id=call.call.id,
        verdict=judge(facts, agent.policy),
        risk=facts.risk,
        schema_digest=tool.facts.schema_digest,
    )


def _facts(tool: Tool, args: dict[str, Any]) -> Facts | None:
    """What the tool says about this call; None for a tier that does not exist.

    A tool's own tier beats the static one; a condition that raises asks.
    """
    risk: Any = ToolRisk.CRITICAL
    needs_approval, failed = False, None
    try:
        risk = tool.risk_of(args)
        needs_approval = tool.asks_for(args)
    except BaseException as error:
        if ours_to_pass_on(error):
            raise
        failed = f"{type(error).__name__}: {said(error)}"[:500]  # what raises asks
    if risk not in list(ToolRisk):
        return None
    return Facts(
        tool=tool.name, risk=ToolRisk(risk), needs_approval=needs_approval, condition_failed=failed
    )


def _closed(call: CallState, outcome: CallOutcome, content: str) -> ToolFinished:
    result = CallResult(call_id=call.call.id, tool=call.call.tool, outcome=outcome, content=content)
    return ToolFinished(result=result)
