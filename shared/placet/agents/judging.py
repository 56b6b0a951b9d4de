"""From a model's call to the facts that the gate judges; what a tool computes is obtained once."""

from collections.abc import Iterator
from typing import Any

import structlog

from placet.agents.agent import Agent
from placet.agents.authored import ours_to_pass_on, said
from placet.agents.classifying import assess
from placet.agents.interventions import read_response
from placet.agents.situation import situation
from placet.agents.tool import Tool
from placet.domain.digest import call_digest, canonical
from placet.domain.interaction import InputState, ToolCall
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.domain.schema import field_errors
from placet.errors import Invalid
from placet.gate import Decision, Facts, Offer, Role, Verdict, gate, granted, offer
from placet.gate.names import same_tool
from placet.kernel.call import CallState
from placet.kernel.journal import (
    AnswerJudged,
    CallJudged,
    Entry,
    GrantGiven,
    ToolChanged,
    ToolFinished,
    TrustGiven,
)
from placet.kernel.state import State
from placet.kernel.turns import CallOutcome, CallResult

_log = structlog.get_logger(__name__)


async def judge_call(agent: Agent, call: CallState, state: State) -> list[Entry]:
    """The journal's entries for one call: judged, or closed because it can't be.

    A call that an approver changed is judged as it is now; a scope that came with the change grants
    that call.

    Bad arguments go back to the model and are never put to a person. A classifier is asked at most
    once for a call, and only where nothing else decides it.
    """
    here = situation(agent, state)
    tool = here.tools.get(call.call.tool)
    if tool is None:
        return [_closed(call, CallOutcome.REFUSED, _not_offered(agent, call.call.tool))]
    try:
        canonical(call.call.args)
    except Invalid as error:
        return [_closed(call, CallOutcome.ERROR, f"The arguments can't be used: {error}")]
    errors = field_errors(tool.schema, call.call.args)
    if errors:
        listed = "; ".join(f"{e.pointer or '/'}: {e.detail}" for e in errors[:20])
        return [_closed(call, CallOutcome.ERROR, f"The arguments do not fit: {listed}")]
    facts = _facts(tool, call.call, state)
    if facts is None:
        return [
            _closed(
                call,
                CallOutcome.ERROR,
                f"{tool.name} computed a risk that is no tier; it did not run",
            )
        ]
    verdict = gate(facts, here.policy, state.standing)
    if verdict is None:
        found = await assess(agent.judge, here.model, call.call)
        if found.failed:
            _log.warning("classifier_failed", tool=tool.name, reason=found.reason)
        facts = facts.model_copy(update={"assessment": found})
        verdict = gate(facts, here.policy, state.standing)
        assert verdict is not None  # noqa: S101 - it has been assessed
    judged = _judged(call, facts, verdict)
    return [judged, *_grant_of_an_edit(call, judged)]


def follow_up(agent: Agent, state: State, resolution: Resolution) -> Iterator[Entry]:
    """What an answer brings beyond its own call, to be taken in one after the other.

    What the agent's own evaluator makes of it; the grant or the trust that it gives; and a second
    verdict on each waiting call that may run now.
    """
    yield from _accepted_changes(state, resolution)
    call = next((c for c in state.calls.values() if _waited_for(c, resolution)), None)
    if call is None:
        return
    trusts = resolution.outcome.trust
    if (evaluated := _evaluated(agent, call, resolution)) is not None:
        approves, trusts = evaluated
        yield AnswerJudged(input_id=resolution.input_id, approves=approves)
    given: list[Entry] = [*_grant(call, resolution)]
    if trusts:
        given += _trust(agent, call, resolution, state.speaker)
    yield from given
    if given:
        for waiting in list(state.calls.values()):
            if judged := covered(agent, waiting, state):
                yield judged


def _accepted_changes(state: State, resolution: Resolution) -> Iterator[ToolChanged]:
    """A person accepted a call of a tool that was deployed with another schema meanwhile."""
    content = resolution.outcome.content
    if resolution.state is not InputState.ANSWERED or not isinstance(content, dict):
        return
    for call in list(state.calls.values()):
        asked = call.change
        if asked is None or asked.input_id != resolution.input_id:
            continue
        if content.get("outcome") == "accept":
            yield ToolChanged(
                call_id=call.call.id,
                was=call.schema_digest,
                now=asked.changed_to,
                args=content.get("args"),
            )


def _evaluated(agent: Agent, call: CallState, resolution: Resolution) -> tuple[bool, bool] | None:
    """Whether an answer that no rule of Placet's reads approves and trusts; None for one that is read."""
    intervention, outcome = agent.human_in_the_loop, resolution.outcome
    undecided = outcome.state is InputState.ANSWERED and outcome.decision is None
    if intervention is None or not undecided or call.facts is None or call.verdict is None:
        return None
    trustable = offer(call.facts, call.verdict).trustable
    return read_response(intervention, outcome.content, trustable=trustable)


