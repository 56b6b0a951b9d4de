"""The shell tool: one line, a clean shell, and a result that fits."""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from placet import Agent, ApprovalRequest, ScriptedModel
from placet.agents.executor import MAX_RESULT_BYTES
from placet.agents.scripted import calls, says, steps
from placet.agents.workspace import ShellSettings, Workspace
from placet.agents.workspace.shell import run_line
from placet.errors import SettingsError, ToolError
from placet.kernel.journal import ToolFinished
from tests.integration.workspace.site import Site

pytestmark = pytest.mark.integration


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


HOSTILE = {
    "BASH_ENV": "evil.sh",
    "ENV": "evil.sh",
    "BASHOPTS": "extglob",
    "SHELLOPTS": "noexec",
    "POSIXLY_CORRECT": "1",
    "BASH_FUNC_ls%%": "() { echo evil; }",
    "LD_PRELOAD": "evil.so",
    "LD_LIBRARY_PATH": "/evil",
    "DYLD_INSERT_LIBRARIES": "evil",
    "LESSOPEN": "|evil",
    "GIT_SSH_COMMAND": "evil",
    "PAGER": "evil",
    "GIT_PAGER": "evil",
    "MANPAGER": "evil",
    "EDITOR": "evil",
    "RIPGREP_CONFIG_PATH": "evil",
    "NODE_OPTIONS": "--require evil",
    "PYTHONSTARTUP": "evil.py",
    "PLACET_MONGO_URL": "mongodb://user:password@host/",
    "OPENAI_API_KEY": "sk-evil",
    "PATH": "/evil:.",
    "HOME": "/evil",
    "LC_ALL": "ja_JP.SJIS",
    "TZ": "Europe/Paris",
}


