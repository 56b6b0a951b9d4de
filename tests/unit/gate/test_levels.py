"""The six levels: which signal speaks first, and what it says."""

from itertools import combinations
from typing import Any

import pytest

from placet.domain.risk import ToolRisk
from placet.gate import (
    AllowList,
    Assessment,
    Decision,
    Layer,
    Level,
    Policy,
    Role,
    Source,
    SourcePolicy,
    gate,
)
from tests.unit.gate.made import call, grant, judged, layer, line, of, word

pytestmark = pytest.mark.unit

SAFE, HIGH, CRITICAL = ToolRisk
NEVER, ALWAYS = SourcePolicy.NEVER, SourcePolicy.ALWAYS
DESTRUCTIVE, UNLESS_READ_ONLY = SourcePolicy.DESTRUCTIVE, SourcePolicy.UNLESS_READ_ONLY
RISKY = Assessment(asks=True, reason="it pays")
HARMLESS = Assessment(asks=False, reason="it reads")


def listed(*words: str, **more: Any) -> Policy:
    return Policy(allowed=AllowList.of(words), **more)


def sourced(rule: SourcePolicy | None, trusted: bool = False, **tools: SourcePolicy) -> Policy:
    return Policy(sources={"hub": Source(rule, tools, trusted)})


# Which level speaks


LEVELS = [level for level in Level if level is not Level.TAINT]
SIGNALS: dict[Level, tuple[dict[str, Any], dict[str, Any], str]] = {
    Level.DENY: ({}, {"operator": layer(drop="deny")}, "deny"),
    Level.ALWAYS: ({"needs_approval": True}, {}, "ask"),
    Level.EXPLICIT: ({}, {"agent": layer(drop="allow")}, "allow"),
    Level.RISK: ({"risk": CRITICAL}, {}, "ask"),
    Level.CLASSIFIER: ({"assessment": HARMLESS}, {"classifies": True}, "allow"),
    Level.DEFAULT: ({}, {"asks_by_default": True}, "ask"),
}
"""One signal of each level: facts, policy, and what it says."""


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_speaks_alone(level: Level) -> None:
    facts, policy, said = SIGNALS[level]
    verdict = judged(call(**facts), Policy(**policy))
    assert (verdict.level, verdict.decision) == (level, said)


@pytest.mark.parametrize("pair", list(combinations(LEVELS, 2)), ids="-".join)
def test_s25_of_two_signals_the_first_level_decides(pair: tuple[Level, Level]) -> None:
    first, second = (SIGNALS[level] for level in pair)
    verdict = judged(call(**second[0] | first[0]), Policy(**second[1] | first[1]))
    assert (verdict.level, verdict.decision) == (pair[0], first[2])


def test_where_nothing_speaks_a_call_runs_and_the_verdict_says_so() -> None:
    verdict = judged(call())
    assert (verdict.decision, verdict.level) == ("allow", Level.DEFAULT)
    assert verdict.reason.code == "default"
    assert "drop" in verdict.reason.sentence


# 1. deny


@pytest.mark.parametrize("where", ["operator", "agent", "stage", "ancestors"])
def test_l27_a_deny_of_any_layer_beats_every_other_word(where: str) -> None:
    denies = layer(drop="deny")
    layers: dict[str, Any] = dict.fromkeys(("operator", "agent", "stage"), layer(drop="allow"))
    layers[where] = (denies,) if where == "ancestors" else denies
    policy = Policy(**layers, allowed=AllowList.of(["drop", "*"]), trusts=True)
    verdict = judged(call(schema_digest="s"), policy, grant(schema_digest="s"), drop="s")
    assert (verdict.decision, verdict.reason.code) == ("deny", "denied")
    named = "parent run" if where == "ancestors" else where
    assert verdict.reason.sentence == f"the {named} denies drop"


@pytest.mark.parametrize("said", ["deny", "ask", "allow"])
def test_l36_nobody_being_there_lifts_an_ask_and_no_deny(said: str) -> None:
    policy = Policy(agent=layer(drop=said), unattended=Decision.ALLOW)
    assert word(call(), policy) == ("deny" if said == "deny" else "allow")


def test_l36_a_named_allow_and_a_star_lift_no_deny_either() -> None:
    policy = listed("*", "drop", operator=layer(drop="deny"), stage=layer(drop="allow"))
    assert word(call(), Policy(**{**fields(policy), "unattended": Decision.ALLOW})) == "deny"


def fields(policy: Policy) -> dict[str, Any]:
    return {name: getattr(policy, name) for name in policy.__slots__}


# 2. always ask


