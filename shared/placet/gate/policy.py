"""What operator, agent and stage say about tools. The operator's word bounds the other two."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from placet.domain.audience import AnswerPolicy
from placet.domain.consent import ConsentRules, enough
from placet.domain.heritage import Bound
from placet.domain.risk import ToolRisk
from placet.errors import DefinitionError
from placet.gate.names import same_tool
from placet.gate.shell import SHIPPED, SafeList
from placet.gate.verdict import Decision

W = TypeVar("W", bound=StrEnum)


NOTHING = SafeList.of(())
SAFE = SafeList.of((SHIPPED,))


class SourcePolicy(StrEnum):
    """What needs a person among the tools of one source."""

    NEVER = "never"
    ALWAYS = "always"
    DESTRUCTIVE = "destructive"
    """What the source annotates as destructive."""
    UNLESS_READ_ONLY = "unless_read_only"
    """Whatever the source does not declare read-only."""


@dataclass(frozen=True, slots=True)
class Source:
    """The rules for one source of tools, such as an MCP server."""

    policy: SourcePolicy | None = None
    tools: Mapping[str, SourcePolicy] = field(default_factory=dict)
    """By the raw name, as the source calls the tool."""
    trusted: bool = False
    """The operator's word: its read-only hints count."""

    def about(self, raw: str) -> SourcePolicy | None:
        """The rule for one tool."""
        return self.tools.get(raw, self.policy)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's words: the operator's, the agent's, a stage's or an ancestor's."""

    tools: Mapping[str, Decision] = field(default_factory=dict)
    threshold: ToolRisk | None = None
    always_ask: frozenset[str] = frozenset()

    @classmethod
    def above(cls, bound: Bound) -> "Layer":
        """What a run above this one says."""
        denied = dict.fromkeys(bound.denies, Decision.DENY)
        return cls(denied, bound.threshold, frozenset(bound.always_ask))


