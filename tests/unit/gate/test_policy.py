"""What operator, author and stage say: whose word holds, and which words are refused."""

from typing import Any

import pytest

from placet import Agent, ScriptedModel, Tool, tool
from placet.agents.operator import Operator, Tables
from placet.agents.policies import policy_for, source_of
from placet.agents.scripted import says, steps
from placet.domain.risk import ToolRisk
from placet.errors import DefinitionError
from placet.gate import AllowList, Decision, Layer, Policy, Role, Source, SourcePolicy
from placet.gate.names import look_alikes
from placet.gate.policy import word as policy_word
from placet.gate.policy import words
from tests.unit.gate.made import call, judged, layer, line, of, word

pytestmark = pytest.mark.unit

SAFE, HIGH, CRITICAL = ToolRisk
NEVER, ALWAYS = SourcePolicy.NEVER, SourcePolicy.ALWAYS
DESTRUCTIVE, UNLESS_READ_ONLY = SourcePolicy.DESTRUCTIVE, SourcePolicy.UNLESS_READ_ONLY
MODEL = ScriptedModel(steps(says("done")))


def named(name: str, **parts: Any) -> Tool:
    @tool(name=name, **parts)
    def made() -> str:
        """Do it."""
        return "did it"

    return made


TOOLS = [
    named("drop", risk=CRITICAL),
    named("look", read_only=True),
    named("wipe", source="hub", destructive=True),
    named("list", source="hub", read_only=True),
]


def agent(**parts: Any) -> Agent:
    return Agent("ops", **{"model": MODEL, "tools": TOOLS, **parts})


def operator(**tables: Any) -> Operator:
    return Operator(Tables.model_validate(tables), "/etc/placet.toml")


def layers(**said: str | None) -> Policy:
    return Policy(**{where: layer(drop=w) if w else Layer() for where, w in said.items()})  # type: ignore[arg-type]


# Whose word holds


@pytest.mark.parametrize(
    ("operator", "agent", "stage", "expected"),
    [
        ("ask", "allow", None, "ask"),
        ("ask", "allow", "allow", "ask"),
        ("deny", "allow", "allow", "deny"),
        ("allow", "ask", None, "ask"),
        ("allow", "deny", None, "deny"),
        ("allow", None, None, "allow"),
        ("allow", "allow", "ask", "ask"),
        (None, "allow", "ask", "ask"),
        (None, "ask", "allow", "allow"),
        (None, "deny", "allow", "deny"),
        (None, "allow", None, "allow"),
        (None, None, "allow", "allow"),
    ],
)
def test_l35_the_operator_bounds_and_the_stage_stands_before_the_agent(
    operator: str | None, agent: str | None, stage: str | None, expected: str
) -> None:
    policy = layers(operator=operator, agent=agent, stage=stage)
    assert word(call(risk=CRITICAL), policy) == expected


@pytest.mark.parametrize(
    ("operator", "agent", "stage", "expected"),
    [
        (None, None, None, HIGH),
        (None, CRITICAL, None, CRITICAL),
        (None, SAFE, CRITICAL, CRITICAL),
        (HIGH, CRITICAL, None, HIGH),
        (HIGH, SAFE, None, SAFE),
        (SAFE, CRITICAL, CRITICAL, SAFE),
        (CRITICAL, None, None, CRITICAL),
        (CRITICAL, HIGH, None, HIGH),
    ],
)
def test_l35_the_operator_bounds_the_threshold(
    operator: ToolRisk | None,
    agent: ToolRisk | None,
    stage: ToolRisk | None,
    expected: ToolRisk,
) -> None:
    said = [Layer(threshold=each) for each in (operator, agent, stage)]
    policy = Policy(operator=said[0], agent=said[1], stage=said[2])
    assert policy.threshold is expected


def test_a_definition_that_says_no_threshold_goes_by_the_operator_s() -> None:
    assert agent().policy.threshold is HIGH
    raised = operator(limits={"approval_required_risk": "critical"})
    assert agent().under(raised).policy.threshold is CRITICAL
    assert agent(approval_required_risk=HIGH).under(raised).policy.threshold is HIGH
    lowered = operator(limits={"approval_required_risk": "safe"})
    assert agent(approval_required_risk=CRITICAL).under(lowered).policy.threshold is SAFE


