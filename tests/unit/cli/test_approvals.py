"""`placet approvals`: what is on the safe list, and why a line asks."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from placet.cli.__main__ import main
from tests.unit.gate.cases import CASES

pytestmark = pytest.mark.unit

CASE_FILE = Path(__file__).parents[1] / "gate" / "shell_cases.jsonl"

AGENTS = """
from placet import Agent, ScriptedModel, tool
from placet.agents.scripted import says, steps

@tool
def bash(command: str) -> str:
    '''Run it.'''
    return "ran"

MODEL = ScriptedModel(steps(says("done")))
PARTS = dict(model=MODEL, tools=[bash])
plain = Agent("plain", **PARTS)
denies = Agent("denies", tool_permissions={"bash": "deny"}, **PARTS)
allows = Agent("allows", tool_permissions={"shell": "allow"}, **PARTS)
always = Agent("always", allowed_tools=["*", "!bash"], **PARTS)
brings = Agent("brings", safe_commands={"shell": ["mkdir", "ls; x"]}, **PARTS)
classified = Agent("classified", classifier=True, **PARTS)
"""


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal:
    """The command in this process, in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def write(self, text: str, name: str = "placet.toml") -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def placet(self, *words: str) -> Said:
        self._capsys.readouterr()
        code = main(["approvals", *words])
        said = self._capsys.readouterr()
        return Said(code, said.out, said.err)

    def explain(self, *words: str) -> Any:
        done = self.placet("explain", *words, "--json")
        assert done.code == 0, done.err
        assert done.out.count("\n") == 1
        assert set(done.json) == {"decision", "reason", "grants"}
        assert set(done.json["reason"]) == {"code", "sentence"}
        return done.json


@pytest.fixture
def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("PLACET_CONFIG", "PLACET_AGENTS"):
        monkeypatch.delenv(name, raising=False)
    return Terminal(tmp_path, capsys)