@dataclass(frozen=True, slots=True)
class AllowList:
    """`allowed_tools`: exact names, `*` for what was loaded, `!name` for never unasked."""

    names: frozenset[str] = frozenset()
    negated: frozenset[str] = frozenset()
    everything: bool = False

    @classmethod
    def of(cls, words: Iterable[str]) -> "AllowList":
        """Raises DefinitionError: one string or anything else that is no list, or no name in it."""
        if isinstance(words, str):
            raise DefinitionError(f"allowed_tools is the text {words!r}; use a list of names")
        if not isinstance(words, Iterable):
            raise DefinitionError(f"allowed_tools is {words!r}; use a list of names")
        listed: list[Any] = list(words)
        odd = [word for word in listed if not isinstance(word, str) or word in ("", "!", "!*")]
        if odd:
            raise DefinitionError(f"allowed_tools: {odd[0]!r} is no name, `*` or `!name`")
        return cls(
            frozenset(same_tool(w) for w in listed if w[0] != "!" and w != "*"),
            frozenset(same_tool(w[1:]) for w in listed if w[0] == "!"),
            "*" in listed,
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that the gate goes by, besides the call and what was allowed before."""

    operator: Layer = Layer()
    agent: Layer = Layer()
    stage: Layer = Layer()
    ancestors: tuple[Layer, ...] = ()
    allowed: AllowList | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    operator_sources: Mapping[str, Source] = field(default_factory=dict)
    """The operator's own rules, which no definition lifts."""
    asks_by_default: bool = False
    """An allow list, a classifier or `HumanInTheLoop` is configured: what nothing decides asks."""
    classifies: bool = False
    trusts: bool = False
    safe: SafeList = SAFE
    isolated: bool = True
    """Whether the shell can't reach what is Placet's; otherwise the safe list is off."""
    unattended: Decision | None = None
    """Nobody is there: what becomes of an ask; None while somebody is."""
    consent: tuple[ConsentRules, ...] = ()
    """Whom this definition, and those of the runs above, ask about which call."""
    taint: bool = False
    """Whether outbound calls are held back that would carry data above their clearance."""
    leaks_unattended: Decision = Decision.DENY
    """What becomes of such a call while nobody is there."""

    def __post_init__(self) -> None:
        if self.allowed is not None:
            object.__setattr__(self, "asks_by_default", True)

    @property
    def threshold(self) -> ToolRisk:
        """The tier from which calls ask: the lowest that anybody with a say has named."""
        own = self.stage.threshold or self.agent.threshold
        bounds = [layer.threshold for layer in (self.operator, *self.ancestors)]
        said = [each for each in (own, *bounds) if each is not None]
        return min(said, key=lambda tier: tier.rank, default=ToolRisk.HIGH)

    def bound_reached_by(self, risk: ToolRisk) -> bool:
        """Whether a tier is at or above a threshold that the operator or an ancestor set."""
        bounds = [layer.threshold for layer in (self.operator, *self.ancestors)]
        return any(risk.reaches(bound) for bound in bounds if bound is not None)

    @property
    def bound(self) -> Bound:
        """What holds for every run below: denies, what asks each time, the threshold, the taint gate."""
        own = (self.operator, self.agent, self.stage)
        negated = self.allowed.negated if self.allowed is not None else frozenset()
        return Bound(
            denies=tuple(
                sorted(n for each in own for n, word in each.tools.items() if word is Decision.DENY)
            ),
            always_ask=tuple(sorted(negated.union(*(each.always_ask for each in own)))),
            threshold=self.threshold,
            taint=self.taint,
        )

    def names_people_for(self, tool: str, risk: ToolRisk) -> bool:
        """Whether somebody in particular is to say yes: no unattended run does without them."""
        return any(rules.about(tool, risk).names_people for rules in self.consent)

    def satisfied_by(self, asked: AnswerPolicy, tool: str, risk: ToolRisk) -> bool:
        """Whether what was allowed under that policy is enough for such a call by now."""
        return enough(asked, self.consent, tool, risk)

    def speaks_of(self, tool: str) -> bool:
        """Whether a permission or an always-ask rule names a tool."""
        layers = (self.operator, self.agent, self.stage, *self.ancestors)
        return bool(self.asks_always(tool)) or any(tool in layer.tools for layer in layers)

    def denied_by(self, tool: str) -> str | None:
        """The layer that denies a tool, if one does."""
        layers = {"operator": self.operator, "agent": self.agent, "stage": self.stage}
        named = [*layers.items(), *(("parent run", layer) for layer in self.ancestors)]
        return next((n for n, layer in named if layer.tools.get(tool) is Decision.DENY), None)

    def word_about(self, tool: str) -> Decision | None:
        """What a layer says of a tool: the stage's before the agent's, and the operator's bounds it."""
        own = self.stage.tools.get(tool, self.agent.tools.get(tool))
        bound = self.operator.tools.get(tool)
        said = {each for each in (own, bound) if each is not None}
        return Decision.ASK if Decision.ASK in said else next(iter(said), None)

    def asks_always(self, tool: str) -> str | None:
        """The rule by which a tool asks before each call, if there is one."""
        if self.allowed is not None and tool in self.allowed.negated:
            return f"`!{tool}` in allowed_tools"
        layers = (self.operator, *self.ancestors, self.agent, self.stage)
        if any(tool in layer.always_ask for layer in layers):
            return "always_ask"
        return None


def words(kind: type[W], given: Mapping[str, str], where: str) -> dict[str, W]:
    """Policy words by tool.

    Raises:
        DefinitionError: a word that is none of this kind, no table, or one tool by both of its names;
            says the place, the key and what is allowed.
    """
    if not isinstance(given, Mapping):
        raise DefinitionError(f"{where} is {given!r}; use a table of {', '.join(kind)} by tool")
    found: dict[str, W] = {}
    for key, value in given.items():
        if same_tool(key) in found:
            raise DefinitionError(f"{where}: bash and shell are one tool; say it once")
        found[same_tool(key)] = word(kind, value, f"{where}.{key}")
    return found


def word(kind: type[W], value: object, where: str) -> W:
    """One policy word. Raises DefinitionError as `words` does."""
    try:
        return kind(value)  # type: ignore[arg-type]
    except ValueError:
        allowed = ", ".join(kind)
        raise DefinitionError(f"{where} = {value!r}: use one of {allowed}") from None
