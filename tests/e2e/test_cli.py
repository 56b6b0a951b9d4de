"""The `placet` command against a real `placet dev`: exit codes, `--json`, tables."""

import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from placet.cli.__main__ import COMMANDS
from placet.client import Client
from tests.support.commands import PLACET, ROOT, Dev, clean, placet

UNKNOWN_INPUT = "inp_" + "0" * 32
UNKNOWN_RUN = "run_" + "0" * 32


def ended(dev: Dev, run_id: str, settled: str) -> Any:
    """The run once it has taken up that input and stands still."""
    with Client(dev.url, dev.settings["PLACET_KEY"]) as client:
        return client.runs.wait(run_id, settled=settled).value


def test_run_prints_the_exact_call_and_how_to_answer(dev: Dev) -> None:
    done = dev.placet("run", "ops", "Delete the staging database")
    assert done.code == 0
    assert re.search(r"^inp_[0-9a-f]{32}  tool_approval  pending$", done.out, re.MULTILINE)
    assert '"name": "staging"' in done.out
    assert re.search(r"placet respond inp_[0-9a-f]{32} --approve", done.err)


def test_run_json_is_the_run_with_its_inputs(dev: Dev) -> None:
    run = dev.asks()
    assert run["id"].startswith("run_")
    assert run["agent_id"].startswith("agt_")
    assert (run["agent"], run["initiator"], run["steps"]) == ("ops", "alice", 1)
    assert run["wait_reasons"] == ["tool_approval"]
    (waiting,) = run["inputs"]
    assert waiting["state"] == "pending"
    assert waiting["request"]["kind"] == "tool_approval"
    assert waiting["request"]["call"]["args"] == {"name": "staging"}


def test_a_detached_run_returns_before_it_has_run(dev: Dev) -> None:
    done = dev.placet("run", "ops", "list", "--detach", "--json")
    assert done.code == 0
    assert done.json["status"] in ("queued", "running")


def test_respond_lists_what_waits(dev: Dev) -> None:
    waiting = dev.asks()["inputs"][0]["id"]
    table = dev.placet("respond")
    assert table.code == 0
    assert table.out.split("\n")[0].split() == ["INPUT", "KIND", "AGE", "ASKS"]
    assert waiting in table.out
    assert waiting in [each["id"] for each in dev.placet("respond", "--json").json]


def test_an_approval_lets_the_call_run_once(dev: Dev) -> None:
    run = dev.asks("Delete the ledger-test database")
    waiting = run["inputs"][0]["id"]
    done = dev.placet("respond", waiting, "--approve", "--json")
    assert done.code == 0
    assert done.json["answered"] is True
    assert done.json["input"]["resolution"]["outcome"]["decision"] == "approved"
    assert done.json["input"]["resolution"]["by"]["id"] == "alice"
    assert ended(dev, run["id"], waiting).text == "Done: database ledger-test dropped."
    assert [e["name"] for e in dev.effects()].count("ledger-test") == 1


def test_the_reason_of_a_denial_reaches_the_model(dev: Dev) -> None:
    run = dev.asks()
    waiting = run["inputs"][0]["id"]
    assert dev.placet("respond", waiting, "--deny", "--reason", "not today").code == 0
    assert "not today" in ended(dev, run["id"], waiting).text


def test_the_same_answer_again_is_fine_and_another_exits_with_5(dev: Dev) -> None:
    waiting = dev.asks()["inputs"][0]["id"]
    assert dev.placet("respond", waiting, "--deny").code == 0
    assert dev.placet("respond", waiting, "--deny", "--reason", "again").code == 0
    late = dev.placet("respond", waiting, "--approve")
    assert late.code == 5
    assert "denied by alice" in late.err
    told = dev.placet("respond", waiting, "--approve", "--json")
    assert told.code == 5
    assert told.json["answered"] is False
    assert told.json["problem"]["code"] == "settled"
    assert told.json["input"]["state"] == "declined"