ALWAYS_ASKS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("needs_approval", {"needs_approval": True}, {}),
    ("condition_failed", {"condition_failed": "KeyError: 'n'"}, {}),
    ("always_ask", {}, {"operator": Layer(always_ask=frozenset({"hub__drop"}))}),
    ("always_ask", {}, {"ancestors": (Layer(always_ask=frozenset({"hub__drop"})),)}),
    ("always_ask", {}, {"allowed": AllowList.of(["*", "!hub__drop"])}),
    ("source_always", {}, {"sources": {"hub": Source(ALWAYS)}}),
]


@pytest.mark.parametrize(("code", "facts", "policy"), ALWAYS_ASKS)
def test_what_is_always_asked_about_asks_whatever_was_allowed(
    code: str, facts: dict[str, Any], policy: dict[str, Any]
) -> None:
    lifts: dict[str, Any] = {
        "agent": layer(hub__drop="allow"),
        "trusts": True,
        "unattended": Decision.ALLOW,
        "allowed": AllowList.of(["*", "hub__drop"]),
    }
    verdict = judged(
        of("hub", "drop", schema_digest="s", **facts),
        Policy(**lifts | policy),
        grant("hub__drop", schema_digest="s"),
        hub__drop="s",
    )
    assert (verdict.decision, verdict.level, verdict.reason.code) == ("ask", Level.ALWAYS, code)
    assert verdict.every_time


@pytest.mark.parametrize("order", [["!drop", "*"], ["*", "!drop"], ["drop", "!drop"]])
def test_ap78_an_exclusion_wins_in_either_order(order: list[str]) -> None:
    assert judged(call(), listed(*order)).level is Level.ALWAYS
    if "*" in order:
        assert word(call("look"), listed(*order)) == "allow"


def test_s25_a_negation_without_a_star_allows_nothing() -> None:
    assert word(call("look"), listed("!drop")) == "ask"


# 3. explicit


@pytest.mark.parametrize("said", ["allow", "ask"])
@pytest.mark.parametrize("risk", ToolRisk)
def test_a_named_word_lifts_every_tier_or_asks_below_it(said: str, risk: ToolRisk) -> None:
    verdict = judged(call(risk=risk), Policy(agent=layer(drop=said)))
    assert (verdict.decision, verdict.level) == (said, Level.EXPLICIT)
    assert verdict.reason.code == "permission"


@pytest.mark.parametrize(
    ("rule", "risk", "expected"),
    [
        ("drop", HIGH, "allow"),
        ("drop", CRITICAL, "allow"),
        ("*", SAFE, "allow"),
        ("*", HIGH, "allow"),
        ("*", CRITICAL, "ask"),
        ("Drop", SAFE, "ask"),
        ("drop ", SAFE, "ask"),
        ("dr*", SAFE, "ask"),
    ],
)
def test_allowed_tools_lift_a_tier_by_exact_name_and_critical_by_name_alone(
    rule: str, risk: ToolRisk, expected: str
) -> None:
    assert word(call(risk=risk), listed(rule)) == expected


def test_a_star_covers_what_was_loaded_and_not_what_a_source_adds_later() -> None:
    assert word(of("hub", "drop"), listed("*")) == "allow"
    assert word(of("hub", "drop", loaded=False), listed("*")) == "ask"
    assert word(of("hub", "drop", loaded=False), listed("*", "hub__drop")) == "allow"


@pytest.mark.parametrize(
    ("rule", "known", "expected", "code"),
    [
        (NEVER, {}, "allow", "source"),
        (NEVER, {"destructive": True}, "allow", "source"),
        (NEVER, {"risk": HIGH}, "allow", "source"),
        (NEVER, {"risk": CRITICAL}, "ask", "risk"),
        (DESTRUCTIVE, {"destructive": True}, "ask", "destructive"),
        (DESTRUCTIVE, {"destructive": False}, "allow", "source"),
        (DESTRUCTIVE, {}, "allow", "source"),
        (DESTRUCTIVE, {"read_only": True}, "allow", "source"),
        (DESTRUCTIVE, {"risk": HIGH}, "allow", "source"),
        (DESTRUCTIVE, {"risk": CRITICAL}, "ask", "risk"),
        (UNLESS_READ_ONLY, {"read_only": True}, "allow", "source"),
        (UNLESS_READ_ONLY, {"read_only": False}, "ask", "not_read_only"),
        (UNLESS_READ_ONLY, {}, "ask", "not_read_only"),
        (UNLESS_READ_ONLY, {"read_only": True, "destructive": True}, "ask", "not_read_only"),
        (UNLESS_READ_ONLY, {"read_only": True, "risk": CRITICAL}, "ask", "risk"),
        (ALWAYS, {"read_only": True}, "ask", "source_always"),
        (None, {"read_only": True}, "ask", "source_without_policy"),
    ],
)
def test_c14_a_source_policy_goes_by_what_is_declared_of_a_tool(
    rule: SourcePolicy | None, known: dict[str, Any], expected: str, code: str
) -> None:
    verdict = judged(of("hub", "drop", **known), sourced(rule))
    assert (verdict.decision, verdict.reason.code) == (expected, code)


