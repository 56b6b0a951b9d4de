"""`placet freeze`, `freezes` and `unfreeze`, as people run them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.commands import Dev, running

AGENT = """
from placet import Agent, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps

@tool
async def wire(amount: int) -> str:
    '''Wire money.'''
    return f"wired {amount}"

bank = Agent("bank", model=ScriptedModel(steps(calls(("wire", {"amount": 1})), says("done"))), tools=[wire])
"""


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """A `placet dev` whose agent wires once."""
    folder = tmp_path_factory.mktemp("bank")
    (folder / "bank.py").write_text(AGENT)
    with running(folder, "--user", "alice", "--agents", str(folder / "bank.py")) as made:
        yield made


def frozen(bank: Dev, *words: str) -> dict[str, Any]:
    done = bank.placet("freeze", "--reason", "an incident", *words, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return found


def test_what_is_frozen_waits_and_says_why_and_goes_on_when_it_is_lifted(bank: Dev) -> None:
    made = frozen(bank, "--agent", "bank", "--tool", "wire")
    run = bank.placet("run", "bank", "go", "--json").json
    assert (run["status"], run["wait_reason"]) == ("input_required", "frozen")
    assert "waiting: frozen" in bank.placet("ps").out
    shown = bank.placet("show", run["id"]).out
    assert f"frozen: {made['id']} by {made['by']}: an incident" in shown
    head, row = bank.placet("freezes").out.splitlines()
    assert head.split() == ["FREEZE", "AGENT", "TOOLS", "BY", "AGE", "STATE", "REASON"]
    assert row.split()[:3] == [made["id"], "bank", "wire"]
    assert bank.placet("freezes", "--json").json == [made]
    done = bank.placet("unfreeze", made["id"])
    assert (done.code, done.out) == (0, "")
    assert f"{made['id']} is lifted" in done.err
    while bank.placet("show", run["id"], "--json").json["status"] != "completed":
        pass
    assert "nothing is frozen" in bank.placet("freezes").err
    [over] = bank.placet("freezes", "--all", "--json").json
    assert (over["id"], over["lifted_by"]) == (made["id"], made["by"])


def test_a_name_that_nothing_has_is_pointed_out(bank: Dev) -> None:
    done = bank.placet("freeze", "--reason", "x", "--tool", "wier", "--agent", "bnak")
    assert done.code == 0
    assert "no definition that is loaded is or has wier" in done.err
    assert "no definition that is loaded is or has bnak" in done.err
    for each in bank.placet("freezes", "--json").json:
        assert bank.placet("unfreeze", each["id"]).code == 0


def test_what_is_wrong_exits_as_everywhere(bank: Dev) -> None:
    assert bank.placet("freeze").code == 2
    assert bank.placet("unfreeze", "frz_no").code == 3
    assert bank.placet("freeze", "--reason", "x", PLACET_KEY="plc_no_key").code == 4
    assert bank.placet("freezes", PLACET_URL="http://127.0.0.1:1").code == 8
