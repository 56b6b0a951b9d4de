"""What holds of the gate whatever the call, the policy and what was allowed before."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.domain.grant import Grant
from placet.domain.label import Label
from placet.domain.risk import ToolRisk
from placet.gate import (
    AllowList,
    Assessment,
    Decision,
    Facts,
    Layer,
    Level,
    Policy,
    Role,
    Source,
    SourcePolicy,
    Standing,
    Verdict,
    gate,
    offer,
)
from placet.gate.shell import SHIPPED, SafeList
from placet.gate.shell import Layer as SafeLayer
from placet.gate.shell import Source as SafeSource
from tests.unit.gate.made import grant

pytestmark = pytest.mark.unit

NAMES = ("drop", "bash", "write_file", "hub__drop")
LINES = ("ls", "ls && mkdir x", "mkdir x", "curl x | sh", "ls > f", "ls $(id)", "", "'")
DIGESTS = ("", "d1", "d2")
ALL = AllowList.of(["*", *NAMES])
EVERYTHING_SAFE = SafeList.of(
    [SHIPPED, SafeLayer(SafeSource.CONFIG, ("mkdir", "curl", "sh"), ("drop", "hub__drop"))]
)
STRICT = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}

one_of = st.sampled_from
names = one_of(NAMES)
maybe_bool = one_of([None, True, False])
risks = one_of(list(ToolRisk))
assessments = st.none() | st.builds(
    Assessment, asks=st.booleans(), reason=st.text(max_size=5), failed=st.booleans()
)


def words(*allowed: Decision) -> st.SearchStrategy[dict[str, Decision]]:
    return st.dictionaries(names, one_of(allowed or list(Decision)), max_size=3)


labels = one_of(list(Label))
facts = st.builds(
    Facts,
    tool=names | st.text(max_size=20),
    role=one_of(list(Role)),
    risk=risks,
    needs_approval=st.booleans(),
    condition_failed=one_of([None, None, None, "KeyError: 'x'"]),
    source=one_of([None, None, "hub", "lab"]),
    raw=one_of(["drop", "list", ""]),
    read_only=maybe_bool,
    destructive=maybe_bool,
    loaded=st.booleans(),
    line=st.none() | one_of(LINES) | st.text(max_size=30),
    digest=one_of(DIGESTS),
    schema_digest=one_of(["", "s1", "s2"]),
    stage=one_of(["main", "build"]),
    assessment=assessments,
    outbound=st.booleans(),
    clearance=labels,
    taint=labels,
)
layers = st.builds(
    Layer, words(), st.none() | risks, st.frozensets(names, max_size=1) | st.just(frozenset())
)
allow_lists = st.none() | st.builds(
    AllowList, st.frozensets(names), st.frozensets(names, max_size=2), st.booleans()
)
rules = one_of(list(SourcePolicy))
sources = st.dictionaries(
    one_of(["hub", "lab"]),
    st.builds(
        Source,
        st.none() | rules,
        st.dictionaries(one_of(["drop", "list"]), rules, max_size=2),
        st.booleans(),
    ),
)
safe_lists = one_of([SafeList.of(()), SafeList.of((SHIPPED,)), EVERYTHING_SAFE])
policies = st.builds(
    Policy,
    operator=layers,
    agent=layers,
    stage=layers,
    ancestors=st.lists(layers, max_size=2).map(tuple),
    allowed=allow_lists,
    sources=sources,
    asks_by_default=st.booleans(),
    classifies=st.booleans(),
    trusts=st.booleans(),
    safe=safe_lists,
    isolated=st.booleans(),
    unattended=one_of([None, *Decision]),
    taint=st.booleans(),
    leaks_unattended=one_of(list(Decision)),
)
grants = st.builds(
    grant,
    tool=names,
    schema_digest=one_of(["", "s1", "s2"]),
    keys=one_of([(), ("ls",), ("mkdir",), ("curl",)]),
    exact=one_of(DIGESTS),
    risk=risks,
    scope=one_of(["stage", "run"]),
    stage=one_of(["main", "build"]),
)
standings = st.builds(
    Standing,
    grants=st.lists(grants, max_size=3),
    trusted=st.dictionaries(names, one_of(["", "s1", "s2"])),
)


@given(facts, policies, standings)
def test_the_gate_never_raises_always_says_why_and_says_the_same_of_the_same(
    call: Facts, policy: Policy, standing: Standing
) -> None:
    verdict = gate(call, policy, standing)
    assert verdict == gate(call, policy, standing)
    if verdict is None:
        assert policy.classifies
        assert call.assessment is None
        return
    assert verdict.reason.code.isidentifier()
    assert verdict.reason.sentence.strip()
    assert (verdict.lifted is None) or verdict.decision is Decision.ALLOW
    assert set(verdict.grants) <= {each.id for each in standing.grants}


@given(st.text(), st.text())
def test_any_string_is_a_tool_or_a_line_to_the_gate_and_to_the_prompt(name: str, line: str) -> None:
    call = Facts(tool=name, role=Role.SHELL, line=line)
    verdict = gate(call, Policy(asks_by_default=True, agent=Layer({"write_file": Decision.DENY})))
    assert verdict is not None
    assert offer(call, verdict).options(name)[-1] == "Deny"


def by_layer(policy: Policy, **changed: Callable[[Layer], Layer]) -> Policy:
    return replace(policy, **{name: how(getattr(policy, name)) for name, how in changed.items()})  # type: ignore[arg-type]


def allowing(layer: Layer) -> Layer:
    """The layer with an allow for every tool of which it says nothing."""
    return replace(layer, tools={**dict.fromkeys(NAMES, Decision.ALLOW), **layer.tools})


RELAXED: dict[str, Callable[[Policy], Policy]] = {
    "allowed by the operator": lambda p: by_layer(p, operator=allowing),
    "allowed by the agent": lambda p: by_layer(p, agent=allowing),
    "allowed by the stage": lambda p: by_layer(p, stage=allowing),
    "listed": lambda p: replace(
        p, allowed=replace(ALL, negated=p.allowed.negated) if p.allowed else ALL
    ),
    "unattended": lambda p: replace(p, unattended=Decision.ALLOW),
    "trusts": lambda p: replace(p, trusts=True),
    "safe": lambda p: replace(p, safe=EVERYTHING_SAFE, isolated=True),
    "judged harmless": lambda p: replace(p, classifies=True),
}


@given(
    facts,
    policies.map(lambda p: replace(p, unattended=None)),
    standings,
    st.sets(one_of(sorted(RELAXED)), min_size=1),
)
def test_nothing_that_allows_ever_lifts_a_deny_or_what_is_always_asked_about(
    call: Facts, policy: Policy, standing: Standing, chosen: set[str]
) -> None:
    before = gate(call, policy)
    if before is None or before.level not in (Level.DENY, Level.ALWAYS):
        return
    harmless = call.model_copy(update={"assessment": Assessment(asks=False)})
    for name in chosen:
        policy = RELAXED[name](policy)
    after = gate(harmless, policy, standing)
    assert after is not None
    assert after.decision is not Decision.ALLOW
    assert strictness(after) >= strictness(before)


@given(facts, policies, standings)
def test_a_classifier_changes_nothing_that_another_level_decides(
    call: Facts, policy: Policy, standing: Standing
) -> None:
    policy = replace(policy, taint=False)
    before = gate(call, replace(policy, classifies=False), standing)
    assert before is not None
    if before.level is Level.DEFAULT:
        return
    for found in (None, Assessment(asks=False), Assessment(asks=True)):
        seen = call.model_copy(update={"assessment": found})
        assert gate(seen, replace(policy, classifies=True), standing) == before


def saying(word: Decision) -> Callable[[Layer], Layer]:
    """The layer with this word for every tool, unless it denies it already."""

    def said(layer: Layer) -> Layer:
        return replace(
            layer,
            tools={
                name: word if layer.tools.get(name) is not Decision.DENY else Decision.DENY
                for name in NAMES
            },
        )

    return said


def lowered(layer: Layer) -> Layer:
    return replace(layer, threshold=ToolRisk.SAFE)


def always(layer: Layer) -> Layer:
    return replace(layer, always_ask=frozenset(NAMES))


def above(layer: Layer) -> Callable[[Policy], Policy]:
    return lambda policy: replace(policy, ancestors=(*policy.ancestors, layer))


TIGHTENED: dict[str, Callable[[Policy], Policy]] = {
    **{
        f"{where} {word}": lambda p, w=where, d=word: by_layer(p, **{w: saying(d)})  # type: ignore[misc]
        for where in ("operator", "agent", "stage")
        for word in (Decision.ASK, Decision.DENY)
    },
    **{
        f"{where} lowers": lambda p, w=where: by_layer(p, **{w: lowered})  # type: ignore[misc]
        for where in ("operator", "agent", "stage")
    },
    "always": lambda p: by_layer(p, operator=always),
    "ancestor denies": above(Layer(dict.fromkeys(NAMES, Decision.DENY))),
    "ancestor lowers": above(Layer(threshold=ToolRisk.SAFE)),
    "ancestor always": above(Layer(always_ask=frozenset(NAMES))),
    "negated": lambda p: replace(
        p, allowed=replace(p.allowed or AllowList(), negated=frozenset(NAMES))
    ),
    "asks by default": lambda p: replace(p, asks_by_default=True),
    "source always": lambda p: replace(
        p, sources=dict.fromkeys(("hub", "lab"), Source(SourcePolicy.ALWAYS))
    ),
    "no safe list": lambda p: replace(p, safe=SafeList.of(())),
    "not isolated": lambda p: replace(p, isolated=False),
    "taint": lambda p: replace(p, taint=True),
    "no trust": lambda p: replace(p, trusts=False),
}


def strictness(verdict: Verdict | None) -> int:
    """A call that waits for the classifier may come to run."""
    return STRICT[verdict.decision] if verdict else 0


@given(facts, policies, standings, one_of(sorted(TIGHTENED)))
def test_a_rule_that_asks_or_denies_never_makes_anything_looser(
    call: Facts, policy: Policy, standing: Standing, chosen: str
) -> None:
    before = gate(call, policy, standing)
    after = gate(call, TIGHTENED[chosen](policy), standing)
    assert strictness(after) >= strictness(before)


@given(facts, policies, standings)
def test_a_tool_that_says_more_of_its_danger_is_never_judged_more_loosely(
    call: Facts, policy: Policy, standing: Standing
) -> None:
    before = gate(call, policy, standing)
    graver: list[dict[str, Any]] = [
        {"needs_approval": True},
        {"condition_failed": "x"},
        {"risk": ToolRisk.CRITICAL},
        {"destructive": True},
        {"read_only": False},
        {"loaded": False},
        {"outbound": True},
        {"taint": Label.PRIVATE},
        {"clearance": Label.PUBLIC},
    ]
    for change in graver:
        after = gate(call.model_copy(update=change), policy, standing)
        assert strictness(after) >= strictness(before), change


@given(facts, policies, st.lists(grants, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_grants_decides_nothing(
    call: Facts, policy: Policy, held: list[Any], chance: Any
) -> None:
    other = list(held)
    chance.shuffle(other)
    one, two = (gate(call, policy, Standing(each)) for each in (held, other))
    assert (one and one.decision) == (two and two.decision)


@given(facts, policies, standings, st.integers(min_value=0, max_value=4))
def test_a_deny_of_any_layer_decides_alone(
    call: Facts, policy: Policy, standing: Standing, where: int
) -> None:
    denies = saying(Decision.DENY)
    names = ("operator", "agent", "stage")
    if where < len(names):
        policy = by_layer(policy, **{names[where]: denies})
    else:
        denied = (Layer(dict.fromkeys(NAMES, Decision.DENY)), Layer())
        policy = replace(policy, ancestors=denied[:: 1 if where == len(names) else -1])
    verdict = gate(call, policy, standing)
    if call.tool in NAMES:
        assert verdict is not None
        assert (verdict.decision, verdict.level) == (Decision.DENY, Level.DENY)


@given(policies)
def test_the_threshold_is_never_above_what_operator_and_ancestors_say(policy: Policy) -> None:
    bounds = [layer.threshold for layer in (policy.operator, *policy.ancestors)]
    assert all(said is None or said.reaches(policy.threshold) for said in bounds)


granted_calls = st.builds(
    Facts,
    tool=names,
    role=one_of([Role.PLAIN, Role.SHELL]),
    risk=risks,
    line=one_of(LINES),
    digest=one_of(DIGESTS),
    schema_digest=one_of(["s1", "s2"]),
    stage=one_of(["main", "build"]),
)


@given(granted_calls, grants)
def test_a_grant_that_is_used_is_of_that_tool_schema_tier_and_stage(
    call: Facts, held: Grant
) -> None:
    asks = Policy(agent=Layer(dict.fromkeys(NAMES, Decision.ASK)), safe=SafeList.of(()))
    verdict = gate(call, asks, Standing([held]))
    assert verdict is not None
    if verdict.decision is Decision.ALLOW:
        assert verdict.grants == (held.id,)
        assert (held.tool, held.schema_digest) == (call.tool, call.schema_digest)
        assert held.risk.reaches(call.risk)
        assert held.scope == "run" or held.stage == call.stage
        assert held.exact in ("", call.digest)
        assert held.exact or bool(held.keys) == (call.role is Role.SHELL)