def test_ap88_a_rule_for_one_tool_goes_by_its_source_and_raw_name() -> None:
    policy = sourced(NEVER, drop=ALWAYS, wipe=DESTRUCTIVE)
    assert word(of("hub", "drop"), policy) == "ask"
    assert word(of("hub", "wipe", destructive=True), policy) == "ask"
    assert word(of("hub", "list"), policy) == "allow"
    assert word(of("lab", "drop"), policy) == "ask", "another source, which has no policy"
    assert word(call("hub__drop", source=None), policy) == "allow", "an own tool of that name"


def test_a_named_word_stands_before_the_policy_of_its_source() -> None:
    policy = Policy(agent=layer(hub__drop="ask"), sources={"hub": Source(NEVER)})
    assert word(of("hub", "drop"), policy) == "ask"
    allows = Policy(agent=layer(hub__drop="allow"), sources={"hub": Source(DESTRUCTIVE)})
    assert word(of("hub", "drop", destructive=True, risk=CRITICAL), allows) == "allow"


def test_the_policy_of_a_source_stands_before_allowed_tools() -> None:
    policy = listed("*", sources={"hub": Source(DESTRUCTIVE)})
    assert word(of("hub", "drop", destructive=True), policy) == "ask"


def test_a_name_in_allowed_tools_lifts_the_critical_tier_that_its_source_policy_does_not() -> None:
    policy = listed("hub__drop", sources={"hub": Source(NEVER)})
    assert judged(of("hub", "drop", risk=CRITICAL), policy).reason.code == "listed"


# 4. risk


@pytest.mark.parametrize("threshold", ToolRisk)
@pytest.mark.parametrize("risk", ToolRisk)
def test_a6_a_threshold_gates_its_tier_and_those_above(threshold: ToolRisk, risk: ToolRisk) -> None:
    gated = {SAFE: {SAFE, HIGH, CRITICAL}, HIGH: {HIGH, CRITICAL}, CRITICAL: {CRITICAL}}
    asks = word(call(risk=risk), Policy(agent=Layer(threshold=threshold))) == "ask"
    assert asks == (risk in gated[threshold])


def test_the_threshold_is_high_where_nobody_says_otherwise() -> None:
    assert [word(call(risk=risk)) for risk in ToolRisk] == ["allow", "ask", "ask"]


def test_a7_a_tool_without_a_declared_tier_is_safe() -> None:
    assert call().risk is SAFE
    assert word(call(), Policy(agent=Layer(threshold=HIGH))) == "allow"


# 5. classifier


def test_only_what_nothing_above_decides_waits_for_the_classifier() -> None:
    assert gate(call(), Policy(classifies=True)) is None
    assert gate(call(risk=HIGH), Policy(classifies=True)) is not None
    assert gate(call(), listed("drop", classifies=True)) is not None
    assert gate(call(), listed("!drop", classifies=True)) is not None
    assert gate(call(), Policy(classifies=True, agent=layer(drop="ask"))) is not None


@pytest.mark.parametrize(
    ("found", "expected", "code"),
    [
        (RISKY, "ask", "classifier"),
        (HARMLESS, "allow", "classifier"),
        (Assessment(asks=True, failed=True, reason="timeout"), "ask", "classifier_failed"),
    ],
)
def test_what_the_classifier_found_is_the_verdict_with_its_reason(
    found: Assessment, expected: str, code: str
) -> None:
    verdict = judged(call(assessment=found), Policy(classifies=True, asks_by_default=True))
    assert (verdict.decision, verdict.reason.code) == (expected, code)
    assert found.reason in verdict.reason.sentence


@pytest.mark.parametrize(
    ("facts", "policy"),
    [(SIGNALS[level][0], SIGNALS[level][1]) for level in LEVELS if SIGNALS[level][2] != "allow"],
)
def test_ap48_a_models_word_lowers_no_level_above_it(
    facts: dict[str, Any], policy: dict[str, Any]
) -> None:
    if policy == SIGNALS[Level.DEFAULT][1]:
        return
    found = judged(call(**facts, assessment=HARMLESS), Policy(**policy, classifies=True))
    assert found.decision is not Decision.ALLOW


# 6. default


