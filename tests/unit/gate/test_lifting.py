"""What turns an ask into an allow, what never does, and what becomes of an ask that nobody is there for."""

from typing import Any

import pytest

from placet.domain.grant import Grant
from placet.domain.label import Label
from placet.domain.person import Person
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
    Standing,
    gate,
)
from placet.gate.shell import SHIPPED, SafeList
from placet.gate.shell import Layer as SafeLayer
from placet.gate.shell import Source as SafeSource
from tests.unit.gate.made import call, grant, judged, layer, line, of, word

pytestmark = pytest.mark.unit

ASKS = Policy(agent=layer(drop="ask", bash="ask"))
SAFE, HIGH, CRITICAL = ToolRisk


def shell_grant(*keys: str, **parts: Any) -> Grant:
    return grant("bash", keys=keys, **parts)


def safe(*shell: str, tools: tuple[str, ...] = (), shipped: bool = False) -> SafeList:
    own = SafeLayer(SafeSource.CONFIG, shell, tools, "placet.toml")
    return SafeList.of([SHIPPED, own] if shipped else [own])


# Grants


def test_l27_a_grant_of_every_command_on_a_line_lets_it_run_unasked() -> None:
    held = shell_grant("mkdir", "git push")
    verdict = judged(line("mkdir && git push origin"), ASKS, held)
    assert (verdict.decision, verdict.reason.code) == ("allow", "granted")
    assert verdict.grants == ("grt_1",)
    assert verdict.lifted is not None, "why it would have asked is kept"
    assert word(line("mkdir && git pull"), ASKS, held) == "ask"


def test_l27_no_grant_lifts_a_deny() -> None:
    denied = Policy(agent=layer(bash="deny", drop="deny"))
    assert word(line("mkdir"), denied, shell_grant("mkdir")) == "deny"
    assert word(call(), denied, grant()) == "deny"


def test_a_grant_of_a_tool_covers_it_with_any_arguments_and_says_who_gave_it() -> None:
    alice = Person(id="p1", name="Alice")
    verdict = judged(call(digest="d2"), ASKS, grant(by=alice))
    assert verdict.reason.sentence == "Alice allowed drop with any arguments for this run"


def test_ap01_ap02_an_exact_grant_is_bound_to_the_digest_of_the_call_and_to_nothing_else() -> None:
    held = grant(exact="d1")
    assert word(call(digest="d1"), ASKS, held) == "allow"
    assert word(call(digest="d2"), ASKS, held) == "ask"
    assert word(call(digest=""), ASKS, held) == "ask"
    whole = grant("bash", exact="d1")
    assert word(line("curl x | sh", digest="d1"), ASKS, whole) == "allow"
    assert word(line("curl x | sh", digest="d2"), ASKS, whole) == "ask"


@pytest.mark.parametrize(
    ("facts", "held"),
    [
        (call("drop_all"), grant("drop")),
        (call("Drop"), grant("drop")),
        (call(schema_digest="new"), grant(schema_digest="old")),
        (call(schema_digest="new"), grant()),
        (call(stage="b"), grant(scope="stage", stage="a")),
        (of("lab", "drop"), grant("hub__drop")),
        (line("mkdir"), grant("bash")),
        (line("mkdir"), grant("bash", keys=("mkdirs",))),
        (line("mkdir", schema_digest="new"), shell_grant("mkdir")),
        (call("drop"), grant(keys=("drop",))),
    ],
)
def test_ap82_a_grant_covers_no_other_tool_source_stage_or_schema(facts: Any, held: Grant) -> None:
    assert word(facts, Policy(asks_by_default=True), held) == "ask"


def test_l28_a_stage_grant_holds_while_its_stage_runs_and_when_it_runs_again() -> None:
    held = grant(scope="stage", stage="build")
    assert word(call(stage="build"), ASKS, held) == "allow"
    assert word(call(stage="publish"), ASKS, held) == "ask"


def test_l29_a_run_grant_holds_in_every_stage() -> None:
    held = grant(scope="run", stage="build")
    assert word(call(stage="publish"), ASKS, held) == "allow"


def test_ap96_what_another_run_was_granted_is_not_looked_at() -> None:
    assert word(call(), ASKS) == "ask"
    assert word(call(), ASKS, grant()) == "allow"


@pytest.mark.parametrize(
    "text", ["ls; curl x | sh", "ls | sh", "ls $(curl x)", "ls > f", "ls && curl x", "ls\ncurl x"]
)
def test_l32_what_stands_beside_a_granted_command_asks(text: str) -> None:
    assert word(line("ls -la"), ASKS, shell_grant("ls")) == "allow"
    assert word(line(text), Policy(agent=layer(bash="ask"), safe=safe()), shell_grant("ls")) == (
        "ask"
    )


def test_l33_a_grant_is_exact_in_its_subcommand_and_an_entry_widens_by_program() -> None:
    held = shell_grant("git log")
    policy = Policy(agent=layer(bash="ask"), safe=safe("cat"))
    assert word(line("git log -p"), policy, held) == "allow"
    assert word(line("git log > f"), policy, held) == "ask"
    assert word(line("git push"), policy, held) == "ask"
    assert word(line("cat notes.md"), policy) == "allow"


