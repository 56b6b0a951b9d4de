"""What an agent says of the people that it asks."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pydantic import ValidationError

from placet.domain.audience import EscalationStep
from placet.domain.consent import ConsentRule, ConsentRules
from placet.domain.risk import ToolRisk
from placet.domain.standing import GROUP
from placet.errors import DefinitionError
from placet.gate.names import same_tool

MIN_EXPIRY, MAX_EXPIRY = 60, 2_592_000
OnExpiry = Literal["deny", "stop", "escalate"]
Rule = ConsentRule | Mapping[str, Any]


@dataclass(frozen=True)
class HumanInput:
    """Whom it asks, for how long a question stands, and what follows then.

    Args:
        expires_in_seconds: 60 seconds to 30 days; 7 days unless the operator says otherwise.
        approvers: who may answer besides the initiator.
        on_expiry: where nobody answers: `deny` tells the model so, `stop` ends the run, `escalate`
            takes the next step of `escalation`, which has as long again.
        quorum: distinct people whose yes an approval takes.
        exclude_initiator: four eyes: whoever started the run can't approve, but may refuse.
        reminders: seconds after the question was asked.
        escalation: steps, such as `{"after_seconds": 3600, "add": ["group:leads"]}`.
        priority: `low`, `normal`, `high` or `urgent`.
        labels: words to find its questions by.
        tiers: stricter rules for calls of a tier and above, such as `{"critical": {"quorum": 2}}`.
        tools: rules for single tools, by name.

    Raises:
        DefinitionError: a value that can't be, or a rule that nobody could ever meet.
    """

    expires_in_seconds: int | None = None
    approvers: Sequence[str] = ()
    on_expiry: OnExpiry = "deny"
    quorum: int = 1
    exclude_initiator: bool = False
    reminders: Sequence[int] = ()
    escalation: Sequence[EscalationStep | Mapping[str, Any]] = ()
    priority: str = "normal"
    labels: Sequence[str] = ()
    tiers: Mapping[str, Rule] = field(default_factory=dict)
    tools: Mapping[str, Rule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seconds: Any = self.expires_in_seconds
        fits = isinstance(seconds, int) and not isinstance(seconds, bool)
        if seconds is not None and not (fits and MIN_EXPIRY <= seconds <= MAX_EXPIRY):
            raise DefinitionError(
                f"human_input.expires_in_seconds is {seconds!r}; use 60 to 2592000 (30 days)"
            )
        if self.on_expiry not in ("deny", "stop", "escalate"):
            raise DefinitionError(
                f"human_input.on_expiry is {self.on_expiry!r}; use one of deny, stop, escalate"
            )
        for where, rule in _every(self.rules):
            _check_can_be_met(where, rule)
            _check_steps(where, rule, self.on_expiry)

    @cached_property
    def rules(self) -> ConsentRules:
        """Whom it asks about which call. Raises DefinitionError."""
        general = {
            "approvers": self.approvers,
            "quorum": self.quorum,
            "exclude_initiator": self.exclude_initiator,
            "reminders": self.reminders,
            "escalation": self.escalation,
            "priority": self.priority,
            "labels": self.labels,
        }
        return ConsentRules(
            general=_rule("human_input", general),
            tiers={
                _tier(name): _rule(f"human_input.tiers.{name}", rule)
                for name, rule in _table("tiers", self.tiers).items()
            },
            tools={
                same_tool(name): _rule(f"human_input.tools.{name}", rule)
                for name, rule in _table("tools", self.tools).items()
            },
        )

    @property
    def is_strict(self) -> bool:
        """Whether some rule has a quorum or four eyes."""
        return any(rule.policy.strict for _, rule in _every(self.rules))

    def check_tools(self, known: Collection[str]) -> None:
        """Whether its rules name tools that there are. Raises DefinitionError."""
        if odd := sorted(set(self.rules.tools) - {same_tool(name) for name in known}):
            listed = ", ".join(sorted(known)) or "none"
            raise DefinitionError(f"human_input.tools names {odd[0]!r}; its tools are {listed}")


def _table(where: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise DefinitionError(f"human_input.{where} is {given!r}; use a table of rules by name")
    return given


def _tier(name: str) -> ToolRisk:
    try:
        return ToolRisk(name)
    except ValueError:
        raise DefinitionError(
            f"human_input.tiers has {name!r}; the tiers are {', '.join(ToolRisk)}"
        ) from None


def _rule(where: str, given: Any) -> ConsentRule:
    if isinstance(given, ConsentRule):
        return given
    if not isinstance(given, Mapping):
        raise DefinitionError(f"{where} is {given!r}; use a table")
    if odd := sorted(set(given) - set(ConsentRule.model_fields)):
        known = ", ".join(ConsentRule.model_fields)
        raise DefinitionError(f"{where}: there is no {odd[0]!r}; use one of {known}")
    try:
        rule = ConsentRule.model_validate({k: _plain(v) for k, v in given.items()})
        _ = rule.policy
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, (where, *first["loc"])))
        raise DefinitionError(f"{at}: {first['msg']}") from None
    return rule


def _plain(value: Any) -> Any:
    """One string is no list of names, whatever pydantic would make of it."""
    listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return tuple(value) if listed else value


def _every(rules: ConsentRules) -> Iterator[tuple[str, ConsentRule]]:
    """Each rule as it is in force somewhere: the general one, each tier's, each tool's own at least."""
    yield "human_input", rules.general
    for tier in rules.tiers:
        yield f"human_input.tiers.{tier}", rules.about("", tier)
    for tool in rules.tools:
        yield f"human_input.tools.{tool}", rules.about(tool, ToolRisk.SAFE)


def _check_can_be_met(where: str, rule: ConsentRule) -> None:
    """A rule that nobody could meet, as far as that can be seen: groups and channels may be anybody."""
    if not rule.policy.strict:
        return
    named = {*rule.approvers, *rule.policy.added}
    if any(name.startswith(GROUP) for name in named):
        return
    people = {name for name in named if not name.startswith("service:")}
    most = len(people) + (0 if rule.exclude_initiator else 1)
    if most < rule.quorum or not people:
        who = "approvers" if rule.exclude_initiator else "approvers and the initiator"
        raise DefinitionError(
            f"{where}: {rule.quorum} people must say yes, and its {who} are {most}; name more approvers"
        )


def _check_steps(where: str, rule: ConsentRule, on_expiry: str) -> None:
    if on_expiry == "escalate" and not rule.escalation:
        raise DefinitionError(f"{where}: on_expiry escalate needs steps in escalation")
    if on_expiry != "escalate" and any(step.after_seconds is None for step in rule.escalation):
        raise DefinitionError(
            f"{where}.escalation: a step without after_seconds needs on_expiry escalate"
        )
