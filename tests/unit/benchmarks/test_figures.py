import json
from pathlib import Path

import pytest

from benchmarks.figures import Figure, Report, median, per_window, percentile, ratio, shares

pytestmark = pytest.mark.unit


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.99) == 99
    assert percentile(values, 1.0) == 100
    assert percentile([7.0], 0.5) == percentile([7.0], 0.99) == 7


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)


def test_the_median_of_nothing_is_nothing() -> None:
    assert median([]) == 0
    assert median([3, 1, 2]) == 2


def test_only_what_ended_in_a_window_counts_for_it() -> None:
    moments = [9.9, 10.0, 10.5, 12.0, 13.9, 14.0]
    assert per_window(moments, begin=10, length=2, count=2) == [1.0, 1.0]


@pytest.mark.parametrize("each", [0.0, 0.4, 1.0, 8.25, 11.99])
def test_whole_shares_add_up_to_the_mean(each: float) -> None:
    done = [shares(number, each) for number in range(1000)]
    assert abs(sum(done) - 1000 * each) < 1
    assert max(done) - min(done) <= 1


def test_a_ratio_to_nothing_is_none() -> None:
    assert ratio(10, 0) is None
    assert ratio(10, 4) == 2.5


def test_a_figure_is_one_line_with_its_peer_and_details(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(tmp_path / "figures.jsonl")
    report.add(Figure("x_ms", 1.23456, "ms", 7, "<= 2", True, {"value": 3}, {"p99": 2}))
    line = capsys.readouterr().out
    assert json.loads(line) == {
        "name": "x_ms",
        "value": 1.235,
        "unit": "ms",
        "n": 7,
        "goal": "<= 2",
        "met": True,
        "peer": {"value": 3},
        "p99": 2,
    }
    assert (tmp_path / "figures.jsonl").read_text() == line