def test_ap92_what_an_ancestor_denies_always_asks_about_and_gates_holds_for_its_children() -> None:
    above = Layer({"drop": Decision.DENY}, SAFE, frozenset({"pay"}))
    child = Policy(agent=layer(drop="allow", pay="allow"), ancestors=(Layer(), above))
    assert word(call(), child) == "deny"
    assert word(call("pay"), child) == "ask"
    assert word(call("look"), child) == "ask", "its threshold is safe"


STRICTER = [NEVER, DESTRUCTIVE, UNLESS_READ_ONLY, ALWAYS]


@pytest.mark.parametrize("author", [None, *STRICTER])
@pytest.mark.parametrize("bound", [None, *STRICTER])
def test_l35_a_source_goes_by_the_stricter_of_the_two_policies(
    author: SourcePolicy | None, bound: SourcePolicy | None
) -> None:
    rules = operator(sources={"hub": {"policy": bound} if bound else {}})
    policy = agent(sources={"hub": author} if author else {}).under(rules).policy
    said = [each for each in (author, bound) if each]
    found = policy.sources["hub"].about("wipe")
    assert found == (max(said, key=STRICTER.index) if said else None)


def test_l35_the_stricter_word_holds_for_each_tool_of_a_source() -> None:
    rules = operator(sources={"hub": {"policy": "destructive", "tools": {"list": "always"}}})
    own: dict[str, Any] = {"hub": {"policy": "never", "tools": {"list": "never", "wipe": "always"}}}
    found = agent(sources=own).under(rules).policy.sources["hub"]
    assert [found.about(raw) for raw in ("list", "wipe", "other")] == [ALWAYS, ALWAYS, DESTRUCTIVE]
    loose = agent(sources=own).policy.sources["hub"]
    assert [loose.about(raw) for raw in ("list", "wipe", "other")] == [NEVER, ALWAYS, NEVER]


def test_only_the_operator_s_word_makes_a_source_trusted() -> None:
    own = {"hub": Source(trusted=True)}
    reads = of("hub", "list", read_only=True)
    assert word(reads, agent(sources=own).policy) == "ask"
    assert word(reads, agent().under(operator(sources={"hub": {"trusted": True}})).policy) == (
        "allow"
    )


def test_what_a_definition_brings_to_the_safe_list_counts_once_the_operator_says_so() -> None:
    own = agent(safe_commands={"shell": ["mkdir"], "tools": ["drop"]})
    assert word(line("mkdir x"), own.policy) == "ask"
    assert word(call(), Policy(agent=layer(drop="ask"), safe=own.policy.safe)) == "ask"
    for allows in (
        operator(safe_commands={"allow_blueprint": True}),
        operator(agent_safe_commands={"ops": {"allow_blueprint": True}}),
    ):
        assert word(line("mkdir x"), own.under(allows).policy) == "allow"
    other = operator(agent_safe_commands={"other": {"allow_blueprint": True, "shell": ["mkdir"]}})
    assert word(line("mkdir x"), own.under(other).policy) == "ask"


def test_the_operator_s_entries_hold_for_all_agents_or_for_the_one_they_name() -> None:
    says = operator(
        safe_commands={"defaults": False, "shell": ["mkdir"]},
        agent_safe_commands={"ops": {"shell": ["touch"]}},
    )
    ops = agent().under(says).policy
    assert [word(line(text), ops) for text in ("mkdir x", "touch x", "ls")] == [
        "allow",
        "allow",
        "ask",
    ]
    anybody = policy_for(says)
    assert [word(line(text), anybody) for text in ("mkdir x", "touch x")] == ["allow", "ask"]


def test_an_unsandboxed_shell_has_no_safe_list() -> None:
    policy = agent().under(operator(**{"shell": {"unsandboxed": True}})).policy
    assert word(line("ls"), policy) == "ask"


# Words that are refused