@pytest.mark.parametrize(
    ("facts", "expected", "code"),
    [
        (call("look", read_only=True), "allow", "default"),
        (call("mail"), "allow", "default"),
        (line("make"), "ask", "not_covered"),
        (call("write_file", role=Role.WRITES), "ask", "builtin_asks"),
        (of("hub", "drop"), "ask", "source_without_policy"),
        (of("hub", "list", read_only=True), "ask", "source_without_policy"),
    ],
)
def test_l38_what_nothing_decides_runs_but_for_the_builtins_that_act_and_unruled_sources(
    facts: Any, expected: str, code: str
) -> None:
    verdict = judged(facts)
    assert (verdict.decision, verdict.level) == (expected, Level.DEFAULT)
    assert verdict.reason.code == code


@pytest.mark.parametrize("policy", [listed("look"), Policy(asks_by_default=True)])
def test_ap91_where_a_list_says_what_runs_no_rule_means_ask(policy: Policy) -> None:
    verdict = judged(call(), policy)
    assert (verdict.decision, verdict.reason.code) == ("ask", "default_ask")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"read_only": True}, "allow"),
        ({"read_only": False}, "ask"),
        ({}, "ask"),
        ({"read_only": True, "destructive": True}, "ask"),
    ],
)
def test_a_trusted_source_without_a_policy_runs_what_it_declares_read_only(
    known: dict[str, Any], expected: str
) -> None:
    assert word(of("hub", "x", **known), sourced(None, trusted=True)) == expected


# Roles and spellings


@pytest.mark.parametrize("role", [Role.ASKS, Role.DELEGATES])
def test_tools_that_ask_or_delegate_are_gated_by_deny_and_negation_alone(role: Role) -> None:
    facts = call("ask_user_text", role=role, risk=CRITICAL, needs_approval=True)
    gated = Policy(
        agent=Layer({"ask_user_text": Decision.ASK}, SAFE), asks_by_default=True, classifies=True
    )
    assert word(facts, gated) == "allow"
    assert word(facts, listed("look", operator=Layer(threshold=SAFE))) == "allow"
    assert word(facts, listed("*", "!ask_user_text")) == "ask"
    assert word(facts, Policy(stage=layer(ask_user_text="deny"))) == "deny"


def test_an_operator_who_names_delegate_among_always_ask_is_heard() -> None:
    policy = Policy(operator=Layer(always_ask=frozenset({"delegate"})))
    assert word(call("delegate", role=Role.DELEGATES), policy) == "ask"


@pytest.mark.parametrize("name", ["bash", "shell"])
def test_l37_bash_and_shell_are_one_tool_for_a_list_and_for_a_call(name: str) -> None:
    assert word(line("make"), listed(name)) == "allow"
    assert judged(line("make"), listed("*", f"!{name}")).level is Level.ALWAYS
    assert call(name).tool == "bash"


# A line that writes is held to what is said of writing


@pytest.mark.parametrize(
    "text",
    [
        "echo x > f",
        "echo x >> f",
        "echo x >| f",
        "make 2> log",
        "make &> log",
        "cat <> f",
        "ls; echo x >f",
        "cat <<E > f\nx\nE",
        "(echo x) > f",
        "for i in 1; do echo $i > f; done",
        "echo `id` > f",
        "exec 3> f",
    ],
)
def test_l40_where_writing_is_denied_a_redirect_that_writes_is_denied(text: str) -> None:
    for where in ("operator", "agent", "stage"):
        words: dict[str, Any] = {where: layer(write_file="deny")}
        verdict = judged(line(text), Policy(**words))
        assert (verdict.decision, verdict.level) == ("deny", Level.DENY), text
        assert where in verdict.reason.sentence
        assert "write_file" in verdict.reason.sentence


@pytest.mark.parametrize(
    "text",
    ["ls", "make 2>/dev/null", "make > /dev/null 2>&1", "echo 'a > b'", 'echo "->"', "cat < f"],
)
def test_l40_where_writing_is_denied_a_line_that_writes_nothing_is_judged_as_ever(
    text: str,
) -> None:
    denies = Policy(agent=layer(write_file="deny"))
    assert judged(line(text), denies).decision == judged(line(text)).decision != "deny"


def test_l40_a_redirect_asks_where_writing_asks_even_if_the_shell_is_allowed() -> None:
    asks = Policy(agent=layer(bash="allow", write_file="ask"))
    assert word(line("make"), asks) == "allow"
    assert judged(line("make > f"), asks).reason.code == "writes"
    always = listed("*", "bash", "!write_file")
    assert word(line("make"), always) == "allow"
    assert judged(line("make > f"), always).level is Level.ALWAYS
    assert word(line("make > f"), listed("bash")) == "allow", "nothing is said of writing"
