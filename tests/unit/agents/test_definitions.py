"""Definitions in TOML and JSON files: what is read, and what is refused by file, key and word."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from placet import Agent, InteractionPoint, ScriptedModel, Stage, ToolRisk, tool
from placet.agents.definitions import read_definition
from placet.agents.loading import load_agents
from placet.agents.operator import read_operator
from placet.agents.scripted import says, steps
from placet.agents.staging import layer_of
from placet.agents.workspace.own import own_here
from placet.errors import DefinitionError, SettingsError
from placet.gate import Decision

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "coder.toml"
HEAD = 'model = "openai:gpt-5"\n'


@tool
def deploy(service: str) -> str:
    """Deploy a service."""
    return service


not_a_tool = 3


def written(folder: Path, text: str, name: str = "coder.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str, name: str = "coder.toml") -> str:
    path = written(folder, text, name)
    with pytest.raises(DefinitionError) as caught:
        read_definition(path)
    said = str(caught.value)
    assert said.startswith(str(path)), said
    return said


def agent(**given: Any) -> Agent:
    return Agent("coder", model=ScriptedModel(steps(says("Done."))), **given)


def test_the_example_has_three_stages_and_a_point_that_asks_also_unattended() -> None:
    coder = read_definition(EXAMPLE)
    plan, build, report = coder.stages
    assert [stage.name for stage in coder.stages] == ["plan", "build", "report"]
    assert coder.tool_permissions["bash"] == "ask"
    assert coder.human_input.expires_in_seconds == 86_400
    [point] = plan.interaction_points
    assert (point.unattended, point.document_region) == ("ask", "plan")
    doings = [(point.approves(o), point.edits(o), point.aborts(o)) for o in point.options]
    assert doings == [
        (True, False, False),
        (False, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert point.directive("Revise")
    assert (build.mode, build.accepts_messages) == ("autonomous", True)
    assert not report.accepts_messages
    assert layer_of(report).tools == {"bash": Decision.DENY}


def test_a_runner_loads_the_example_beside_others() -> None:
    loaded = load_agents([str(EXAMPLE), "placet.agents.ops"])
    assert loaded.problems == []
    assert {"coder", "ops"} <= set(loaded.agents)
    assert EXAMPLE in loaded.files


def test_what_cannot_be_read_is_a_problem_and_the_others_are_loaded(tmp_path: Path) -> None:
    broken = str(written(tmp_path, "name = ?\n"))
    loaded = load_agents([broken, str(tmp_path / "missing.json"), str(EXAMPLE)])
    assert set(loaded.agents) == {"coder"}
    first, second = loaded.problems
    assert first.startswith(f"{broken} can't be read: ")
    assert "line 1" in first
    assert second == f"{tmp_path / 'missing.json'}: no such file"


def test_json_says_the_same_as_toml(tmp_path: Path) -> None:
    text = json.dumps(tomllib.loads(EXAMPLE.read_text("utf-8")))
    one, two = read_definition(EXAMPLE), read_definition(written(tmp_path, text, "coder.json"))
    assert one.stages == two.stages
    assert (one.name, one.instructions, one.builtins) == (two.name, two.instructions, two.builtins)


def test_a_file_says_the_same_as_python() -> None:
    plan = read_definition(EXAMPLE).stages[0]
    assert plan == Stage(
        name="plan",
        mode="interactive_points",
        instructions="Read what is there, then write the plan. Change nothing.",
        available_tools=["read_file", "list_dir", "ask_user_text"],
        required_tools=["ask_user_text"],
        interaction_points=[
            InteractionPoint(
                name="plan_approval",
                prompt="Is this the plan to carry out?",
                unattended="ask",
                options=["Approve", "Revise", "Edit", "Abort"],
                abort_options=["Abort"],
                edit_options=["Edit"],
                directives={
                    "Revise": "Ask with ask_user_text what should be different, then plan again."
                },
                document_region="plan",
            )
        ],
    )


def test_every_key_reaches_the_agent(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"""
        name = "keeper"
        instructions = "Keep."
        model = "openai:gpt-5"
        tools = ["{__name__}:deploy"]
        builtins = ["bash"]
        folder = "{tmp_path}"
        max_steps = 7
        approval_required_risk = "critical"
        allowed_tools = ["*", "!deploy"]
        edits = true
        taint = true
        [tool_permissions]
        shell = "ask"
        [safe_commands]
        shell = ["rg"]
        [human_input]
        expires_in_seconds = 60
        approvers = ["bob"]
        """,
    )
    keeper = read_definition(path)
    assert (keeper.name, keeper.instructions, keeper.max_steps) == ("keeper", "Keep.", 7)
    assert set(keeper.toolbox) == {"deploy", "bash"}
    assert keeper.approval_required_risk is ToolRisk.CRITICAL
    assert keeper.policy.asks_always("deploy") == "`!deploy` in allowed_tools"
    assert keeper.policy.word_about("bash") is Decision.ASK
    assert (keeper.edits, keeper.taint, keeper.human_input.approvers) == (True, True, ("bob",))
    assert keeper.folder == str(tmp_path)


def test_a_file_without_a_name_is_called_as_it_is(tmp_path: Path) -> None:
    assert read_definition(written(tmp_path, HEAD, "night-watch.toml")).name == "night-watch"


def test_no_agent_gets_at_the_files_that_describe_one(tmp_path: Path) -> None:
    own = own_here({"PLACET_AGENTS": "coder.toml, other.json,a.py,my.agents"}, tmp_path)
    assert own.definitions == tuple(
        tmp_path / each for each in ("coder.toml", "other.json", "a.py")
    )


def test_nor_at_the_module_of_its_tools(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + f'tools = ["{__name__}:deploy"]')
    assert load_agents([str(path)]).files == [path, Path(__file__)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("instrucions = 'x'", "there is no 'instrucions'; use one of name, instructions, model"),
        ("[human_input]\nexpires = 60", "there is no 'human_input.expires'; use one of expires_in"),
        ("[human_input]\nexpires_in_seconds = 5", "use 60 to 2592000"),
        ("[human_input]\nexpires_in_seconds = '60'", "human_input.expires_in_seconds: "),
        ("max_steps = true", "max_steps: "),
        ("max_steps = 0", "max_steps: "),
        ("edits = 1", "edits: "),
        ("builtins = ['bahs']", "no builtin 'bahs'"),
        ("[tool_permissions]\nbash = 'ask'", "tool_permissions names 'bash'"),
        ("approval_required_risk = 'hgih'", "is none of safe, high, critical"),
        ("[safe_commands]\ndefaults = true", "safe_commands.defaults: use shell and tools"),
        ("[sources.github]\npolicy = 'never'", "sources names 'github'"),
        ("tools = ['json']", "write 'json' as module:tool_name"),
        ("tools = ['.x:y']", "write '.x:y' as module:tool_name"),
        ("tools = ['no_such_module_x:y']", "can't be imported: ModuleNotFoundError"),
        (f"tools = ['{__name__}:not_a_tool']", "is no tool; decorate a function with @tool"),
        (f"tools = ['{__name__}:gone']", "is no tool"),
        ("stages = ['plan']", "stages: "),
        ("[stages.plan]\nmode = 'manual'", "stage 'plan': mode = 'manual': use one of autonomous"),
        ("[stages.plan]\nname = 'x'", "stage 'plan': leave `name` out"),
        ("[stages.plan]\nself = 1", "stage 'plan': there is no 'self'; use name, mode"),
        ("[stages.'a b']", "stage 'a b': name: use letters"),
        ("name = 'agt_x'", "agt_ is for ids"),
        ("model = 'gpt-5'", "write it as provider:name"),
        ("when = 2026-01-01", "there is no 'when'"),
    ],
)
def test_a_slip_is_refused_with_file_key_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    head = "" if text.startswith("model") else HEAD
    assert said in refusal(tmp_path, head + text)


def test_l85_an_unknown_word_of_a_point_names_file_stage_point_and_words(tmp_path: Path) -> None:
    text = EXAMPLE.read_text("utf-8").replace('"ask"          #', '"askk"          #')
    said = refusal(tmp_path, text)
    assert said.endswith(
        "stage 'plan': interaction point 'plan_approval': unattended = 'askk': use one of "
        "auto_approve, ask"
    )


def test_l86_the_other_words_are_taken_in_files_too(tmp_path: Path) -> None:
    text = EXAMPLE.read_text("utf-8").replace("\noptions =", "\nchoices =")
    path = written(tmp_path, text.replace("\ndirectives =", "\nfollowups ="))
    assert read_definition(path).stages == read_definition(EXAMPLE).stages


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model": "a:b", "model": "c:d"}', "'model' is said twice"),
        ('{"max_steps": NaN}', "NaN is no number"),
        ("[]", "not an object"),
        ("{", "can't be read"),
        ("[" * 100_000, "can't be read"),
        ('{"name": null, "model": 3}', "model: "),
    ],
)
def test_odd_json_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text, "coder.json")


@pytest.mark.parametrize("table", ["limits", "shell", "agent_safe_commands", "taint"])
def test_the_operator_s_file_is_told_from_a_definition(tmp_path: Path, table: str) -> None:
    assert "this is the operator's file" in refusal(tmp_path, f"[{table}]\n", "ours.toml")
    assert "this is the operator's file" in refusal(tmp_path, "", "placet.toml")


def test_a_definition_is_told_from_the_operator_s_file() -> None:
    with pytest.raises(SettingsError, match="a definition is a file of its own"):
        read_operator(EXAMPLE)


@pytest.mark.parametrize("key", ["available_tools", "required_tools"])
def test_l91_a_stage_names_tools_that_the_agent_has(key: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        agent(builtins=["bash"], stages=[Stage(name="plan", **{key: ["read_file"]})])
    assert str(caught.value) == (
        f"agent coder: stage 'plan': {key} names 'read_file'; its tools are bash"
    )
    assert agent(builtins=["bash"], stages=[Stage(**{key: ["shell"]})]).stages


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([Stage(tool_permissions={"bash": "aks"})], "stage 'main': tool_permissions.bash = 'aks'"),
        ([Stage(tool_permissions={"curl": "ask"})], "tool_permissions names 'curl'"),
        ([Stage(tool_permissions={"bash": "ask", "shell": "ask"})], "are one tool"),
        ([Stage(model="gpt-5")], "stage 'main': model 'gpt-5': write it as provider:name"),
        ([Stage(), Stage()], "two stages are called 'main'"),
        ([{"name": "plan"}], "stages takes a list of Stage"),
        (Stage(), "stages takes a list of Stage"),
        (None, "stages takes a list of Stage"),
    ],
)
def test_a_slip_in_the_stages_of_an_agent_is_refused(stages: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=r"^agent coder: ") as caught:
        agent(builtins=["bash"], stages=stages)
    assert said in str(caught.value)


def test_a_stage_s_permissions_are_a_layer_of_the_gate() -> None:
    assert layer_of(Stage(tool_permissions={"shell": "allow"})).tools == {"bash": Decision.ALLOW}
    assert layer_of(Stage()).tools == {}


def test_the_page_s_file_and_its_python_are_one_agent(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "stages-and-points.md").read_text("utf-8")
    [toml] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    [python] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    files = [
        str(written(tmp_path, text, f"coder.{end}"))
        for text, end in ((toml, "toml"), (python, "py"))
    ]
    one, two = (load_agents([file]).agents["coder"] for file in files)
    assert one.stages == two.stages
    assert set(one.toolbox) == set(two.toolbox)


def test_the_page_names_every_field() -> None:
    page = (ROOT / "docs" / "stages-and-points.md").read_text("utf-8")
    for field in (*Stage.model_fields, *InteractionPoint.model_fields):
        assert f"`{field}`" in page or field == "interaction_points", field