async def test_a_line_gets_the_environment_that_is_allowed_and_nothing_else(
    any_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    (any_site.folder / "evil.sh").write_text("echo evil")
    said = await any_site.says("env; ls")
    *lines, file = said.split()
    assert file == "evil.sh"
    assert {line for line in lines if not line.startswith(("SHLVL=", "_=", "OLDPWD="))} == {
        "LANG=C.UTF-8",
        f"HOME={any_site.folder}",
        f"PWD={any_site.folder}",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TERM=dumb",
        "TZ=Europe/Paris",
    }


async def test_each_line_has_a_new_shell(workspace: Workspace) -> None:
    first = (
        "export X=1; alias ls=evil; ls() { echo evil; }; hash -p /evil cat; cd /; set -u; umask 0"
    )
    await run_line(workspace, first)
    told = await run_line(workspace, "echo ${X-unset}; type ls; type -P cat; pwd; umask; alias")
    assert told["stdout"].split("\n")[:5] == [
        "unset",
        "ls is /usr/bin/ls",
        "/usr/bin/cat",
        str(workspace.folder),
        f"{current_umask():04o}",
    ]


async def test_no_file_of_the_folder_is_run_by_the_shell_itself(workspace: Workspace) -> None:
    for name in (".bashrc", ".bash_profile", ".profile", ".inputrc", ".bash_logout"):
        (workspace.folder / name).write_text("echo evil\n")
    told = await run_line(workspace, "true")
    assert told == {"exit_code": 0, "stdout": "", "stderr": ""}


async def test_there_is_nothing_to_read_and_no_terminal(workspace: Workspace) -> None:
    told = await run_line(workspace, "cat; tty; : </dev/tty")
    assert told["stdout"] == "not a tty\n"
    assert "/dev/tty" in told["stderr"]


async def test_a_failing_line_is_a_result(workspace: Workspace) -> None:
    told = await run_line(workspace, "echo out; echo err >&2; exit 4")
    assert told == {"exit_code": 4, "stdout": "out\n", "stderr": "err\n"}


async def test_a_line_is_given_to_bash_as_it_is(workspace: Workspace) -> None:
    told = await run_line(workspace, "echo $'a\\tb' \"$HOME\" '$(x)' é; # comment\necho two")
    assert told["stdout"] == f"a\tb {workspace.folder} $(x) é\ntwo\n"


async def test_of_long_output_the_start_and_the_end_are_kept(workspace: Workspace) -> None:
    told = await run_line(workspace, "seq 100000; seq 3 >&2")
    assert told["stdout"].startswith("1\n2\n3\n")
    assert told["stdout"].endswith("99999\n100000\n")
    assert "bytes left out ...]" in told["stdout"]
    assert told["stdout_bytes"] == 588_895
    assert len(told["stdout"]) < 66_000
    assert told["stderr"] == "1\n2\n3\n"
    assert "stderr_bytes" not in told


@pytest.mark.parametrize("source", ["/dev/urandom", "/dev/zero"])
async def test_whatever_is_written_the_result_can_be_kept(
    workspace: Workspace, source: str
) -> None:
    told = await run_line(workspace, f"head -c 200000 {source} | tee /dev/stderr")
    assert told["stdout_bytes"] == told["stderr_bytes"] == 200_000
    assert len(orjson.dumps(told)) < MAX_RESULT_BYTES


async def test_bytes_that_are_no_text_are_replaced(workspace: Workspace) -> None:
    told = await run_line(workspace, r"printf 'a\xff\xc3b\xed\xa0\x80'")
    assert told["stdout"].startswith("a\ufffd\ufffdb\ufffd")
    told["stdout"].encode()


@pytest.mark.parametrize(
    ("line", "seconds", "said"),
    [
        ("echo a\0b", None, "NUL character"),
        ("echo \ud800", None, "half a character"),
        ("echo " + "x" * 100_000, None, "100005 bytes, over 100000: write a file"),
        ("echo", 0, "seconds is 0"),
        ("echo", -1, "seconds is -1"),
        ("echo", float("nan"), "seconds is nan"),
    ],
)
async def test_a_line_that_bash_can_not_be_given_runs_nothing(
    workspace: Workspace, line: str, seconds: float | None, said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        await run_line(workspace, line, seconds)


async def test_the_operators_time_limit_holds_for_the_model(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, ShellSettings(seconds=0.3))
    told = await run_line(workspace, "echo begun; sleep 60", seconds=1_000)
    assert told["exit_code"] is None
    assert told["stdout"] == "begun\n"
    assert told["ended"] == "it took longer than 0.3 s, and was ended with all that it started"


async def test_an_account_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\[shell\] user is 'nobody-here'"):
        await run_line(Workspace(tmp_path, ShellSettings(user="nobody-here")), "id")


async def test_an_agent_uses_shell_and_files_in_its_folder(tmp_path: Path) -> None:
    asked: list[str] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request.call.tool)
        return True

    turns = [
        calls(("write_file", {"path": "src/a.txt", "content": "one\n"})),
        calls(("edit_file", {"path": "src/a.txt", "old": "one", "new": "two"})),
        calls(("bash", {"command": "cat src/a.txt; pwd"})),
        calls(("read_file", {"path": "src/a.txt"})),
        calls(("list_dir", {})),
        says("done"),
    ]
    builtins = ["bash", "read_file", "write_file", "edit_file", "list_dir"]
    agent = Agent("a", model=ScriptedModel(steps(*turns)), builtins=builtins, folder=tmp_path)
    run = await agent.run("go", approval_handler=approve)
    results: list[Any] = [e.result.content for e in run.journal if isinstance(e, ToolFinished)]
    assert asked == ["write_file", "edit_file"], "the line holds nothing but safe commands"
    assert results == [
        "wrote 4 bytes to src/a.txt",
        "edited src/a.txt",
        {"exit_code": 0, "stdout": f"two\n{tmp_path}\n", "stderr": ""},
        {"content": "two\n", "size": 4},
        {"entries": ["src/"]},
    ]


def test_an_agent_works_where_it_was_loaded_unless_it_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = Agent("a", model=ScriptedModel(steps(says(""))))
    monkeypatch.chdir("/")
    assert agent.workspace.folder == tmp_path


def current_umask() -> int:
    umask = os.umask(0o022)
    os.umask(umask)
    return umask
