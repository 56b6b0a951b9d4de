"""`placet run`, `ps`, `show` and `review` of runs that delegate, and of code that changed under them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import EXAMPLES, Dev, running


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """A `placet dev` with the example of delegation."""
    folder = tmp_path_factory.mktemp("house")
    agents = str(EXAMPLES / "delegating.py")
    with running(folder, "--user", "alice", "--agents", agents) as made:
        yield made


def test_a_run_shows_its_children_and_what_they_ask_with_their_path(house: Dev) -> None:
    run = house.asks("Move to the new house", "lead")
    assert [child["agent"] for child in run["children"]] == ["movers", "papers"]
    assert [each["request"]["path"] for each in run["inputs"]] in (
        [["lead", "movers"], ["lead", "papers"]],
        [["lead", "papers"], ["lead", "movers"]],
    )
    shown = house.placet("show", run["id"]).out
    assert "waiting: children" in shown
    assert "from: lead / movers" in shown
    for child in run["children"]:
        assert f"child: {child['run_id']}  {child['agent']}" in shown
        below = house.placet("show", child["run_id"]).out
        assert f"path: lead / {child['agent']}, below {run['id']}" in below
    assert "waiting: children" in house.placet("ps").out
    for each in run["inputs"]:
        assert house.placet("respond", each["id"], "--approve").code == 0
    done = house.placet("show", run["id"], "--json").json
    while done["status"] in ("running", "input_required", "queued"):
        done = house.placet("show", run["id"], "--json").json
    assert (done["status"], done["text"]) == ("completed", "All is arranged.")


def test_an_unattended_run_asks_nobody_and_yolo_needs_the_operator_s_word(house: Dev) -> None:
    done = house.placet("run", "lead", "Move", "--unattended", "--json")
    assert (done.code, done.json["status"], done.json["unattended"]) == (0, "completed", "deny")
    assert "unattended: deny" in house.placet("show", done.json["id"]).out
    refused = house.placet("run", "lead", "Move", "--yolo")
    assert refused.code == 4
    assert "[unattended] allow = true" in refused.err
    assert house.placet("run", "lead", "Move", "--yolo", "--unattended").code == 2


def test_a_review_is_listed_shown_with_what_changed_and_settled(tmp_path: Path) -> None:
    code = (EXAMPLES / "delegating.py").read_text()
    path = tmp_path / "house.py"
    path.write_text(code)
    words = ("--user", "alice", "--agents", str(path))
    with running(tmp_path, *words) as dev:
        waiting = dev.asks("Book", "movers")["inputs"][0]["id"]
        none = dev.placet("review")
        assert (none.code, none.out, "no review is open" in none.err) == (0, "", True)
        assert dev.placet("review", waiting).code == 1, "an approval is no review"
    path.write_text(code.replace("what: str)", "what: str, price: int)"))
    with running(tmp_path, *words) as dev:
        assert dev.placet("respond", waiting, "--approve").code == 0
        found = dev.placet("review", "--json").json
        while not found:
            found = dev.placet("review", "--json").json
        review = found[0]["id"]
        shown = dev.placet("review", review)
        assert '+    "price": {' in shown.out
        assert "--accept | --fail" in shown.err
        assert dev.placet("review", review, "--args", "{}").code == 1
        assert dev.placet("review", review, "--accept", "--fail").code == 2
        bad = dev.placet("review", review, "--accept", "--args", '{"what": "a van"}')
        assert bad.code == 1
        assert "/args" in bad.err
        args = '{"what": "a van", "price": 90}'
        assert dev.placet("review", review, "--accept", "--args", args).code == 0
        assert dev.placet("review", review, "--fail").code == 5
        run = found[0]["request"]["run_id"]
        again = dev.placet("show", run, "--json").json
        while not again["inputs"]:
            again = dev.placet("show", run, "--json").json
        assert again["inputs"][0]["request"]["call"]["args"] == {"what": "a van", "price": 90}
