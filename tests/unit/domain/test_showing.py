"""What a person reads about a call comes from the call."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.domain.interaction import ToolCall
from placet.domain.showing import LONGEST, looks_odd, question, telling

pytestmark = pytest.mark.unit


def call(tool: str, **args: Any) -> ToolCall:
    return ToolCall(id="c", tool=tool, args=args)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (call("bash", command="git status"), "Allow bash to run? git status"),
        (call("shell", command="ls\nrm -rf /"), "Allow shell to run? ls…"),
        (call("write_file", path="notes.md", content="x"), "Allow write_file to run? notes.md"),
        (call("bash", command="   "), "Allow bash to run?"),
        (call("bash", command=3), "Allow bash to run?"),
        (call("drop_database", name="x"), "Allow drop_database to run?"),
    ],
)
def test_l11_the_question_names_the_tool_and_its_telling_argument(
    asked: ToolCall, said: str
) -> None:
    assert question(asked) == said


def test_l11_a_long_line_is_cut_with_an_ellipsis() -> None:
    said = question(call("bash", command="x" * 500))
    assert said.endswith("x…")
    assert len(said) == len("Allow bash to run? ") + LONGEST + 1


def test_the_telling_argument_says_how_many_more_there_are() -> None:
    assert telling(call("wire", amount=5, to="x")) == "to: x  (+1 more)"
    assert telling(call("wire")) == "no arguments"
    assert telling(call("get", url="https://x.example", n=1)) == "url: https://x.example  (+1 more)"


def test_what_hides_is_made_visible() -> None:
    assert "\\u{202e}" in question(call("bash", command="echo \u202egnp.exe"))


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("delete_repo", False),
        ("d\u0435lete_repo", True),
        ("удалить", False),
        ("\uff44elete", True),
        ("drop2", False),
    ],
)
def test_a_name_that_mixes_alphabets_is_marked(name: str, odd: bool) -> None:
    assert looks_odd(name) is odd


@given(st.text(min_size=1, max_size=20), st.text())
def test_it_never_fails_and_is_one_line(tool: str, text: str) -> None:
    try:
        made = call(tool, command=text, path=text)
    except ValueError:
        return
    assert "\n" not in telling(made)
    assert "\n" not in question(call("bash", command=text))
