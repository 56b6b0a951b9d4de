"""What a prompt offers beyond this one time, in words that name it, and the grant that an answer gives."""

from dataclasses import dataclass

from placet.domain.audience import ONE_YES, AnswerPolicy
from placet.domain.grant import Grant
from placet.domain.interaction import ApprovalDecision
from placet.domain.label import Label
from placet.domain.outcome import Outcome, Scope
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.gate.facts import Facts, Role
from placet.gate.shell import DEFAULTS, grants
from placet.gate.verdict import Level, Verdict
from placet.ids import derived_id

SHOWN = 3
"""Keys that an option names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be granted with a yes."""

    scopes: tuple[Scope, ...] = ("once",)
    keys: tuple[str, ...] = ()
    """Of a shell line: the commands that a grant would name."""
    exact: bool = False
    """A grant covers these very arguments unless the answer says `named`."""
    clearance: Label | None = None
    """What a wider yes raises: how far the run's data may go with this tool."""
    trustable: bool = False
    """Whether the tool may be trusted: never one that asks each time, nor a shell."""
    note: str = ""
    """Why nothing can be granted, where nothing can."""

    def options(self, tool: str) -> tuple[str, ...]:
        """The choices in their order: the scopes, then deny. Each scoped one says what it grants."""
        if self.clearance is not None:
            return (
                "Allow once",
                f"Allow {self.clearance} data with {tool} for this session",
                "Deny",
            )
        named = [f"Allow {self._what(tool)} for this {scope}" for scope in self.scopes[1:]]
        return (f"Allow once ({self.note})" if self.note else "Allow once", *named, "Deny")

    def _what(self, tool: str) -> str:
        if self.exact:
            return "exactly this call"
        listed = ", ".join(f"`{key}` with any arguments" for key in self.keys[:SHOWN])
        more = f", +{len(self.keys) - SHOWN} more" if len(self.keys) > SHOWN else ""
        return f"{listed}{more}" if listed else f"{tool} with any arguments"


def offer(facts: Facts, verdict: Verdict) -> Offer:
    """What the prompt for this call offers."""
    if verdict.level is Level.TAINT:
        return Offer(("once", "run"), clearance=facts.taint)
    if verdict.every_time:
        return Offer(note="this call is asked about each time; nothing can be granted")
    if facts.role is not Role.SHELL:
        exact = facts.risk.reaches(ToolRisk.HIGH)
        return Offer(("once", "stage", "run"), exact=exact, trustable=True)
    keys = grants(facts.line or "")
    if keys is None:
        return Offer(note="no command on this line can be granted; it will ask again")
    outside = any(key.split(" ")[0] not in DEFAULTS for key in keys)
    exact = outside or facts.risk.reaches(ToolRisk.HIGH)
    return Offer(("once", "stage", "run"), keys, exact)


def granted(
    facts: Facts, offered: Offer, resolution: Resolution, asked: AnswerPolicy = ONE_YES
) -> Grant | None:
    """The grant that this answer gives: what the prompt offered, never more; None for a plain yes or a no.

    `asked` is under what the question was put.
    """
    outcome: Outcome = resolution.outcome
    approved = outcome.decision is ApprovalDecision.APPROVED
    if not approved or outcome.scope in (None, "once") or outcome.scope not in offered.scopes:
        return None
    exact = offered.exact if outcome.grant is None else outcome.grant == "exact"
    return Grant(
        id=derived_id("grt", resolution.input_id),
        tool=facts.tool,
        schema_digest=facts.schema_digest,
        keys=() if exact else offered.keys,
        clearance=offered.clearance,
        exact=facts.digest if exact else "",
        risk=facts.risk,
        scope=outcome.scope,
        stage=facts.stage,
        by=resolution.by,
        asked=asked,
        at=resolution.at,
        input_id=resolution.input_id,
    )