def test_each_kind_is_answered_in_its_own_way(dev: Dev) -> None:
    run = dev.asks("Release 1.4", agent="releases")
    for kind, words in (
        ("confirm", ["--approve"]),
        ("multiple_choice", ["--choice", "1"]),
        ("form", ["--content", '{"ticket": "OPS-7"}']),
    ):
        (waiting,) = run["inputs"]
        assert waiting["request"]["kind"] == kind
        assert dev.placet("respond", waiting["id"], *words).code == 0
        run = ended(dev, run["id"], waiting["id"]).model_dump(mode="json")
    journal = dev.placet("show", run["id"], "--journal", "--json").json["journal"]
    (result,) = [e["result"] for e in journal if e["type"] == "tool.finished"]
    assert result["content"].startswith("1.4 is on production for OPS-7")


def test_an_answer_that_does_not_fit_names_the_field_and_changes_nothing(dev: Dev) -> None:
    run = dev.asks("Release 1.4", agent="releases")
    waiting = run["inputs"][0]["id"]
    assert dev.placet("respond", waiting, "maybe").code == 1
    refused = dev.placet("respond", waiting, "--choice", "0")
    assert refused.code == 1
    assert "true or false" in refused.err
    assert dev.placet("show", waiting, "--json").json["state"] == "pending"


def test_the_beginning_of_an_id_is_enough_where_it_fits_one(dev: Dev) -> None:
    waiting = dev.asks()["inputs"][0]["id"]
    assert dev.placet("respond", waiting[:20], "--deny").code == 0
    assert dev.placet("respond", "inp_zz", "--deny").code == 3


def test_show_prints_a_run_an_input_and_every_finished_step(dev: Dev) -> None:
    run = dev.asks()
    waiting = run["inputs"][0]["id"]
    assert dev.placet("show", run["id"]).out.startswith(run["id"])
    assert dev.placet("show", waiting).out.startswith(waiting)
    assert dev.placet("show", waiting, "--json").json["asked_by"] == "service:placet-runner"
    shown = dev.placet("show", run["id"], "--journal", "--json").json
    types = [entry["type"] for entry in shown["journal"]]
    assert types[:3] == ["run.started", "message.received", "model.replied"]
    assert types[-1] == "input.opened"


def test_ps_lists_the_newest_runs_first(dev: Dev) -> None:
    run = dev.asks()
    found = dev.placet("ps", "--json").json
    assert found[0]["id"] == run["id"]
    table = dev.placet("ps")
    assert "waiting: tool_approval" in table.out
    only = dev.placet("ps", "--status", "completed", "--json").json
    assert {each["status"] for each in only} <= {"completed"}


def test_a_settled_input_shows_what_was_answered_why_by_whom_when_and_through_what(
    dev: Dev,
) -> None:
    denied = dev.asks()["inputs"][0]["id"]
    assert dev.placet("respond", denied, "--deny", "--reason", "not today").code == 0
    shown = dev.placet("show", denied).out
    assert re.search(r"  denied by alice, [-\d]+ [:\d]+ UTC, through cli\n", shown)
    assert "  reason: not today\n" in shown
    run = dev.asks("Release 1.4", agent="releases")
    asked = run["inputs"][0]["id"]
    confirm = dev.placet("show", asked).out
    assert "asks: Release 1.4?" in confirm
    assert "nothing asks" not in confirm
    assert dev.placet("respond", asked, "--approve").code == 0
    choice = ended(dev, run["id"], asked).inputs[0].id
    assert "  1: production\n" in dev.placet("show", choice).out
    assert dev.placet("respond", choice, "--choice", "1").code == 0
    assert "  answer: production\n" in dev.placet("show", choice).out
    form = ended(dev, run["id"], choice).inputs[0].id
    assert "  ticket (string, required)\n" in dev.placet("show", form).out
    refused = dev.placet("respond", form, "--content", '{"ticket": "a"}')
    assert refused.code == 1
    assert refused.err.count("shorter than 3") == 1
    assert "  /ticket: " in refused.err


