"""The taint gate: an outbound call does not carry data above its clearance without a person's word."""

from collections.abc import Sequence

from placet.domain.grant import Grant
from placet.domain.label import highest
from placet.gate.facts import Facts
from placet.gate.policy import Policy
from placet.gate.verdict import Decision, Level, Reason, Verdict, said


def bounded(verdict: Verdict, facts: Facts, policy: Policy, grants: Sequence[Grant]) -> Verdict:
    """The verdict, with what the run's data asks for on top; a deny stays as it is.

    A call that is otherwise allowed asks whether its data may leave. One that asks anyway raises one
    prompt with both reasons, and nothing can be granted with it.
    """
    if not policy.taint or not facts.outbound or verdict.decision is Decision.DENY:
        return verdict
    raised = [
        g.clearance
        for g in grants
        if g.clearance
        and facts.meant_by(g)
        and policy.satisfied_by(g.asked, facts.tool, facts.risk)
    ]
    clearance = highest(facts.clearance, *raised)
    if not facts.taint.above(clearance):
        return verdict
    why = f"{facts.tool} may send {clearance} data out, and the run holds {facts.taint} data"
    if policy.unattended is not None and policy.leaks_unattended is not Decision.ASK:
        return _unattended(verdict, policy, why)
    if verdict.decision is Decision.ASK:
        both = Reason(code=verdict.reason.code, sentence=f"{verdict.reason.sentence}; {why}")
        return verdict.model_copy(update={"reason": both, "level": Level.ALWAYS})
    return said(Decision.ASK, Level.TAINT, "taint", why)


def _unattended(verdict: Verdict, policy: Policy, why: str) -> Verdict:
    """Nobody is there: the operator's word, which is recorded as such."""
    if policy.leaks_unattended is not Decision.ALLOW:
        return said(Decision.DENY, Level.TAINT, "taint", f"nobody is there to ask: {why}")
    if verdict.decision is not Decision.ALLOW:
        return verdict
    allowed = Reason(code="taint_unattended", sentence=f"the operator lets it go: {why}")
    return verdict.model_copy(update={"lifted": allowed})
