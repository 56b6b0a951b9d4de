"""What is Placet's, what is passed on to lines, what is shown of output: the parts that start nothing."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.agents.loading import load_agents
from placet.agents.workspace import Own, ShellSettings, Workspace, own_here
from placet.agents.workspace.environment import TRUSTED_PATH, passes, shell_environment
from placet.agents.workspace.output import MOST_ENCODED, Output
from placet.errors import SettingsError
from tests.unit.workspace.desk import Desk

pytestmark = pytest.mark.unit

HERE = Path("/home/placet")
OWN = Own(
    HERE / "placet.toml",
    (HERE / ".placet", Path("/srv/state")),
    (HERE / "agents/ops.py",),
    (HERE / "venv",),
)


@pytest.mark.parametrize(
    "path",
    [
        "placet.toml",
        "sub/placet.toml",
        "PLACET.TOML",
        ".placet",
        ".placet/data/key",
        "./.placet/x",
        "sub/.Placet/x",
        "agents/ops.py",
        "agents//ops.py",
        "./agents/./OPS.py",
        "agents/../b",
        "../x",
        "venv/lib/x.py",
        "/home/placet/agents/ops.py",
        "/srv/state/runs.db",
    ],
)
def test_a_person_is_asked_before_what_is_placets_is_written(path: str) -> None:
    assert Workspace(HERE, own=OWN).guarded(path)


@pytest.mark.parametrize(
    "path", ["a.txt", "agents", "agents/ops.py.bak", "placet.toml.example", "venv2/x", "", "."]
)
def test_nobody_is_asked_about_the_rest(path: str) -> None:
    assert not Workspace(HERE, own=OWN).guarded(path)


def test_placets_code_may_be_read_and_its_secrets_may_not() -> None:
    workspace = Workspace(HERE, own=OWN)
    assert not workspace.guarded("venv/lib/x.py", writing=False)
    assert workspace.guarded(".placet/data/key", writing=False)
    assert workspace.guarded("agents/ops.py", writing=False)


@pytest.mark.parametrize(
    ("tool", "asks"),
    [("read_file", True), ("write_file", True), ("edit_file", True), ("list_dir", True)],
)
def test_every_file_tool_asks_by_itself_before_it_touches_what_is_placets(
    desk: Desk, tool: str, asks: bool
) -> None:
    made = desk.tool(tool)
    assert made.asks_for({"path": ".placet/x"}) is asks
    assert made.asks_for({"path": "b.txt"}) is False
    assert desk.tool("list_dir").asks_for({}) is False


def test_what_is_placets_is_what_its_variables_name() -> None:
    named = {
        "PLACET_CONFIG": "etc/my.toml",
        "PLACET_DATA": "/srv/data",
        "PLACET_AGENTS": "a.py, sub/b.py,my.module",
    }
    own = own_here(named, HERE)
    assert own.config == HERE / "etc/my.toml"
    assert own.data == (HERE / ".placet", Path("/srv/data"))
    assert own.definitions == (HERE / "a.py", HERE / "sub/b.py")


def test_without_variables_it_is_what_lies_in_the_current_folder() -> None:
    own = own_here({}, HERE)
    assert (own.config, own.data, own.definitions) == (
        HERE / "placet.toml",
        (HERE / ".placet",),
        (),
    )
    assert own_here({"PLACET_DATA": ":memory:"}, HERE).data == own.data
    assert Path(sys.prefix) in own.program


def test_every_file_of_agents_is_kept_from_every_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "from placet import Agent, ScriptedModel\n"
    for name in ("one", "two"):
        made = f"{name} = Agent('{name}', model=ScriptedModel(lambda c: ''))\n"
        (tmp_path / f"{name}.py").write_text(source + made)
    (tmp_path / "broken.py").write_text("1/0")
    loaded = load_agents(["one.py", "two.py", "broken.py"])
    assert len(loaded.agents) == 2
    for agent in loaded.agents.values():
        for name in ("one.py", "two.py", "broken.py"):
            assert agent.workspace.guarded(name)
        assert not agent.workspace.guarded("three.py")


def test_a_variable_is_passed_only_where_it_is_listed(tmp_path: Path) -> None:
    given_ = {"A": "1", "B": "2", "TZ": "UTC"}
    workspace = Workspace(tmp_path, ShellSettings(environment=("A", "C")))
    assert shell_environment(workspace, given_) == {
        "A": "1",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "PATH": TRUSTED_PATH,
        "TERM": "dumb",
        "TZ": "UTC",
    }


@pytest.mark.parametrize(
    "name",
    [
        *("BASH_ENV", "ENV", "BASH_FUNC_ls%%", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT", "IFS"),
        *("LD_PRELOAD", "LD_AUDIT", "DYLD_X", "LESSOPEN", "GIT_DIR", "PAGER", "SYSTEMD_PAGER"),
        *(
            "EDITOR",
            "RIPGREP_CONFIG_PATH",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "PLACET_X",
            "HOME",
            "TERM",
        ),
        *("a b", "", "ld_preload", "Bash_Env"),
    ],
)
def test_some_variables_are_never_passed(tmp_path: Path, name: str) -> None:
    workspace = Workspace(tmp_path, ShellSettings(environment=(name,)))
    told = shell_environment(workspace, {name: "evil"})
    assert "evil" not in told.values()


@pytest.mark.parametrize(
    ("value", "passed"), [("C", True), ("de_DE.UTF-8", True), ("ja_JP.SJIS", False), ("", False)]
)
def test_bash_reads_lines_in_no_encoding_but_utf_8(value: str, passed: bool) -> None:
    assert passes("LC_ALL", value) is passed
    assert passes("LANG", value) is passed


def test_a_listed_path_loses_what_the_agent_can_put_programs_into(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "bin").mkdir(parents=True)
    (tmp_path / "link").symlink_to(work / "bin")
    workspace = Workspace(work, ShellSettings(environment=("PATH",)))
    path = f".::bin:{work}/bin:{tmp_path}/link:{tmp_path}/tools:/usr/bin"
    assert shell_environment(workspace, {"PATH": path})["PATH"] == f"{tmp_path}/tools:/usr/bin"
    assert shell_environment(workspace, {"PATH": f"{work}/bin"})["PATH"] == TRUSTED_PATH


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"seconds": 0}, "seconds is 0"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"output_bytes": 10}, "output_bytes is 10; use 1024 or more"),
        ({"readable": (Path("/"),)}, "readable holds '/'"),
        ({"readable": (Path("tools"),)}, "readable holds 'tools'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        ShellSettings(**settings)  # type: ignore[arg-type]


@given(parts=st.lists(st.binary(max_size=400), max_size=30), most=st.integers(2, 300))
def test_output_keeps_its_start_and_its_end_in_bounded_room(parts: list[bytes], most: int) -> None:
    output, whole = Output(most), b"".join(parts)
    for part in parts:
        output.add(part)
        assert len(output._head) + len(output._tail) <= 3 * most
    assert output.total == len(whole)
    assert output.cut is (len(whole) > most)
    if output.cut:
        first, last = most // 2, most - most // 2
        left_out = f"\n[... {len(whole) - most} bytes left out ...]\n"
        shown = whole[:first].decode("utf-8", "replace") + left_out
        assert output.text == shown + whole[-last:].decode("utf-8", "replace")
    else:
        assert output.text == whole.decode("utf-8", "replace")


def test_output_that_is_no_text_still_fits() -> None:
    output = Output(1_000_000)
    output.add(b"\x01" * 900_000)
    assert len(output.text) * 6 <= MOST_ENCODED
    assert output.total == 900_000


def test_what_the_file_names_is_kept_from_agents_as_what_the_environment_names(
    tmp_path: Path,
) -> None:
    (tmp_path / "placet.toml").write_text('data = "stored"\nagents = ["mine.py", "my.module"]\n')
    own = own_here({}, tmp_path)
    assert own.data == (tmp_path / ".placet", tmp_path / "stored")
    assert own.definitions == (tmp_path / "mine.py",)


def test_a_file_that_can_t_be_read_hides_nothing_less(tmp_path: Path) -> None:
    (tmp_path / "placet.toml").write_text("= broken")
    assert own_here({"PLACET_DATA": "kept"}, tmp_path).data == (
        tmp_path / ".placet",
        tmp_path / "kept",
    )
