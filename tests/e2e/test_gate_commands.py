"""`placet approvals` and `placet grants`, as people run them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Dev, clean, placet, running
from tests.unit.gate.cases import CASES

CASE_FILE = Path(__file__).parents[1] / "unit" / "gate" / "shell_cases.jsonl"

AGENT = """
from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps

@tool(risk=ToolRisk.HIGH)
async def wire(ctx: Context, amount: int) -> str:
    '''Wire money.'''
    return f"wired {amount}"

@tool(needs_approval=True)
async def close(ctx: Context, name: str) -> str:
    '''Close an account.'''
    return f"closed {name}"

TURNS = [calls(("wire", {"amount": n})) for n in (1, 2)]
TURNS += [calls(("close", {"name": "x"})), calls(("wire", {"amount": 3})), says("done")]
bank = Agent("bank", model=ScriptedModel(steps(*TURNS)), tools=[wire, close])
"""


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """A `placet dev` whose agent wires twice, closes an account and wires again."""
    folder = tmp_path_factory.mktemp("bank")
    (folder / "bank.py").write_text(AGENT)
    with running(folder, "--user", "alice", "--agents", str(folder / "bank.py")) as made:
        yield made


def granted(bank: Dev) -> tuple[dict[str, Any], str]:
    """A run that waits for its third call, with a grant that its second one used; and the grant's id."""
    run = bank.asks("go", "bank")
    content = json.dumps({"decision": "approved", "scope": "run", "grant": "named"})
    done = bank.placet("respond", run["inputs"][0]["id"], "--content", content)
    assert done.code == 0, done.err
    waiting = bank.placet("show", run["id"], "--json").json
    while [each["request"]["call"]["tool"] for each in waiting["inputs"]] != ["close"]:
        assert waiting["status"] not in ("completed", "failed"), waiting
        waiting = bank.placet("show", run["id"], "--json").json
    [grant] = bank.placet("grants", run["id"], "--json").json
    return waiting, grant["id"]


def test_the_grants_of_a_run_are_listed_with_who_gave_them_and_their_uses(bank: Dev) -> None:
    run, grant = granted(bank)
    [found] = bank.placet("grants", run["id"], "--json").json
    assert (found["tool"], found["scope"], found["uses"]) == ("wire", "run", 1)
    assert (found["by"]["id"], found["revoked_at"], found["risk"]) == ("alice", None, "high")
    assert found["input_id"].startswith("inp_")
    head, row = bank.placet("grants", run["id"]).out.splitlines()
    assert head.split() == ["GRANT", "FOR", "COVERS", "BY", "USES", "STATE"]
    assert row.split() == [grant, "run", "wire", "alice", "1", "holds"]


def test_a_grant_that_is_taken_back_covers_nothing_more(bank: Dev) -> None:
    run, grant = granted(bank)
    done = bank.placet("grants", run["id"], "--revoke", grant)
    assert (done.code, done.out) == (0, "")
    assert f"{grant} is revoked" in done.err
    again = bank.placet("grants", run["id"], "--revoke", grant, "--json")
    assert (again.code, again.json["revoked_by"] is not None) == (0, True)
    assert bank.placet("grants", run["id"]).out.split()[-1] == "revoked"
    assert bank.placet("respond", run["inputs"][0]["id"], "--approve").code == 0
    waiting = bank.placet("show", run["id"], "--json").json
    while not waiting["inputs"] or waiting["inputs"][0]["id"] == run["inputs"][0]["id"]:
        assert waiting["status"] != "completed", "the third transfer ran unasked"
        waiting = bank.placet("show", run["id"], "--json").json
    assert waiting["inputs"][0]["request"]["call"]["args"] == {"amount": 3}


def test_a_run_without_grants_says_so(bank: Dev) -> None:
    run = bank.asks("go", "bank")
    done = bank.placet("grants", run["id"])
    assert (done.code, done.out) == (0, "")
    assert "nothing was granted" in done.err
    assert bank.placet("grants", run["id"], "--json").json == []


def test_what_does_not_exist_exits_with_3_and_what_has_ended_with_5(bank: Dev) -> None:
    run, grant = granted(bank)
    assert bank.placet("grants", "run_" + "0" * 32).code == 3
    missing = bank.placet("grants", run["id"], "--revoke", "grt_no")
    assert (missing.code, missing.out) == (3, "")
    assert "grt_no" in missing.err
    assert bank.placet("abort", run["id"]).code == 0
    ended = bank.placet("grants", run["id"], "--revoke", grant)
    assert ended.code == 5
    assert "has ended" in ended.err


def test_who_may_not_exits_with_4_and_a_placet_that_is_away_with_8(bank: Dev) -> None:
    run = bank.asks("go", "bank")
    assert bank.placet("grants", run["id"], PLACET_KEY="plc_no_key").code == 4
    assert bank.placet("grants", run["id"], PLACET_URL="http://127.0.0.1:1").code == 8
    assert bank.placet("grants").code == 2


def test_a_prompt_that_asks_each_time_offers_once_and_says_why(bank: Dev) -> None:
    run, _ = granted(bank)
    waiting = run["inputs"][0]["id"]
    shown = bank.placet("show", waiting).out
    assert "0: Allow once (this call is asked about each time; nothing can be granted)" in shown
    assert "1: Deny" in shown
    done = bank.placet("respond", waiting, "--approve", "--session")
    assert "once only" in done.err


# No server


def test_a_batch_needs_no_server_and_gives_a_line_for_a_line(tmp_path: Path) -> None:
    done = placet(
        "approvals", "explain", "--batch", str(CASE_FILE), "--json", env=clean(), cwd=tmp_path
    )
    assert done.code == 0, done.err
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [each["decision"] for each in found] == [case.judged().decision for case in CASES]


def test_the_operator_s_file_is_where_placet_config_says(tmp_path: Path) -> None:
    file = tmp_path / "ours.toml"
    file.write_text('[tool_permissions]\nbash = "deny"\n')
    words = ("approvals", "explain", "ls", "--json")
    assert placet(*words, env=clean(), cwd=tmp_path).json["decision"] == "allow"
    env = clean(PLACET_CONFIG=str(file))
    assert placet(*words, env=env, cwd=tmp_path).json["decision"] == "deny"
    gone = placet(*words, env=clean(PLACET_CONFIG="gone.toml"), cwd=tmp_path)
    assert (gone.code, gone.out) == (2, "")
    assert "gone.toml" in gone.err


@pytest.mark.parametrize("command", [("approvals", "safe"), ("dev", "--port", "0")])
def test_l39_nothing_starts_with_a_misspelt_rule(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "placet.toml").write_text('[tool_permissions]\nbash = "denny"\n')
    done = placet(*command, env=clean(PLACET_DATA=str(tmp_path / "data")), cwd=tmp_path)
    assert done.code == 2
    assert "placet.toml: tool_permissions.bash = 'denny': use one of allow, ask, deny" in done.err


def test_trust_lists_what_a_person_trusts_of_an_agent(dev: Dev) -> None:
    agent = dev.asks()["agent_id"]
    done = dev.placet("trust", agent)
    assert done.code == 0
    assert "no tool of this agent is trusted" in done.err
    assert dev.placet("trust", agent, "--revoke", "drop_database", "--json").json == []
