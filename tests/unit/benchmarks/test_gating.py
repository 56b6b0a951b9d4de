import json

import pytest

from benchmarks.__main__ import NAMES, SERVED, parsed
from benchmarks.figures import Report
from benchmarks.gating import CALLS, POLICY, STANDING, measure
from placet.gate import gate

pytestmark = pytest.mark.unit


def test_the_gate_is_measured_on_each_kind_of_call_and_told_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measure(Report(), seconds=0.05)
    figure = json.loads(capsys.readouterr().out)
    assert (figure["name"], figure["unit"], figure["goal"]) == ("gate_us", "us", "<= 200")
    assert figure["value"] > 0
    assert set(figure["p50_us"]) == set(figure["p99_us"]) == set(CALLS)


def test_what_is_measured_comes_out_as_it_is_called() -> None:
    said = {name: gate(call, POLICY, STANDING) for name, call in CALLS.items()}
    decisions = {name: verdict.decision.value for name, verdict in said.items() if verdict}
    assert decisions == {
        "listed": "allow",
        "asked": "ask",
        "granted": "allow",
        "source": "allow",
        "line": "allow",
        "unreadable_line": "ask",
        "line_of_40_commands": "allow",
    }


def test_the_gate_s_figure_needs_no_server() -> None:
    options, _, _ = parsed(["--only", "gate_us"])
    assert options.wants("gate_us")
    assert not options.wants(*SERVED)
    assert parsed([])[0].wants(*NAMES)