def test_through_what_it_was_answered_is_recorded(dev: Dev) -> None:
    ids = [dev.asks()["inputs"][0]["id"] for _ in range(3)]
    assert dev.placet("respond", ids[0], "--deny").code == 0
    with Client(dev.url, dev.settings["PLACET_KEY"]) as client:
        client.input(ids[1]).settle("decline", from_="alice")
    said = {"action": "decline", "from": "alice"}
    httpx2.post(f"{dev.url}/v1/inputs/{ids[2]}", json=said, headers=dev.headers)
    shown = [dev.placet("show", id, "--json").json["resolution"]["channel"] for id in ids]
    assert shown == ["cli", "sdk", "rest"]


def test_an_option_is_chosen_by_the_number_it_is_printed_with(dev: Dev) -> None:
    waiting = dev.asks()["inputs"][0]
    assert waiting["request"]["scopes"] == ["once", "stage", "run"]
    shown = dev.placet("show", waiting["id"]).out
    assert "2: Allow exactly this call for this run" in shown
    assert "3: Deny" in shown
    done = dev.placet("respond", waiting["id"], "--choice", "2", "--json")
    assert done.json["input"]["resolution"]["outcome"]["scope"] == "run"


def test_a_message_to_a_definition_says_what_a_message_goes_to(dev: Dev) -> None:
    for command in (("msg", "ops", "hi"), ("abort", "ops")):
        done = dev.placet(*command)
        assert done.code == 3
        assert "agt_..." in done.err
        assert "run_..." in done.err


def test_help_says_what_every_command_does() -> None:
    shown = placet("--help").out
    for name in COMMANDS:
        assert re.search(rf"│ {name} +[A-Z]", shown), name


def test_a_message_supersedes_what_waits(dev: Dev) -> None:
    run = dev.asks()
    waiting = run["inputs"][0]["id"]
    told = dev.placet("msg", run["agent_id"], "list them instead", "--json")
    assert (told.code, told.json["id"]) == (0, run["id"])
    ended(dev, run["id"], waiting)
    assert dev.placet("show", waiting, "--json").json["state"] == "superseded"


def test_abort_ends_the_run_and_its_inputs(dev: Dev) -> None:
    run = dev.asks()
    done = dev.placet("abort", run["id"], "--json")
    assert (done.code, done.json["status"]) == (0, "cancelled")
    assert dev.placet("abort", run["id"]).code == 0
    late = dev.placet("respond", run["inputs"][0]["id"], "--approve")
    assert late.code in (0, 5)  # whoever came first; a yes that was first is kept and runs nothing
    assert dev.placet("show", run["id"], "--json").json["status"] == "cancelled"


@pytest.mark.parametrize(
    "words",
    [
        ("respond", UNKNOWN_INPUT, "--approve"),
        ("show", UNKNOWN_RUN),
        ("show", UNKNOWN_INPUT),
        ("abort", UNKNOWN_RUN),
        ("run", "nobody", "hello"),
        ("msg", UNKNOWN_RUN, "hello"),
    ],
)
def test_what_does_not_exist_exits_with_3_and_is_named(dev: Dev, words: tuple[str, ...]) -> None:
    done = dev.placet(*words)
    assert done.code == 3
    assert words[1] in done.err


def test_who_may_not_exits_with_4(dev: Dev) -> None:
    waiting = dev.asks()["inputs"][0]["id"]
    assert dev.placet("respond", waiting, "--approve", "--from", "mallory").code == 4
    assert dev.placet("ps", PLACET_KEY="plc_no_key").code == 4


def test_what_cannot_be_meant_exits_with_2(dev: Dev) -> None:
    waiting = dev.asks()["inputs"][0]["id"]
    assert dev.placet("respond", waiting, "--approve", "--deny").code == 2
    assert dev.placet("run").code == 2
    assert dev.placet("no-such-command").code == 2
    missing = placet("ps", env=clean(PLACET_URL=dev.url))
    assert missing.code == 2
    assert "PLACET_KEY" in missing.err


def test_a_placet_that_is_away_exits_with_8_and_is_named(dev: Dev) -> None:
    done = dev.placet("ps", PLACET_URL="http://127.0.0.1:1")
    assert done.code == 8
    assert "http://127.0.0.1:1" in done.err


def test_errors_stay_off_stdout(dev: Dev) -> None:
    assert dev.placet("show", UNKNOWN_RUN).out == ""
    assert dev.placet("respond", UNKNOWN_INPUT, "--approve", "--json").out == ""


