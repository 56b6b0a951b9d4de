"""Whom a definition asks about which call: by the definition, from a risk tier up, and by tool."""

import operator
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, field_validator

from placet.domain.audience import (
    MOST_STEPS,
    AnswerPolicy,
    EscalationStep,
    Label,
    Names,
    Priority,
    Seconds,
)
from placet.domain.base import Value
from placet.domain.risk import ToolRisk


class ConsentRule(Value):
    """Who may answer beside the initiator, how many must say yes, and what time does about it."""

    approvers: Names = ()
    quorum: int = Field(default=1, ge=1, le=20, strict=True)
    """Distinct people whose yes a call takes; one no settles it."""
    exclude_initiator: bool = Field(default=False, strict=True)
    """Four eyes: whoever started the run can't approve, but may refuse."""
    reminders: Annotated[tuple[Seconds, ...], Field(max_length=MOST_STEPS)] = ()
    """Seconds after it was asked."""
    escalation: Annotated[tuple[EscalationStep, ...], Field(max_length=MOST_STEPS)] = ()
    """What happens while nobody answers, in this order."""
    priority: Priority = Priority.NORMAL
    labels: Annotated[tuple[Label, ...], Field(max_length=20)] = ()
    """Words to find its questions by."""

    @property
    def policy(self) -> AnswerPolicy:
        """As a request carries it. Raises ValueError for steps out of order."""
        return AnswerPolicy(
            quorum=self.quorum,
            exclude_initiator=self.exclude_initiator,
            reminders=self.reminders,
            escalation=self.escalation,
        )

    @property
    def names_people(self) -> bool:
        """Whether it matters who says yes: no run that nobody watches does without them."""
        return bool(self.approvers) or self.policy.strict

    def within(self, wider: "ConsentRule") -> "ConsentRule":
        """This rule inside a wider one: nowhere looser, and more particular where it says something."""
        return ConsentRule(
            approvers=self.approvers or wider.approvers,
            quorum=max(self.quorum, wider.quorum),
            exclude_initiator=self.exclude_initiator or wider.exclude_initiator,
            reminders=self.reminders or wider.reminders,
            escalation=self.escalation or wider.escalation,
            priority=wider.priority.raised_to(self.priority),
            labels=tuple(dict.fromkeys((*wider.labels, *self.labels)))[:20],
        )

    def below(self, above: "ConsentRule") -> "ConsentRule":
        """This rule in a run below one with that rule: as many people, and the initiator no sooner."""
        strict = above.policy.strict and not self.approvers
        return self.model_copy(
            update={
                "quorum": max(self.quorum, above.quorum),
                "exclude_initiator": self.exclude_initiator or above.exclude_initiator,
                "approvers": above.approvers if strict else self.approvers,
            }
        )


ANYBODY = ConsentRule()


class ConsentRules(Value):
    """All the rules of one definition."""

    general: ConsentRule = Field(default=ANYBODY, exclude_if=lambda rule: rule == ANYBODY)
    tiers: Mapping[ToolRisk, ConsentRule] = Field(default={}, exclude_if=operator.not_)
    """For calls of this tier and above."""
    tools: Mapping[str, ConsentRule] = Field(default={}, exclude_if=operator.not_)
    """By tool; `bash` and `shell` are one."""

    @field_validator("tiers", "tools")
    @classmethod
    def _copied(cls, given: Mapping[str, ConsentRule]) -> Mapping[str, ConsentRule]:
        return dict(given)

    def __hash__(self) -> int:
        """What a run goes by is remembered by it; equal rules have equal keys."""
        return hash((self.general, frozenset(self.tiers), frozenset(self.tools)))

    def about(self, tool: str, risk: ToolRisk) -> ConsentRule:
        """The rule for a call: inside the definition's that of each tier up to its own, then the tool's."""
        rule = self.general
        for tier in ToolRisk:
            if tier in self.tiers and risk.reaches(tier):
                rule = self.tiers[tier].within(rule)
        return self.tools[tool].within(rule) if tool in self.tools else rule


NO_RULES = ConsentRules()


def enough(asked: AnswerPolicy, consent: Sequence[ConsentRules], tool: str, risk: ToolRisk) -> bool:
    """Whether a yes under that policy is one under all of these rules, for such a call."""
    return all(rules.about(tool, risk).policy.satisfied_by(asked) for rules in consent)


def rule_for(
    consent: Sequence[ConsentRules], tool: str, risk: ToolRisk, initiator: str | None
) -> ConsentRule:
    """The rule for a call of a run: its definition's, nowhere looser than those of the runs above it.

    `consent` are the rules of those runs from the root down, and last its own.

    A definition that names nobody, where nobody started the run either, asks whom the nearest run above
    names: to delegate is no way around them.
    """
    *above, own = consent or (NO_RULES,)
    rule = own.about(tool, risk)
    for each in above:
        rule = rule.below(each.about(tool, risk))
    if not rule.approvers and initiator is None:
        named = (each.about(tool, risk).approvers for each in reversed(above))
        rule = rule.model_copy(update={"approvers": next((n for n in named if n), ())})
    return rule
