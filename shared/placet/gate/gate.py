"""The gate: one tool call in, `allow`, `ask` or `deny` out, always with a reason.

A pure function of recorded facts. What a tool computes per call (its tier, whether it needs
approval) is obtained once, journaled with the verdict, and never asked for again.
"""

from enum import StrEnum

from placet.domain.base import Value
from placet.domain.risk import ToolRisk


class Decision(StrEnum):
    """What the gate says."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Reason(Value):
    """Why: a stable code for programs and a sentence for people."""

    code: str
    sentence: str


class Facts(Value):
    """What is known about one call when it is judged."""

    tool: str
    risk: ToolRisk = ToolRisk.SAFE
    needs_approval: bool = False
    condition_failed: str | None = None
    """What the tool's own condition raised, if it did: then the call asks."""


class Policy(Value):
    """What the definition says."""

    approval_required_risk: ToolRisk = ToolRisk.HIGH


class Verdict(Value):
    """What was decided about one call."""

    decision: Decision
    reason: Reason


def judge(facts: Facts, policy: Policy) -> Verdict:
    """The verdict on one call; the first signal that speaks decides."""
    if facts.condition_failed is not None:
        return _ask(
            "condition_failed", f"the tool's own condition failed: {facts.condition_failed}"
        )
    if facts.needs_approval:
        return _ask("needs_approval", f"{facts.tool} is approved before each call")
    if facts.risk.reaches(policy.approval_required_risk):
        return _ask(
            "risk",
            f"{facts.tool} is {facts.risk}; {policy.approval_required_risk} and above need a person",
        )
    return Verdict(
        decision=Decision.ALLOW,
        reason=Reason(code="default", sentence=f"nothing asks for a person before {facts.tool}"),
    )


def _ask(code: str, sentence: str) -> Verdict:
    return Verdict(decision=Decision.ASK, reason=Reason(code=code, sentence=sentence))