@pytest.fixture
def agents(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal.write(AGENTS, "agents.py")
    monkeypatch.setenv("PLACET_AGENTS", "agents.py")
    return terminal


# explain


def test_a_line_that_is_safe_is_allowed_and_says_by_what(terminal: Terminal) -> None:
    assert terminal.explain("cat notes.md | wc -l") == {
        "decision": "allow",
        "reason": {"code": "safe_list", "sentence": "safe or granted: `cat`, `wc`"},
        "grants": ["cat", "wc"],
    }


def test_a_line_that_asks_says_what_is_not_covered_and_what_a_prompt_could_grant(
    terminal: Terminal,
) -> None:
    found = terminal.explain("cat notes.md && git push")
    assert (found["decision"], found["reason"]["code"]) == ("ask", "not_covered")
    assert "`git push`" in found["reason"]["sentence"]
    assert found["grants"] == ["cat", "git push"]


def test_a_line_with_nothing_to_grant_has_null_there(terminal: Terminal) -> None:
    found = terminal.explain("curl x | sh")
    assert (found["decision"], found["grants"]) == ("ask", None)
    assert terminal.explain("")["decision"] == "ask"


def test_it_is_told_in_words_as_well(terminal: Terminal) -> None:
    done = terminal.placet("explain", "git push")
    assert done.code == 0
    assert done.out.startswith("ask  ")
    assert "(not_covered)" in done.out
    assert "a prompt could grant `git push`" in done.out
    assert "nothing: it asks each time" in terminal.placet("explain", "eval x").out


def test_what_is_shown_is_visible_and_is_no_markup(terminal: Terminal) -> None:
    done = terminal.placet("explain", "x[red]y\u202e\x1b[2J")
    assert "\u202e" not in done.out
    assert "\x1b" not in done.out


def test_entries_and_grants_are_counted_as_if_they_were_there(terminal: Terminal) -> None:
    assert terminal.explain("mkdir x && git push")["decision"] == "ask"
    words = ("mkdir x && git push", "--safe", "mkdir", "--granted", "git push")
    found = terminal.explain(*words)
    assert (found["decision"], found["reason"]["code"]) == ("allow", "granted")
    both = terminal.explain("mkdir x; touch y", "--safe", "mkdir", "--safe", "touch")
    assert both["reason"]["code"] == "safe_list"


def test_no_defaults_leaves_the_shipped_list_out_and_nothing_else(terminal: Terminal) -> None:
    terminal.write('[safe_commands]\nshell = ["mkdir"]\n')
    assert terminal.explain("ls", "--no-defaults")["decision"] == "ask"
    assert terminal.explain("mkdir x", "--no-defaults")["decision"] == "allow"
    assert terminal.explain("ls", "--no-defaults", "--safe", "ls")["decision"] == "allow"


def test_an_entry_that_is_none_is_told_and_covers_nothing(terminal: Terminal) -> None:
    done = terminal.placet("explain", "ls > f", "--safe", "ls > f", "--json")
    assert done.json["decision"] == "ask"
    assert "is skipped" in done.err


def test_what_the_operator_says_counts(terminal: Terminal) -> None:
    terminal.write('[tool_permissions]\nbash = "deny"\n')
    found = terminal.explain("ls")
    assert (found["decision"], found["reason"]["code"]) == ("deny", "denied")
    terminal.write('[limits]\nalways_ask = ["shell"]\n')
    assert terminal.explain("ls", "--granted", "ls")["reason"]["code"] == "always_ask"
    terminal.write("[shell]\nunsandboxed = true\n")
    assert terminal.explain("ls")["decision"] == "ask"
    terminal.write("[safe_commands]\ndefaults = false\n")
    assert terminal.explain("ls")["decision"] == "ask"


def test_a_definition_s_own_rules_count_where_it_is_named(agents: Terminal) -> None:
    words = ("rm -rf build", "--agent")
    found = {name: agents.explain(*words, name) for name in ("plain", "denies", "allows", "always")}
    assert {name: each["decision"] for name, each in found.items()} == {
        "plain": "ask",
        "denies": "deny",
        "allows": "allow",
        "always": "ask",
    }
    assert agents.explain("mkdir x", "--agent", "brings")["decision"] == "ask"
    agents.write("[agent_safe_commands.brings]\nallow_blueprint = true\n")
    assert agents.explain("mkdir x", "--agent", "brings")["decision"] == "allow"


def test_what_a_classifier_decides_is_told_to_be_left_to_it(agents: Terminal) -> None:
    found = agents.explain("rm x", "--agent", "classified")
    assert (found["decision"], found["reason"]["code"]) == ("ask", "classifier")
    assert "when it is called" in found["reason"]["sentence"]
    assert agents.explain("ls", "--agent", "classified")["decision"] == "allow"


def test_agents_are_found_where_the_runner_finds_them(
    agents: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLACET_AGENTS")
    agents.write('agents = ["agents.py"]\n')
    assert agents.explain("x", "--agent", "denies")["decision"] == "deny"


@pytest.mark.parametrize("command", ["explain", "safe"])
def test_an_unknown_definition_exits_with_3_and_names_those_there_are(
    agents: Terminal, command: str
) -> None:
    line = ("ls",) if command == "explain" else ()
    done = agents.placet(command, *line, "--agent", "nobody")
    assert done.code == 3
    assert "allows, always, brings" in done.err
    assert done.out == ""


def test_a_definition_that_can_not_be_loaded_says_why(agents: Terminal) -> None:
    agents.write("[limits]\nx = 1\n")
    assert agents.placet("explain", "ls", "--agent", "plain").code == 2
    agents.write("")
    agents.write(
        AGENTS + "broken = Agent('broken', tool_permissions={'x': 'deny'}, **PARTS)\n", "agents.py"
    )
    done = agents.placet("explain", "ls", "--agent", "broken")
    assert done.code == 3
    assert "tool_permissions names 'x'" in done.err


# --batch


def batch(terminal: Terminal, *lines: Any) -> Said:
    terminal.write("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    (terminal.folder / "placet.toml").rename(terminal.folder / "lines.jsonl")
    return terminal.placet("explain", "--batch", "lines.jsonl")


def test_a_batch_of_every_case_gives_what_is_decided_about_each(terminal: Terminal) -> None:
    done = terminal.placet("explain", "--batch", str(CASE_FILE), "--json")
    assert done.code == 0
    found = [json.loads(line) for line in done.out.splitlines()]
    assert len(found) == len(CASES)
    for case, result in zip(CASES, found, strict=True):
        assert set(result) == {"decision", "reason", "grants"}, case.id
        assert result["decision"] == case.judged().decision, case.id
        if case.firm:
            assert result["decision"] == case.expect, case.id
        if case.firm and case.grants_firm:
            assert result["grants"] == case.grants_offered, case.id


def test_a_line_of_a_batch_says_its_own_list_and_grants(terminal: Terminal) -> None:
    terminal.write('[tool_permissions]\nbash = "deny"\n', "other.toml")
    done = batch(
        terminal,
        {"line": "ls"},
        {"line": "ls", "safe": ["defaults"]},
        "",
        {"line": "mkdir x", "safe": ["mkdir"]},
        {"line": "mkdir x", "granted": ["mkdir"]},
        {"line": "echo '\u2028\x85\x0b'", "safe": ["defaults"], "id": "more is ignored"},
    )
    decisions = [json.loads(line)["decision"] for line in done.out.splitlines()]
    assert decisions == ["ask", "allow", "allow", "allow", "ask"]


def test_a_raw_separator_of_lines_within_a_text_ends_no_line(terminal: Terminal) -> None:
    done = batch(terminal, '{"line": "ls \u2028\x85"}', '{"line": "ls", "safe": ["ls"]}')
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 2


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "ls",
        "[]",
        "3",
        "null",
        "{}",
        '{"line": 3}',
        '{"line": null}',
        '{"line": "ls", "safe": "ls"}',
        '{"line": "ls", "safe": [3]}',
        '{"line": "ls", "safe": null}',
        '{"line": "ls", "granted": "ls"}',
        '{"line": "ls", "granted": [null]}',
        '{"line": "ls", "granted": {"ls": 1}}',
        '{"line": "\\ud800"}',
    ],
)
def test_a_bad_line_of_a_batch_is_named_with_its_file_and_number(
    terminal: Terminal, bad: str
) -> None:
    done = batch(terminal, {"line": "ls"}, "", bad, {"line": "ls"})
    assert done.code == 1
    assert "lines.jsonl:3" in done.err
    assert '"line"' in done.err
    assert len(done.out.splitlines()) == 1, "what came before it is told"


def test_a_batch_that_can_not_be_read_is_named(terminal: Terminal) -> None:
    done = terminal.placet("explain", "--batch", "gone.jsonl")
    assert (done.code, done.out) == (1, "")
    assert "gone.jsonl can't be read" in done.err
    (terminal.folder / "odd.jsonl").write_bytes(b'{"line": "\xff"}\n')
    assert "odd.jsonl" in terminal.placet("explain", "--batch", "odd.jsonl").err


@pytest.mark.parametrize(
    "words",
    [
        ("explain",),
        ("explain", "ls", "--batch", "x"),
        ("explain", "--batch", "x", "--agent", "ops"),
        ("explain", "--batch", "x", "--safe", "ls"),
        ("explain", "--batch", "x", "--granted", "ls"),
        ("explain", "--batch", "x", "--no-defaults"),
    ],
)
def test_what_does_not_go_together_is_refused(terminal: Terminal, words: tuple[str, ...]) -> None:
    done = terminal.placet(*words)
    assert (done.code, done.out) == (1, "")
    assert "--batch" in done.err


@pytest.mark.parametrize("words", [("explain", "a", "b"), ("explain", "--sfae", "x"), ("saef",)])
def test_what_cannot_be_meant_exits_with_2(terminal: Terminal, words: tuple[str, ...]) -> None:
    assert terminal.placet(*words).code == 2


# safe


def rows(done: Said) -> dict[str, tuple[str, str]]:
    return {each["key"]: (each["source"], each["file"]) for each in done.json}


def test_l52_the_list_says_what_put_each_entry_there(agents: Terminal) -> None:
    agents.write(
        '[safe_commands]\nshell = ["mkdir"]\ntools = ["read_file"]\n'
        '[agent_safe_commands.plain]\nshell = ["touch"]\n'
    )
    found = rows(agents.placet("safe", "--json"))
    assert found["shell:ls"] == ("default", "")
    assert found["shell:mkdir"] == ("config", "placet.toml")
    assert found["read_file"] == ("config", "placet.toml")
    assert "shell:touch" not in found
    own = rows(agents.placet("safe", "--agent", "plain", "--json"))
    assert own["shell:touch"] == ("agent", "placet.toml")


def test_the_list_is_a_table_for_people(terminal: Terminal) -> None:
    done = terminal.placet("safe")
    assert done.out.split("\n")[0].split() == ["ENTRY", "FROM", "FILE"]
    assert "shell:cat" in done.out


def test_l50_without_the_shipped_list_there_is_what_was_written(terminal: Terminal) -> None:
    terminal.write('[safe_commands]\ndefaults = false\nshell = ["ls"]\n')
    assert rows(terminal.placet("safe", "--json")) == {"shell:ls": ("config", "placet.toml")}


def test_l54_entries_that_are_skipped_or_say_much_are_told_once_on_stderr(
    terminal: Terminal,
) -> None:
    terminal.write('[safe_commands]\nshell = ["ls; x", "git"]\n')
    done = terminal.placet("safe", "--json")
    assert "shell:git" in rows(done)
    lines = done.err.splitlines()
    assert len(lines) == 2
    assert lines[0].count("ls; x") == 1
    assert "is skipped" in lines[0]
    assert all("placet.toml" in line for line in lines)


def test_l53_what_a_definition_brings_is_named_as_not_counting_until_it_does(
    agents: Terminal,
) -> None:
    done = agents.placet("safe", "--agent", "brings", "--json")
    assert "shell:mkdir" not in rows(done)
    assert "shell:mkdir" in done.err
    assert "allow_blueprint" in done.err
    agents.write("[safe_commands]\nallow_blueprint = true\n")
    done = agents.placet("safe", "--agent", "brings", "--json")
    assert rows(done)["shell:mkdir"] == ("blueprint", "agent brings")
    assert "allow_blueprint" not in done.err


def test_where_the_shell_is_not_sandboxed_no_entry_for_it_is_in_effect(terminal: Terminal) -> None:
    terminal.write('[shell]\nunsandboxed = true\n[safe_commands]\ntools = ["read_file"]\n')
    done = terminal.placet("safe", "--json")
    assert list(rows(done)) == ["read_file"]
    assert "unsandboxed" in done.err


def test_l39_a_misspelt_file_exits_with_2_and_is_named(terminal: Terminal) -> None:
    terminal.write("[safe_command]\nshell = []\n")
    for words in (("safe",), ("explain", "ls")):
        done = terminal.placet(*words)
        assert (done.code, done.out) == (2, "")
        assert "placet.toml: there is no [safe_command]; the tables are" in done.err