def _trust(
    agent: Agent, call: CallState, resolution: Resolution, person: str | None
) -> Iterator[TrustGiven]:
    if not agent.policy.trusts or call.facts is None or call.verdict is None:
        return
    if call.asked_under.strict:
        return  # trust is one person's word
    if call.approval and call.approval.approved and offer(call.facts, call.verdict).trustable:
        yield TrustGiven(
            tool=call.facts.tool,
            schema_digest=call.facts.schema_digest,
            input_id=resolution.input_id,
            person=person,
        )


def _waited_for(call: CallState, resolution: Resolution) -> bool:
    return call.approval is not None and call.approval.input_id == resolution.input_id


def _grant_of_an_edit(call: CallState, judged: CallJudged) -> Iterator[GrantGiven]:
    """The scope of an approval that changed the call, once it is known what the call is now."""
    resolution = call.approval.resolution if call.approval else None
    if call.proposed is None or resolution is None or judged.facts is None:
        return
    if judged.verdict.decision is Decision.DENY or call.stricter(judged.facts, judged.verdict):
        return  # nothing is granted with a call that is not allowed yet
    # The prompt named another call: nothing but exactly this one can have been meant.
    exact = Offer(("once", "stage", "run"), exact=True)
    grant = granted(judged.facts, exact, resolution, call.asked_under)
    if grant is not None:
        yield GrantGiven(grant=grant.model_copy(update={"exact": judged.facts.digest}))


def _grant(call: CallState, resolution: Resolution) -> Iterator[GrantGiven]:
    if call.facts is None or call.verdict is None or resolution.state is not InputState.ANSWERED:
        return  # also where the approver changed the call: it has no verdict now
    grant = granted(call.facts, offer(call.facts, call.verdict), resolution, call.asked_under)
    if grant is not None:
        yield GrantGiven(grant=grant)


def covered(agent: Agent, call: CallState, state: State) -> CallJudged | None:
    """A second verdict on a call that waits, if what is granted by now lets it run."""
    asks = call.verdict is not None and call.verdict.decision is Decision.ASK
    settled = call.result is not None or (call.approval and call.approval.resolution)
    if not asks or settled or call.facts is None:
        return None
    verdict = gate(call.facts, situation(agent, state).policy, state.standing)
    if verdict is None or verdict.decision is not Decision.ALLOW:
        return None
    return _judged(call, call.facts, verdict)


def judged_anew(agent: Agent, call: CallState, state: State) -> CallJudged | None:
    """The verdict on a call about to start that nobody approved, if it does not allow it any more.

    The policy may be stricter by now, or a grant gone.
    """
    allowed = call.verdict is not None and call.verdict.decision is Decision.ALLOW
    if not allowed or call.approval is not None or call.facts is None or call.result is not None:
        return None
    verdict = gate(call.facts, situation(agent, state).policy, state.standing)
    if verdict is None or verdict.decision is Decision.ALLOW:
        return None
    return _judged(call, call.facts, verdict)


def _judged(call: CallState, facts: Facts, verdict: Verdict) -> CallJudged:
    return CallJudged(
        call_id=call.call.id,
        verdict=verdict,
        risk=facts.risk,
        schema_digest=facts.schema_digest,
        facts=facts,
    )


def _not_offered(agent: Agent, tool: str) -> str:
    """Why a call of a tool is refused that the model was not offered."""
    if tool in agent.toolbox:
        return f"The tool {tool!r} is not offered here."
    return f"There is no tool {tool!r}."


def _facts(tool: Tool, call: ToolCall, state: State) -> Facts | None:
    """What the tool says about this call; None for a tier that does not exist.

    A tool's own tier beats the static one; a condition that raises asks. The author's functions get
    copies: what they do to the arguments changes nothing.
    """
    risk: Any = ToolRisk.CRITICAL
    needs_approval, failed = False, None
    try:
        risk = tool.risk_of(call.model_copy(deep=True).args)
        risk = ToolRisk(risk) if isinstance(risk, str) and risk in list(ToolRisk) else None
        needs_approval = tool.asks_for(call.model_copy(deep=True).args)
    except BaseException as error:
        if ours_to_pass_on(error):
            raise
        failed = f"{type(error).__name__}: {said(error)}"[:500]  # what raises asks
    if risk is None:
        return None
    line = call.args.get("command")
    return Facts(
        tool=same_tool(tool.name),
        role=tool.role,
        risk=risk,
        needs_approval=needs_approval,
        condition_failed=failed,
        source=tool.source,
        raw=tool.raw,
        read_only=tool.read_only,
        destructive=tool.destructive,
        loaded=tool.loaded,
        line=line if tool.role is Role.SHELL and isinstance(line, str) else None,
        digest=call_digest(tool.name, tool.facts.schema_digest, call.args),
        schema_digest=tool.facts.schema_digest,
        outbound=tool.sends,
        clearance=tool.clearance,
        stage=state.stage.name,
        taint=state.taint,
    )


def _closed(call: CallState, outcome: CallOutcome, content: str) -> ToolFinished:
    result = CallResult(call_id=call.call.id, tool=call.call.tool, outcome=outcome, content=content)
    return ToolFinished(result=result)