@pytest.mark.parametrize(
    ("parts", "where", "allowed"),
    [
        ({"tool_permissions": {"drop": "denny"}}, "tool_permissions.drop", "allow, ask, deny"),
        ({"tool_permissions": {"drop": "Deny"}}, "tool_permissions.drop", "allow, ask, deny"),
        ({"tool_permissions": {"drop": ""}}, "tool_permissions.drop", "allow, ask, deny"),
        ({"tool_permissions": {"drop": None}}, "tool_permissions.drop", "allow, ask, deny"),
        ({"tool_permissions": {"drop": True}}, "tool_permissions.drop", "allow, ask, deny"),
        ({"tool_permissions": {"drop": ["deny"]}}, "tool_permissions.drop", "allow, ask, deny"),
        ({"sources": {"hub": "nevr"}}, "sources.hub", "never, always, destructive"),
        ({"sources": {"hub": {"policy": "x"}}}, "sources.hub.policy", "never, always"),
        ({"sources": {"hub": {"tools": {"wipe": "x"}}}}, "sources.hub.tools.wipe", "never"),
        ({"sources": {"hub": {"tool": {}}}}, "sources.hub.tool", "policy and tools"),
        ({"sources": {"hub": {"trusted": True}}}, "sources.hub.trusted", "policy and tools"),
        ({"sources": {"hub": {"tools": ["wipe"]}}}, "sources.hub.tools", "table"),
        ({"sources": {"hub": None}}, "sources.hub", "never, always"),
        ({"sources": {"hub": ["always"]}}, "sources.hub", "never, always"),
        ({"sources": "always"}, "sources", "table"),
        ({"tool_permissions": ["drop"]}, "tool_permissions", "table"),
        ({"safe_commands": {"shel": []}}, "safe_commands.shel", "shell and tools"),
        ({"safe_commands": {"shell": "ls"}}, "safe_commands.shell", "list"),
        ({"safe_commands": {"tools": [3]}}, "safe_commands.tools", "list"),
        ({"safe_commands": ["ls"]}, "safe_commands", "shell and tools"),
        ({"approval_required_risk": "hgh"}, "approval_required_risk", "safe, high, critical"),
    ],
)
def test_l39_a_misspelt_word_refuses_the_definition_and_says_what_is_allowed(
    parts: dict[str, Any], where: str, allowed: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        agent(**parts)
    said = str(caught.value)
    assert "agent ops" in said
    assert where in said
    assert allowed in said


@pytest.mark.parametrize(
    ("parts", "rule", "name", "known"),
    [
        ({"tool_permissions": {"drp": "deny"}}, "tool_permissions", "drp", "drop, hub__list"),
        ({"tool_permissions": {"wipe": "deny"}}, "tool_permissions", "wipe", "hub__wipe"),
        ({"tool_permissions": {"bash": "deny"}}, "tool_permissions", "bash", "look"),
        ({"allowed_tools": ["lok"]}, "allowed_tools", "lok", "look"),
        ({"allowed_tools": ["*", "!drp"]}, "allowed_tools", "drp", "drop"),
        ({"allowed_tools": ["Drop"]}, "allowed_tools", "Drop", "drop"),
        ({"allowed_tools": ["drop "]}, "allowed_tools", "drop ", "drop"),
        ({"allowed_tools": ["dr*"]}, "allowed_tools", "dr*", "drop"),
        ({"allowed_tools": ["hub__*"]}, "allowed_tools", "hub__*", "hub__wipe"),
        ({"allowed_tools": ["!!drop"]}, "allowed_tools", "!drop", "drop"),
        ({"sources": {"hubb": "always"}}, "sources", "hubb", "hub"),
        ({"sources": {"hub": {"tools": {"wip": "always"}}}}, "sources.hub.tools", "wip", "wipe"),
        (
            {"sources": {"hub": {"tools": {"hub__wipe": "always"}}}},
            "sources.hub.tools",
            "hub__wipe",
            "list, wipe",
        ),
    ],
)
def test_ap76_ap88_an_entry_that_names_no_tool_refuses_the_definition_and_lists_those_there_are(
    parts: dict[str, Any], rule: str, name: str, known: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        agent(**parts)
    said = str(caught.value)
    assert said.startswith(f"agent ops: {rule} names {name!r}")
    assert known in said


def test_a_rule_that_names_a_tool_where_there_is_none_says_so() -> None:
    with pytest.raises(DefinitionError, match="its tools are none"):
        agent(tools=[], tool_permissions={"drop": "deny"})


@pytest.mark.parametrize("words", ["*", "drop", [""], ["!"], ["!*"], [3], [None], 3, {"*": 1}.get])
def test_an_allow_list_that_is_no_list_of_names_is_refused(words: Any) -> None:
    with pytest.raises(DefinitionError, match="allowed_tools"):
        AllowList.of(words)


def test_ap82_the_same_word_said_of_bash_and_of_shell_is_refused_as_one_tool_said_twice() -> None:
    with pytest.raises(DefinitionError, match="bash and shell are one tool"):
        words(Decision, {"bash": "deny", "shell": "allow"}, "agent ops: tool_permissions")
    with pytest.raises(DefinitionError, match="bash and shell are one tool"):
        words(Decision, {"shell": "allow", "bash": "deny"}, "agent ops: tool_permissions")


@pytest.mark.parametrize("said", ["bash", "shell"])
@pytest.mark.parametrize("called", ["bash", "shell"])
def test_l37_bash_and_shell_are_one_tool_for_every_rule(said: str, called: str) -> None:
    made = agent(tools=[named(called)], tool_permissions={said: "deny"})
    assert word(call(called, role=Role.SHELL, line="ls"), made.policy) == "deny"
    for tables in (
        {"tool_permissions": {said: "deny"}},
        {"limits": {"always_ask": [said]}},
    ):
        bounded = agent(tools=[named(called)]).under(operator(**tables)).policy
        assert word(call(called, role=Role.SHELL, line="ls"), bounded) != "allow"
    negated = agent(tools=[named(called)], allowed_tools=["*", f"!{said}"])
    assert word(call(called, role=Role.SHELL, line="ls"), negated.policy) == "ask"


# Names


@pytest.mark.parametrize(
    "names",
    [
        ("delete_file", "Delete_File"),
        ("delete_file", "delete.file"),
        ("delete_file", "deletefile"),
        ("delete_file", "delete__file"),
        ("bash", "shell"),
        ("bash", "Bash"),
        ("_", "__"),
    ],
)
def test_ap76_ap77_names_that_look_alike_are_refused_together(names: tuple[str, str]) -> None:
    assert look_alikes(names) == names
    with pytest.raises(DefinitionError, match="can't be told apart"):
        agent(tools=[named(name) for name in names])


@pytest.mark.parametrize(
    "name",
    [
        *(
            "delete file",
            "delete_file ",
            " x",
            "d\u0435lete",
            "delete\u200bfile",
            "\uff44rop",
            "x\n",
        ),
        *("*", "!drop", "-x", "é", "drop?", "a" * 201, "\x01", "a,b", "a`b"),
    ],
)
def test_ap76_a_tool_s_name_is_of_plain_letters_digits_and_few_signs(name: str) -> None:
    with pytest.raises(DefinitionError, match="name"):
        agent(tools=[named(name)])


@pytest.mark.parametrize("name", ["drop", "Drop_2", "admin.tools.list", "ns/get-it", "a:b", "x@1"])
def test_ap76_names_of_other_programs_are_taken_as_they_are(name: str) -> None:
    assert list(agent(tools=[named(name)]).toolbox) == [name]


def test_ap82_two_sources_may_have_a_tool_of_one_name_and_no_rule_of_one_is_of_the_other() -> None:
    made = agent(
        tools=[named("wipe", source="hub"), named("wipe", source="lab")],
        sources={"hub": "never"},
        tool_permissions={"lab__wipe": "deny"},
    )
    assert sorted(made.toolbox) == ["hub__wipe", "lab__wipe"]
    assert word(of("hub", "wipe"), made.policy) == "allow"
    assert word(of("lab", "wipe"), made.policy) == "deny"


def test_ap82_a_source_and_a_raw_name_that_make_another_s_name_are_refused() -> None:
    with pytest.raises(DefinitionError, match="two tools are called 'hub__lab__wipe'"):
        agent(tools=[named("lab__wipe", source="hub"), named("wipe", source="hub__lab")])
    with pytest.raises(DefinitionError, match="two tools are called 'hub__wipe'"):
        agent(tools=[named("wipe", source="hub"), named("hub__wipe")])


def test_ap88_the_rule_of_one_tool_survives_the_prefix_of_its_source() -> None:
    made = agent(sources={"hub": {"policy": "never", "tools": {"wipe": "always"}}})
    assert judged(of("hub", "wipe"), made.policy).reason.code == "source_always"
    assert word(of("hub", "list"), made.policy) == "allow"


# The parts


def test_a_source_rule_is_a_word_a_table_or_a_source() -> None:
    assert source_of("never", "x") == Source(NEVER)
    assert source_of({"tools": {"a": "always"}}, "x") == Source(None, {"a": ALWAYS})
    assert source_of(Source(ALWAYS), "x") == Source(ALWAYS)


def test_a_policy_word_is_itself_or_names_the_place() -> None:
    assert policy_word(Decision, "ask", "x") is Decision.ASK
    with pytest.raises(DefinitionError, match=r"x\.y = 'aks': use one of allow, ask, deny"):
        words(Decision, {"y": "aks"}, "x")