def test_l34_what_the_first_call_was_granted_covers_the_second() -> None:
    first, second = line("mkdir all"), line("mkdir docs")
    assert [word(each, ASKS) for each in (first, second)] == ["ask", "ask"]
    assert word(second, ASKS, shell_grant("mkdir")) == "allow"


def test_several_grants_and_the_list_cover_a_line_together_and_those_used_are_named() -> None:
    one, two = shell_grant("mkdir"), shell_grant("git push", id="grt_2")
    policy = Policy(agent=layer(bash="ask"), safe=safe("cat"))
    verdict = judged(line("cat x && mkdir && git push"), policy, one, two, shell_grant("npm test"))
    assert (verdict.decision, verdict.grants) == ("allow", ("grt_1", "grt_2"))


@pytest.mark.parametrize("risk", ToolRisk)
@pytest.mark.parametrize("given", ToolRisk)
def test_ap99_a_grant_covers_no_call_of_a_higher_tier_than_the_one_it_was_given_for(
    risk: ToolRisk, given: ToolRisk
) -> None:
    asks = Policy(agent=Layer({"pay": Decision.ASK, "bash": Decision.ASK}))
    allowed = "allow" if given.reaches(risk) else "ask"
    assert word(call("pay", risk=risk), asks, grant("pay", risk=given)) == allowed
    exact = grant("pay", risk=given, exact="d")
    assert word(call("pay", risk=risk, digest="d"), asks, exact) == allowed
    assert word(line("mkdir", risk=risk), asks, shell_grant("mkdir", risk=given)) == allowed


# Trust


TRUSTS = Policy(agent=layer(drop="ask"), trusts=True)


def test_a_trusted_tool_runs_while_trust_is_on_and_it_is_the_tool_that_was_trusted() -> None:
    trusted = call(schema_digest="s")
    assert judged(trusted, TRUSTS, drop="s").reason.code == "trusted"
    assert word(trusted, TRUSTS, drop="other schema") == "ask"
    assert word(trusted, TRUSTS, drip="s") == "ask"
    assert word(trusted, ASKS, drop="s") == "ask", "enable_trust is off"
    assert word(call(), TRUSTS) == "ask"


def test_ap79_trust_lifts_no_negation() -> None:
    negated = Policy(allowed=AllowList.of(["*", "!drop"]), trusts=True)
    verdict = judged(call(schema_digest="s"), negated, drop="s")
    assert verdict.level is Level.ALWAYS


def test_a_shell_is_never_trusted() -> None:
    policy = Policy(agent=layer(bash="ask"), trusts=True)
    assert word(line("mkdir", schema_digest="s"), policy, bash="s") == "ask"


def test_ap80_trust_stands_before_the_classifier_and_only_for_its_tool() -> None:
    policy = Policy(classifies=True, trusts=True)
    assert judged(call(schema_digest="s"), policy, drop="s").reason.code == "trusted"
    assert gate(call("pay", schema_digest="s"), policy, Standing(trusted={"drop": "s"})) is None


# The clearance of a tool


def test_a_raised_clearance_covers_its_data_and_ends_with_the_tool_it_was_raised_for() -> None:
    sends = call("mail", outbound=True, taint=Label.PRIVATE, schema_digest="s")
    raised = grant("mail", clearance=Label.PRIVATE, schema_digest="s")
    policy = Policy(taint=True)
    assert judged(sends, policy).level is Level.TAINT
    assert word(sends, policy, raised) == "allow"
    assert word(sends, policy, raised.model_copy(update={"schema_digest": "old"})) == "ask"
    assert word(sends, policy, raised.model_copy(update={"tool": "other"})) == "ask"
    internal = raised.model_copy(update={"clearance": Label.INTERNAL})
    assert word(sends, policy, internal) == "ask"
    gated = Policy(taint=True, agent=layer(mail="ask"))
    assert word(sends, gated, raised) == "ask", "it lets data go, and the call asks all the same"


# The safe list


def test_ap90_the_safe_list_turns_an_ask_into_an_allow_and_no_deny() -> None:
    entries = safe("cargo test", tools=("drop",))
    asks = Policy(agent=layer(bash="ask", drop="ask"), safe=entries)
    denies = Policy(agent=layer(bash="deny", drop="deny"), safe=entries)
    always = Policy(operator=Layer(always_ask=frozenset({"bash", "drop"})), safe=entries)
    for facts in (line("cargo test -q"), call()):
        assert judged(facts, asks).reason.code == "safe_list"
        assert word(facts, denies) == "deny"
        assert judged(facts, always).level is Level.ALWAYS
    assert "placet.toml" in judged(call(), asks).reason.sentence


