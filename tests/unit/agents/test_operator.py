"""The operator's tables of placet.toml: what they say, and what is refused by file, key and word."""

from pathlib import Path

import pytest

from placet import Agent, ScriptedModel, tool
from placet.agents.loading import load_agents
from placet.agents.operator import Operator, read_operator
from placet.agents.scripted import says, steps
from placet.domain.risk import ToolRisk
from placet.errors import SettingsError
from placet.gate import Decision, SourcePolicy
from placet.process.settings import Settings, config_file, load

pytestmark = pytest.mark.unit

WHOLE = """
port = 8301
agents = ["ops.py"]

[tool_permissions]
drop_database = "ask"
shell = "deny"

[limits]
always_ask = ["wire_money", "bash"]
approval_required_risk = "critical"

[sources.github]
policy = "destructive"
trusted = true
tools = { delete_repo = "always" }

[safe_commands]
defaults = false
shell = ["cargo test"]
tools = ["read_file"]
allow_blueprint = true

[agent_safe_commands.coder]
shell = ["./gradlew"]

[shell]
unsandboxed = true
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "placet.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    path = written(folder, text)
    with pytest.raises(SettingsError) as caught:
        read_operator(path)
    said = str(caught.value)
    assert str(path) in said
    return said


def test_every_table_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    operator = read_operator(path)
    layer = operator.layer
    assert layer.tools == {"drop_database": Decision.ASK, "bash": Decision.DENY}
    assert layer.always_ask == {"wire_money", "bash"}
    assert layer.threshold is ToolRisk.CRITICAL
    source = operator.bounding({})["github"]
    assert (source.about("delete_repo"), source.about("x")) == (
        SourcePolicy.ALWAYS,
        SourcePolicy.DESTRUCTIVE,
    )
    assert source.trusted
    assert [each.source for each in operator.safe_layers("coder")] == ["config", "agent"]
    assert {each.file for each in operator.safe_layers("coder")} == {str(path)}
    assert operator.allows_blueprint("coder")
    assert operator.tables.shell.unsandboxed


def test_a_file_that_is_not_there_says_nothing_but_the_shipped_list(tmp_path: Path) -> None:
    operator = read_operator(tmp_path / "placet.toml")
    assert operator.layer == Operator().layer
    assert [each.source for each in operator.safe_layers("ops")] == ["default", "config"]
    assert not operator.allows_blueprint("ops")


def test_a_file_without_our_tables_says_nothing_either(tmp_path: Path) -> None:
    assert read_operator(written(tmp_path, "port = 1\n")).layer == Operator().layer


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("[tool_permission]\nx = 'deny'", "[tool_permission]", "tool_permissions, safe_commands"),
        ("[[limit]]\nalways_ask = []", "[limit]", "limits"),
        ("[agent_safe_command.ops]\nshell = []", "[agent_safe_command]", "agent_safe_commands"),
        ("tol_permissions.x = 'deny'", "[tol_permissions]", "tool_permissions"),
        ("[limits]\nalwys_ask = ['x']", "limits.alwys_ask", "always_ask, approval_required_risk"),
        ("[safe_commands]\nshel = ['ls']", "safe_commands.shel", "allow_blueprint, defaults"),
        ("[safe_commands]\ndefault = false", "safe_commands.default", "defaults"),
        (
            "[agent_safe_commands.ops]\nallow_blueprints = true",
            "agent_safe_commands.ops.allow_blueprints",
            "tools, shell, allow_blueprint",
        ),
        (
            "[agent_safe_commands.ops]\ndefaults = false",
            "agent_safe_commands.ops.defaults",
            "tools, shell, allow_blueprint",
        ),
        ("[sources.hub]\npolcy = 'never'", "sources.hub.polcy", "policy, tools, trusted"),
        ("[shell]\nsandboxed = false", "shell.sandboxed", "unsandboxed"),
        ("[tool_permissions]\nx = 'denny'", "tool_permissions.x = 'denny'", "allow, ask, deny"),
        ("[tool_permissions]\nx = 'DENY'", "tool_permissions.x", "allow, ask, deny"),
        ("[sources.hub]\npolicy = 'nevr'", "sources.hub.policy = 'nevr'", "never, always"),
        ("[sources.hub.tools]\nx = 'on'", "sources.hub.tools.x = 'on'", "unless_read_only"),
        (
            "[limits]\napproval_required_risk = 'hgh'",
            "limits.approval_required_risk = 'hgh'",
            "safe, high, critical",
        ),
        ("[tool_permissions]\nx = true", "tool_permissions.x", "string"),
        ("[limits]\nalways_ask = 'bash'", "limits.always_ask", "list"),
        ("[limits]\nalways_ask = [1]", "limits.always_ask.0", "string"),
        ("[sources.hub]\ntrusted = 'yes'", "sources.hub.trusted", "boolean"),
        ("[sources]\nhub = 'never'", "sources.hub", "valid dictionary"),
        ("[[tool_permissions]]\nx = 'deny'", "tool_permissions", "dictionary"),
        ("tool_permissions = 'deny'", "tool_permissions", "dictionary"),
        ("[tool_permissions]\nbash = 'deny'\nshell = 'allow'", "tool_permissions", "one tool"),
    ],
)
def test_l39_what_is_misspelt_is_named_with_its_file_key_and_the_words_there_are(
    tmp_path: Path, text: str, key: str, allowed: str
) -> None:
    said = refusal(tmp_path, text)
    assert key in said
    assert allowed in said


def test_every_mistake_in_the_keys_is_told_at_once(tmp_path: Path) -> None:
    said = refusal(tmp_path, "[limits]\na = 1\n[shell]\nb = 1\n")
    assert "limits.a" in said
    assert "shell.b" in said


@pytest.mark.parametrize("text", ["port = = 1", "[limits", "\x00"])
def test_ap46_a_file_that_can_not_be_read_is_no_empty_set_of_rules(
    tmp_path: Path, text: str
) -> None:
    assert "can't be read" in refusal(tmp_path, text)


def test_ap46_nor_is_a_folder_or_one_that_is_no_utf8(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="can't be read"):
        read_operator(tmp_path)
    (tmp_path / "placet.toml").write_bytes(b"[tool_permissions]\nx = '\xff'\n")
    with pytest.raises(SettingsError, match="can't be read"):
        read_operator(tmp_path / "placet.toml")


def test_ap46_nor_is_the_one_that_placet_config_names_and_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "plcet.toml"
    monkeypatch.setenv("PLACET_CONFIG", str(gone))
    for read in (config_file, lambda: load(Settings)):
        with pytest.raises(SettingsError, match="PLACET_CONFIG") as caught:
            read()
        assert str(gone) in str(caught.value)
    gone.write_text("")
    assert config_file() == gone


def test_the_file_is_read_as_utf8_wherever_it_runs(tmp_path: Path) -> None:
    operator = read_operator(written(tmp_path, "[agent_safe_commands.'grün']\nshell = ['x']\n"))
    assert [each.shell for each in operator.safe_layers("grün")][-1] == ("x",)


# What the operator says of nothing that there is


@tool(source="hub")
def wipe() -> str:
    """Wipe it."""
    return "wiped"


@tool
def look() -> str:
    """Look."""
    return "seen"


ops = Agent("ops", model=ScriptedModel(steps(says("done"))), tools=[wipe, look])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool_permissions]\nwipe = 'deny'", "tool_permissions names 'wipe'"),
        ("[limits]\nalways_ask = ['lok']", "limits.always_ask names 'lok'"),
        ("[sources.hubb]\npolicy = 'always'", "sources names 'hubb'"),
        ("[sources.hub.tools]\nwip = 'always'", "sources.hub.tools names 'wip'"),
        ("[agent_safe_commands.opps]\nshell = []", "agent_safe_commands names 'opps'"),
    ],
)
def test_ap88_what_the_operator_says_of_nothing_is_reported_when_agents_are_loaded(
    tmp_path: Path, text: str, told: str
) -> None:
    path = written(tmp_path, text)
    loaded = load_agents([__name__], read_operator(path))
    assert list(loaded.agents) == ["ops"], "the definition itself is right"
    [problem] = loaded.problems
    assert problem.startswith(f"{path}: {told}")


def test_ap88_what_names_something_that_there_is_or_a_builtin_is_not(tmp_path: Path) -> None:
    text = """
[tool_permissions]
hub__wipe = "ask"
bash = "deny"
ask_user_text = "deny"
[limits]
always_ask = ["look", "delegate", "shell", "write_file"]
[sources.hub]
tools = { wipe = "always" }
[agent_safe_commands.ops]
shell = []
"""
    assert load_agents([__name__], read_operator(written(tmp_path, text))).problems == []
    assert load_agents([__name__]).problems == []
