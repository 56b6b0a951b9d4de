"""From what author and operator wrote to the policy that the gate goes by; a slip is named, not guessed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from placet.agents.builtins import BUILTINS
from placet.agents.interventions import (
    HumanInTheLoop,
    check_classifier,
    warn_of_idle_classifier,
)
from placet.agents.operator import Operator
from placet.errors import DefinitionError
from placet.gate import AllowList, Decision, Layer, Policy, Source, SourcePolicy
from placet.gate.names import same_tool
from placet.gate.policy import word, words
from placet.gate.shell import Layer as SafeLayer
from placet.gate.shell import SafeList
from placet.gate.shell import Source as SafeSource

if TYPE_CHECKING:
    from placet.agents.agent import Agent

_BUILTINS = frozenset({*BUILTINS, "delegate"})
SourceRule = str | Mapping[str, Any] | Source


def policy_of(agent: "Agent") -> Policy:
    """The policy of one definition under its operator.

    Raises:
        DefinitionError: a misspelt word, an entry that names no tool, or a rule said twice.
    """
    where = f"agent {agent.name}"
    known = {same_tool(name) for name in agent.toolbox}
    permissions = words(Decision, agent.tool_permissions, f"{where}: tool_permissions")
    below = _below(agent)  # what holds for them too may be said here
    denied = {name for name, word in permissions.items() if word is Decision.DENY} & below
    _check_names(where, "tool_permissions", set(permissions) - denied, known)
    allowed = _allowed(agent, where)
    if allowed:
        _check_names(where, "allowed_tools", allowed.names | (allowed.negated - below), known)
    _check_classifiers(agent, where, allowed)
    intervention = agent.human_in_the_loop
    operator = agent.operator
    return Policy(
        operator=operator.layer,
        agent=Layer(permissions, agent.approval_required_risk),
        allowed=allowed,
        sources=_sources(agent, where),
        operator_sources=operator.bounding({}),
        asks_by_default=intervention is not None or agent.judge is not None,
        classifies=agent.judge is not None,
        taint=agent.taint or operator.tables.taint.enabled,
        leaks_unattended=Decision(operator.tables.taint.unattended),
        trusts=intervention is not None and intervention.enable_trust,
        consent=(agent.human_input.rules,),
        isolated=not operator.tables.shell.unsandboxed,
        safe=SafeList.of(
            [*operator.safe_layers(agent.name), _blueprint(agent, where)],
            allow_blueprint=operator.allows_blueprint(agent.name),
        ),
    )


def _below(agent: "Agent") -> set[str]:
    """The tools of the definitions that it may delegate to, as far as they are given themselves."""
    found: dict[int, Agent] = {}
    left = [agent]
    while left:
        given = [each for each in left.pop().delegates if not isinstance(each, str)]
        left += [each for each in given if id(each) not in found]
        found |= {id(each): each for each in given}
    return {same_tool(name) for each in found.values() for name in each.toolbox}


def unmatched(operator: Operator, agents: Collection["Agent"]) -> Sequence[str]:
    """What the operator says of tools, sources and definitions that these agents do not have.

    It may be meant for others; or it is a typing error, and denies nothing.
    """
    tables = operator.tables
    raw = _raw_names(agents)
    tools = {same_tool(name) for agent in agents for name in agent.toolbox}
    said: list[tuple[str, Iterable[str], Collection[str]]] = [
        ("tool_permissions", map(same_tool, tables.tool_permissions), tools | _BUILTINS),
        ("limits.always_ask", map(same_tool, tables.limits.always_ask), tools | _BUILTINS),
        ("sources", tables.sources, raw),
        ("agent_safe_commands", tables.agent_safe_commands, {agent.name for agent in agents}),
    ]
    said += [
        (f"sources.{name}.tools", tables.sources[name].tools, raw[name])
        for name in sorted(set(tables.sources) & set(raw))
    ]
    return [
        f"{operator.file}: {rule} names {name!r}, which no definition has that is loaded"
        for rule, named, known in said
        for name in named
        if name not in known
    ]


def policy_for(operator: Operator, name: str = "") -> Policy:
    """What the operator alone says, about a definition of this name that says nothing."""
    return Policy(
        operator=operator.layer,
        sources=operator.bounding({}),
        safe=SafeList.of(operator.safe_layers(name)),
        isolated=not operator.tables.shell.unsandboxed,
    )


def _allowed(agent: "Agent", where: str) -> AllowList | None:
    interventions: Any = agent.interventions
    if not isinstance(interventions, Sequence) or not all(
        isinstance(each, HumanInTheLoop) for each in interventions
    ):
        raise DefinitionError(f"{where}: interventions takes a list with one HumanInTheLoop")
    if len(interventions) > 1:
        raise DefinitionError(f"{where}: two interventions are called {interventions[0].name!r}")
    own = AllowList.of(agent.allowed_tools) if agent.allowed_tools is not None else None
    if interventions and own is not None:
        raise DefinitionError(f"{where}: allowed_tools is said by the agent and by HumanInTheLoop")
    return interventions[0].listed if interventions else own


def _check_classifiers(agent: "Agent", where: str, allowed: AllowList | None) -> None:
    check_classifier(agent.classifier)
    intervention = agent.human_in_the_loop
    if agent.classifier and intervention is not None and intervention.classifier:
        raise DefinitionError(f"{where}: classifier is said by the agent and by HumanInTheLoop")
    if agent.classifier and allowed and allowed.everything:
        warn_of_idle_classifier(where, stacklevel=8)


def _check_names(
    where: str, rule: str, named: Iterable[str], known: Collection[str], kind: str = "tools"
) -> None:
    unknown = sorted(set(named) - set(known))
    if unknown:
        listed = ", ".join(sorted(known)) or "none"
        raise DefinitionError(f"{where}: {rule} names {unknown[0]!r}; its {kind} are {listed}")


def _sources(agent: "Agent", where: str) -> Mapping[str, Source]:
    if not isinstance(agent.sources, Mapping):
        raise DefinitionError(f"{where}: sources is {agent.sources!r}; use a table by source")
    raw = _raw_names([agent])
    _check_names(where, "sources", agent.sources, raw, "sources")
    found: dict[str, Source] = {}
    for name, rule in agent.sources.items():
        source = source_of(rule, f"{where}: sources.{name}")
        _check_names(where, f"sources.{name}.tools", source.tools, raw[name])
        found[name] = source
    return agent.operator.bounding(found)


def _raw_names(agents: Iterable["Agent"]) -> Mapping[str, Collection[str]]:
    """What each source calls its tools."""
    raw: dict[str, set[str]] = {}
    for tool in (tool for agent in agents for tool in agent.toolbox.values()):
        if tool.source:
            raw.setdefault(tool.source, set()).add(tool.raw)
    return raw


def source_of(rule: SourceRule, where: str) -> Source:
    """The rules for one source, from a word or a table. Raises DefinitionError."""
    if isinstance(rule, Source):
        return replace(rule, trusted=False)  # that is the operator's to say
    if not isinstance(rule, Mapping):
        return Source(word(SourcePolicy, rule, where))
    if odd := sorted(set(rule) - {"policy", "tools"}):
        raise DefinitionError(f"{where}.{odd[0]}: use policy and tools")
    given = rule.get("policy")
    policy = None if given is None else word(SourcePolicy, given, f"{where}.policy")
    listed = rule.get("tools", {})
    if not isinstance(listed, Mapping):
        raise DefinitionError(f"{where}.tools is {listed!r}; use a table of policies by tool")
    tools = {
        raw: word(SourcePolicy, value, f"{where}.tools.{raw}") for raw, value in listed.items()
    }
    return Source(policy, tools)


def _blueprint(agent: "Agent", where: str) -> SafeLayer:
    given: Any = agent.safe_commands
    if not isinstance(given, Mapping):
        raise DefinitionError(
            f"{where}: safe_commands is {given!r}; use a table of shell and tools"
        )
    if odd := sorted(set(given) - {"shell", "tools"}):
        raise DefinitionError(f"{where}: safe_commands.{odd[0]}: use shell and tools")
    for kind, entries in given.items():
        listed = isinstance(entries, Sequence) and not isinstance(entries, str)
        if not listed or not all(isinstance(entry, str) for entry in entries):
            raise DefinitionError(
                f"{where}: safe_commands.{kind} is {entries!r}; use a list of texts"
            )
    shell, tools = (tuple(given.get(kind, ())) for kind in ("shell", "tools"))
    return SafeLayer(SafeSource.BLUEPRINT, shell, tools, where)