def test_the_list_speaks_only_where_the_shell_can_not_reach_what_is_placet_s() -> None:
    policy = Policy(safe=safe("mkdir", tools=("drop",), shipped=True), isolated=False)
    assert word(line("ls"), policy) == "ask"
    assert word(line("mkdir"), policy) == "ask"
    assert word(line("mkdir"), policy, shell_grant("mkdir")) == "allow"
    assert word(call(), Policy(agent=layer(drop="ask"), safe=policy.safe, isolated=False)) == (
        "allow"
    )


def test_an_entry_for_a_shell_line_is_none_for_a_tool_of_that_name() -> None:
    asks = Policy(agent=layer(mkdir="ask"), safe=safe("mkdir"))
    assert word(call("mkdir"), asks) == "ask"
    assert word(line("mkdir"), Policy(safe=safe(tools=("mkdir",)))) == "ask"


@pytest.mark.parametrize(
    ("facts", "policy"),
    [
        (call(), {"agent": layer(drop="ask")}),
        (of("hub", "drop"), {"sources": {"hub": Source(SourcePolicy.UNLESS_READ_ONLY)}}),
        (call(risk=CRITICAL), {}),
        (call(assessment=Assessment(asks=True)), {"classifies": True}),
        (call(), {"asks_by_default": True}),
        (call(role=Role.WRITES), {}),
    ],
)
def test_an_ask_of_levels_three_to_six_is_lifted_by_each_of_the_four(
    facts: Any, policy: dict[str, Any]
) -> None:
    facts = facts.model_copy(update={"schema_digest": "s"})
    name = facts.tool
    held = grant(name, schema_digest="s", risk=CRITICAL)
    lifted = {
        "granted": judged(facts, Policy(**policy), held),
        "trusted": judged(facts, Policy(**policy, trusts=True), **{name: "s"}),
        "safe_list": judged(facts, Policy(**policy, safe=safe(tools=(name,)))),
        "unattended": judged(facts, Policy(**policy, unattended=Decision.ALLOW)),
    }
    asked = judged(facts, Policy(**policy))
    assert asked.decision == "ask"
    for code, verdict in lifted.items():
        assert (verdict.decision, verdict.reason.code) == ("allow", code)
        assert verdict.level is asked.level
        assert verdict.lifted is not None


def test_of_what_lifts_an_ask_the_first_is_named_in_the_order_grant_trust_list_unattended() -> None:
    facts = call(schema_digest="s")
    policy = {"agent": layer(drop="ask"), "unattended": Decision.ALLOW}
    listed = {**policy, "safe": safe(tools=("drop",))}
    trusts = {**listed, "trusts": True}
    codes = [
        judged(facts, Policy(**trusts), grant(schema_digest="s"), drop="s").reason.code,  # type: ignore[arg-type]
        judged(facts, Policy(**trusts), drop="s").reason.code,  # type: ignore[arg-type]
        judged(facts, Policy(**listed), drop="s").reason.code,  # type: ignore[arg-type]
        judged(facts, Policy(**policy), drop="s").reason.code,  # type: ignore[arg-type]
    ]
    assert codes == ["granted", "trusted", "safe_list", "unattended"]


# Nobody there


@pytest.mark.parametrize(
    ("unattended", "asked", "every_time"),
    [
        (None, "ask", "ask"),
        (Decision.ASK, "ask", "ask"),
        (Decision.ALLOW, "allow", "ask"),
        (Decision.DENY, "deny", "deny"),
    ],
)
def test_l36_what_becomes_of_an_ask_that_nobody_is_there_for(
    unattended: Decision | None, asked: str, every_time: str
) -> None:
    for facts in (call(), call(risk=CRITICAL)):
        policy = Policy(agent=Layer(), asks_by_default=True, unattended=unattended)
        assert word(facts, policy) == asked
    assert word(call(needs_approval=True), Policy(unattended=unattended)) == every_time
    assert word(call(), Policy(unattended=unattended)) == "allow", "what does not ask runs"


def test_what_nobody_is_there_to_ask_about_says_so_and_why_it_asks() -> None:
    verdict = judged(call(risk=HIGH), Policy(unattended=Decision.DENY))
    assert verdict.reason.code == "unattended"
    assert verdict.reason.sentence.startswith("nobody is there to ask: drop is high")


def test_what_was_granted_runs_in_an_unattended_run_too() -> None:
    policy = Policy(agent=layer(drop="ask"), unattended=Decision.DENY)
    assert word(call(), policy, grant()) == "allow"


# What is said of a line that asks


def test_a_line_that_asks_says_which_of_its_commands_nothing_covers() -> None:
    verdict = judged(line("cat x | nc host 1"))
    assert verdict.reason.code == "not_covered"
    assert "nc" in verdict.reason.sentence
    assert judged(line("ls $(id)")).reason.code == "command_substitution"
    assert judged(line("mkdir"), Policy(agent=layer(bash="ask"))).reason.code == "permission"


@pytest.mark.parametrize("text", ["", " ", "\n", "#", "\x00", "\ud7ff" * 20_000, "'"])
def test_a_line_that_is_none_asks(text: str) -> None:
    assert word(line(text)) == "ask"
    assert word(line(text).model_copy(update={"line": None})) == "ask"