def test_keys_are_made_listed_and_revoked_in_the_database(tmp_path: Path) -> None:
    env = clean(PLACET_DATA=str(tmp_path))
    made = placet("keys", "create", "laptop", "--person", "alice", "--json", env=env)
    assert made.code == 0
    assert made.json["key"].startswith("plc_")
    assert made.json["person"] == "alice"
    assert "answer:as" not in made.json["scopes"]
    assert "operate" not in made.json["scopes"]
    words = ("keys", "create", "ops", "--person", "bob", "--operator", "--json")
    assert "operate" in placet(*words, env=env).json["scopes"]
    service = placet("keys", "create", "ci", "--service", "deploys", env=env)
    assert "it may: inputs:read, runs:read, runs:write\n" in service.err
    words = ("keys", "user", "svc-billing", "--service", "billing", "--scope", "runs:write")
    assert placet(*words, "--json", env=env).json["id"] == "amqp:svc-billing"
    listed = placet("keys", "list", "--json", env=env)
    assert {each["name"] for each in listed.json} == {"laptop", "ops", "ci", "svc-billing"}
    assert made.json["key"] not in listed.out
    assert "hash" not in listed.out
    assert placet("keys", "revoke", made.json["id"], env=env).code == 0
    assert placet("keys", "revoke", "nothing", env=env).code == 3
    wrong = placet("keys", "create", "x", "--person", "bob", "--scope", "everything", env=env)
    assert wrong.code == 1
    assert "everything" in wrong.err
    assert placet("keys", "list", env=clean()).code == 2


def test_keys_say_what_to_do_while_placet_dev_has_the_database_open(dev: Dev) -> None:
    done = placet("keys", "list", env=clean(PLACET_DATA=str(dev.folder / "data")))
    assert done.code == 8
    assert "placet dev" in done.err
    assert "/v1/keys" in done.err


def test_tables_have_colours_on_a_terminal_and_none_in_a_pipe(dev: Dev) -> None:
    dev.asks()
    assert "\x1b[" not in dev.placet("ps").out
    shown = on_a_terminal(dev, "ps", columns=110)
    assert "\x1b[33mwaiting: tool_approval" in shown
    assert max(map(len, plain(shown))) <= 110


@pytest.mark.parametrize("command", ["ps", "respond"])
def test_a_narrow_terminal_cuts_no_id(dev: Dev, command: str) -> None:
    run = dev.asks("Delete the " + "very-" * 30 + "long database")
    ids = {"ps": run["id"], "respond": run["inputs"][0]["id"]}
    lines = plain(on_a_terminal(dev, command, columns=80))
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(ids[command]) for line in lines)


def test_a_table_in_a_pipe_is_whole(dev: Dev) -> None:
    name = "very-" * 20 + "long"
    waiting = dev.asks(f"Delete the {name} database")["inputs"][0]["id"]
    (line,) = [each for each in dev.placet("respond").out.splitlines() if waiting in each]
    assert name in line


def plain(shown: str) -> list[str]:
    """Lines of a terminal without what colours them."""
    return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in shown.splitlines()]


def on_a_terminal(dev: Dev, *words: str, columns: int) -> str:
    """What one command prints to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    env = clean(**dev.settings) | {"TERM": "xterm-256color", "COLUMNS": str(columns)}
    env.pop("NO_COLOR")
    process = subprocess.Popen(
        [PLACET, *words], env=env, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    )
    with open(theirs, closefd=True):
        pass
    shown = b""
    with open(ours, "rb", buffering=0) as screen:
        try:
            while part := screen.read(65_536):
                shown += part
        except OSError:  # the other end has closed
            pass
    process.wait(timeout=30)
    return shown.decode()


EXAMPLES = ROOT / "examples"


def test_the_sdk_example_approves_and_declines(dev: Dev) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "approve_from_python.py")],
        env=clean(**dev.settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "tool_approval Allow drop_database to run?" in done.stdout
    assert "completed Done: database staging dropped." in done.stdout
    assert "not on a Friday" in done.stdout
