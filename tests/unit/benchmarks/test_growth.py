from datetime import UTC, datetime

import bson
import pytest

from benchmarks.__main__ import ON_SERVICES, parsed
from benchmarks.growth import beside, copies, turns
from benchmarks.history import Sides

pytestmark = pytest.mark.unit
RUN, ASKED = "run_" + "a1" * 16, "inp_" + "b2" * 16
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def run() -> dict[str, object]:
    entry = {"id": ASKED, "ask_again_at": AT, "request": {"run_id": RUN}}
    return {"_id": RUN, "agent_id": "agt_" + "a1" * 16, "due": AT, "waiting": [entry]}


def question() -> dict[str, object]:
    return {"_id": ASKED, "run_id": RUN, "opened_at": AT, "request": f'{{"run_id":"{RUN}"}}'}


def test_filled_runs_and_their_questions_are_of_one_another() -> None:
    runs = [bson.decode(each.raw) for each in copies(run(), 50, 7, moment="due")]
    asked = [bson.decode(each.raw) for each in copies(question(), 50, 7, moment="opened_at")]
    assert len({each["_id"] for each in runs} | {RUN}) == 51
    for each, its in zip(runs, asked, strict=True):
        (entry,) = each["waiting"]
        assert (each["_id"], entry["id"]) == (its["run_id"], its["_id"])
        assert entry["request"]["run_id"] == each["_id"]
        assert its["request"] == f'{{"run_id":"{each["_id"]}"}}'
        assert each["due"] == entry["ask_again_at"]
    assert len({each["due"] for each in runs}) == len({each["opened_at"] for each in asked}) == 50


def test_neighbouring_rounds_are_compared_with_each_other() -> None:
    assert beside([10, 30, 12], [10, 33, 18]) == 1.1


def test_each_side_comes_first_in_every_other_pair() -> None:
    assert turns(3) == ["few", "many", "many", "few", "few", "many"]


def test_short_and_long_runs_take_turns_and_each_short_one_comes_once() -> None:
    sides = Sides(short={"a": "", "b": "", "c": ""}, long={"x": "", "y": ""})
    assert sides.turns(0, 3) == ["a", "x", "b", "y", "c", "x"]
    assert sides.turns(2, 1) == ["c", "x"]


def test_only_a_full_run_fills_a_million_in() -> None:
    sizes = [parsed(words)[0].crowd for words in (["--quick"], [], ["--full"])]
    assert sizes == [20_000, 100_000, 1_000_000]
    assert parsed(["--only", "resume_growth"])[0].wants(*ON_SERVICES)
