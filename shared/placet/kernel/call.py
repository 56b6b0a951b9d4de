"""How far one call of the model has come, and the questions that it waited for."""

from dataclasses import dataclass, field
from typing import Any

from placet.domain.audience import ONE_YES, AnswerPolicy
from placet.domain.heritage import ChildEnd
from placet.domain.interaction import ApprovalDecision, InputState, Kind, ToolCall
from placet.domain.outcome import Outcome
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.gate import Decision, Facts, Level, Verdict
from placet.kernel.journal import Delegation, ResourceDrifted, ToolChanged
from placet.kernel.turns import CallResult


@dataclass(slots=True)
class Ask:
    """One question that a call is waiting for or has had answered."""

    input_id: str
    kind: Kind
    message: str
    digest: str
    number: int | None
    fingerprint: str | None = None
    """Of what the call acts on, as it was when the question was put."""
    resolution: Resolution | None = None
    facts: Facts | None = None
    verdict: Verdict | None = None
    """Under what it was asked."""
    judged: bool | None = None
    """What the agent's own evaluator made of the answer, where it has one."""
    changed_to: str = ""
    """A review of a changed tool: the digest of its schema when it was asked."""
    stops: bool = False
    """Whether the run stops if nobody answers."""
    policy: AnswerPolicy = ONE_YES
    """How many must say yes, and who can't."""

    @property
    def approved(self) -> bool:
        """Whether a person said yes to a call."""
        if self.outcome is None or self.outcome.state is not InputState.ANSWERED:
            return False
        return self.outcome.decision is ApprovalDecision.APPROVED or self.judged is True

    @property
    def stopped(self) -> bool:
        """Whether nobody answered, and the run stops for it."""
        return self.stops and self.outcome is not None and self.outcome.state is InputState.EXPIRED

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, once it has."""
        return self.resolution.outcome if self.resolution else None


@dataclass(slots=True)
class CallState:
    """How far one call of the current turn has come."""

    call: ToolCall
    verdict: Verdict | None = None
    risk: ToolRisk = ToolRisk.SAFE
    schema_digest: str = ""
    facts: Facts | None = None
    """What the gate went by."""
    approval: Ask | None = None
    review: Ask | None = None
    """The last review, if the call's outcome was ever in doubt."""
    change: Ask | None = None
    """The last review of its tool, if that was deployed with another schema meanwhile."""
    asks: list[Ask] = field(default_factory=list)
    """The tool's own asks, in order."""
    children: tuple[Delegation, ...] = ()
    """The runs that it delegated to, in the order of its tasks."""
    ends: dict[str, ChildEnd] = field(default_factory=dict)
    """How those ended that have, by their run."""
    drift: str = ""
    """What the person approved and what it is now, where that differs."""
    approvals: int = 0
    """How often a person was asked about it."""
    changes: int = 0
    """How often a person was shown what of its tool had changed."""
    proposed: ToolCall | None = None
    """What the model wanted, where a person changed the arguments."""
    attempt: int = 0
    in_doubt: bool = False
    """Started, and neither finished nor waiting for one of its own asks."""
    result: CallResult | None = None

    @property
    def asked_under(self) -> AnswerPolicy:
        """How many had to say yes to it, and who could not, when it was asked about."""
        return self.approval.policy if self.approval else ONE_YES

    def stricter(self, facts: Facts, verdict: Verdict) -> bool:
        """Whether the call, as a person changed it, asks for more than they were asked under."""
        asked = self.approval
        if asked is None or asked.facts is None or asked.verdict is None:
            return True
        if facts.risk.rank > asked.facts.risk.rank:
            return True
        if verdict.decision is not Decision.ASK or verdict.level not in (Level.ALWAYS, Level.TAINT):
            return False
        return verdict.level is not asked.verdict.level or facts.taint.above(asked.facts.taint)

    def lose(self, grant_id: str) -> None:
        """A grant is gone: a call that it covers, and that has not started, is judged again."""
        if (
            self.verdict
            and grant_id in self.verdict.grants
            and not self.attempt
            and not self.result
        ):
            self.verdict = None

    def drifted(self, entry: ResourceDrifted) -> None:
        """The yes was for something else: it does not count, and the call is asked about again."""
        self.approval = None
        self.drift = f"{entry.was} when it was approved, {entry.now} now"

    def edited(self, args: dict[str, Any]) -> None:
        """A person changed the arguments: the call as it is now is judged again."""
        self.proposed = self.proposed or self.call
        self.call, self.verdict = self.call.model_copy(update={"args": args}), None

    def accepted(self, entry: ToolChanged) -> None:
        """A person took the call over to its tool as it is now: it is judged, and asked about, anew."""
        if entry.args is not None:
            self.proposed = self.proposed or self.call
            self.call = self.call.model_copy(update={"args": entry.args})
        self.schema_digest, self.facts = entry.now, None
        self.verdict, self.approval = None, None

    def outlived(self, schema_digest: str) -> bool:
        """Whether it was judged for a tool that has another schema or description by now."""
        return bool(self.schema_digest) and self.schema_digest != schema_digest

    @property
    def questions(self) -> tuple[Ask, ...]:
        """Every question that was put because of it, open or not."""
        every = (self.approval, self.review, self.change, *self.asks)
        return tuple(ask for ask in every if ask is not None)

    @property
    def open_ask(self) -> Ask | None:
        """The question it waits for."""
        return next((ask for ask in self.questions if ask.resolution is None), None)

    @property
    def waits(self) -> bool:
        """Whether it waits for a person or for a child run."""
        return self.open_ask is not None or len(self.ends) < len(self.children)


def answered(outcome: Outcome | None) -> bool:
    """Whether a person said yes or gave content."""
    return outcome is not None and outcome.state is InputState.ANSWERED
