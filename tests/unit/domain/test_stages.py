"""Stages and interaction points as an author writes them: what is taken, and what is refused and how."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet import InteractionPoint, Stage
from placet.domain.options import match_option
from placet.errors import DefinitionError

pytestmark = pytest.mark.unit

OPTIONS = ["Approve", "Revise", "Edit", "Abort"]


def point(**given: Any) -> InteractionPoint:
    return InteractionPoint(**{"name": "sign_off", "prompt": "Approve the plan?", **given})


def refusal(**given: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        point(**given)
    said = str(caught.value)
    assert said.startswith("interaction point 'sign_off': "), said
    return said


def stage_refusal(**given: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        Stage(**{"name": "plan", **given})
    said = str(caught.value)
    assert said.startswith("stage 'plan': "), said
    return said


def test_a_point_with_options_is_a_choice_and_one_without_a_confirm() -> None:
    assert point(options=OPTIONS).style == "multiple_choice"
    assert point().style == "confirm"
    assert point(style="free_text").style == "free_text"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("style", "free_text, multiple_choice, confirm"),
        ("unattended", "auto_approve, ask"),
        ("on_exhausted", "proceed, stop"),
    ],
)
@pytest.mark.parametrize("word", ["askk", "ASK", "", None, 1, True, ["ask"]])
def test_l85_an_unknown_word_is_refused_with_the_point_and_the_allowed_words(
    field: str, words: str, word: Any
) -> None:
    assert refusal(**{field: word}).endswith(f"use one of {words}")


def test_l85_an_unknown_word_in_a_stage_names_the_stage_and_the_point() -> None:
    said = stage_refusal(
        mode="interactive_points",
        interaction_points=[{"name": "sign_off", "prompt": "Go?", "style": "radio"}],
    )
    assert said == (
        "stage 'plan': interaction point 'sign_off': style = 'radio': use one of free_text, "
        "multiple_choice, confirm"
    )
    assert stage_refusal(mode="manual").endswith("use one of autonomous, interactive_points")


def test_l86_choices_and_followups_are_other_words_for_options_and_directives() -> None:
    one = point(choices=OPTIONS, followups={"Revise": "Ask what to change."})
    two = point(options=OPTIONS, directives={"Revise": "Ask what to change."})
    assert one == two
    assert "choices is another word for options" in refusal(options=OPTIONS, choices=OPTIONS)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"optoins": ["A", "B"]}, "there is no 'optoins'; use name, "),
        ({"style": "multiple_choice"}, "options has 0; multiple_choice takes 2 to 50"),
        ({"options": ["Approve"]}, "options has 1; multiple_choice takes 2 to 50"),
        ({"options": ["A", "A"]}, "options has 'A' twice"),
        ({"options": ["A", " "]}, "is blank"),
        ({"options": ["A", "A\u200b"]}, "can't be seen"),
        ({"options": ["A", "b" * 501]}, "options.1 has more than 500 characters"),
        ({"options": {"A", "B"}}, "is no list"),
        ({"options": "AB"}, "is no list"),
        ({"options": ["A", "B"], "style": "confirm"}, "confirm takes no options"),
        ({"options": ["A", "B"], "style": "free_text"}, "free_text takes no options"),
        ({"options": ["A", "B"], "abort_options": ["C"]}, "abort_options names 'C'"),
        ({"options": ["A", "B"], "edit_options": ["C"]}, "edit_options names 'C'"),
        ({"options": ["A", "B"], "directives": {"C": "x"}}, "directives names 'C'"),
        ({"abort_options": ["Stop"]}, "abort_options names 'Stop'; its options are Yes, No"),
        ({"style": "free_text", "abort_options": ["Stop"]}, "declining aborts"),
        ({"style": "free_text", "directives": {"Yes": "x"}}, "directives names 'Yes'"),
        ({"edit_options": ["No"]}, "declining a confirm aborts"),
        ({"directives": {"Yes": "x"}}, "none approves"),
        ({"options": ["A", "B"], "abort_options": ["A", "B"]}, "none approves"),
        ({"options": ["A", "B"], "abort_options": ["A", "a"]}, "abort_options names 'A' twice"),
        ({"options": ["A-B", "AB"], "abort_options": ["a b"]}, "abort_options names 'a b'"),
        ({"prompt": ""}, "prompt is blank"),
        ({"prompt": "x" * 4001}, "prompt has more than 4000 characters"),
        ({"prompt": "a\x00b"}, "null character"),
        ({"prompt": "\ud800"}, "prompt: "),
        ({"directives": {"No": "x" * 4001}}, "directives.No has more than 4000 characters"),
        ({"document_region": "a b"}, "document_region: use letters"),
        ({"required": "yes"}, "required: "),
        ({"required": 1}, "required: "),
    ],
)
def test_a_slip_in_a_point_is_refused_and_named(given: dict[str, Any], said: str) -> None:
    assert said in refusal(**given)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "pl\u0430n", "-x", "x" * 101, "a\n", 3, None])
def test_the_name_of_a_stage_or_a_point_has_no_odd_character(name: Any) -> None:
    for make in (lambda: Stage(name=name), lambda: point(name=name)):
        with pytest.raises(DefinitionError, match="name"):
            make()


def test_a_point_must_say_its_name_and_what_it_asks() -> None:
    for missing, said in {"name": {"prompt": "Go?"}, "prompt": {"name": "sign_off"}}.items():
        with pytest.raises(DefinitionError, match=f"{missing} is missing"):
            InteractionPoint(**said)


def test_options_that_read_the_same_are_told_apart_exactly() -> None:
    it = point(options=["Auto approve", "auto-approve", "Go"], abort_options=["auto-approve"])
    assert it.aborts("auto-approve")
    assert it.approves("Auto approve")


def test_a_list_may_spell_its_option_another_way() -> None:
    it = point(options=["Auto approve", "Start over"], directives={"start-over": "Plan again."})
    assert it.directive("Start over") == "Plan again."
    assert not it.approves("Start over")


@pytest.mark.parametrize("style", ["free_text", "confirm", "multiple_choice"])
def test_a_directive_for_a_decline_may_be_declared_in_any_style(style: str) -> None:
    options = ["Go", "Stop"] if style == "multiple_choice" else []
    it = point(style=style, options=options, directives={"No": "Ask why."})
    assert it.directive(it.declined) == "Ask why."


def test_an_autonomous_stage_with_points_is_refused_with_the_remedy() -> None:
    said = stage_refusal(interaction_points=[point()])
    assert 'write mode = "interactive_points"' in said


def test_an_interactive_stage_may_have_no_points() -> None:
    assert Stage(mode="interactive_points").interaction_points == ()


def test_two_points_of_one_name_are_refused() -> None:
    said = stage_refusal(mode="interactive_points", interaction_points=[point(), point()])
    assert "two interaction points are called 'sign_off'" in said


@pytest.mark.parametrize("offered", [(), ("read_file",)])
def test_l91_a_required_tool_must_be_among_the_available(offered: tuple[str, ...]) -> None:
    said = stage_refusal(available_tools=offered, required_tools=["ask_user_text"])
    assert "required_tools names 'ask_user_text', which is not in available_tools" in said
    assert Stage(required_tools=["ask_user_text"]).required_tools == ("ask_user_text",)
    both = Stage(available_tools=["ask_user_text"], required_tools=["ask_user_text"])
    assert both.available_tools == both.required_tools


@pytest.mark.parametrize(
    "given",
    [
        {"stage": "x"},
        {"instructions": "x" * 65_537},
        {"model": 3},
        {"accepts_messages": "false"},
        {"accepts_messages": 0},
        {"available_tools": "bash"},
        {"available_tools": ["bash", "bash"]},
        {"tool_permissions": ["bash"]},
        {"interaction_points": "sign_off"},
        {"interaction_points": [3]},
    ],
)
def test_a_slip_in_a_stage_is_refused_and_names_it(given: dict[str, Any]) -> None:
    assert stage_refusal(**given)


def test_what_the_author_changes_later_does_not_reach_a_point() -> None:
    directives = {"No": "Ask why."}
    options = ["Go", "Stop"]
    it = point(options=options, directives=directives)
    directives["Go"] = "Never."
    options.append("More")
    assert it.directive("Go") is None
    assert it.options == ("Go", "Stop")
    with pytest.raises(ValueError, match="frozen"):
        it.style = "confirm"  # type: ignore[misc]


def test_a_stage_reads_back_as_it_was_written() -> None:
    it = Stage(
        name="plan",
        mode="interactive_points",
        interaction_points=[point(options=OPTIONS, abort_options=["Abort"])],
    )
    assert Stage.model_validate_json(it.model_dump_json()) == it
    assert Stage.model_validate(it.model_dump(mode="json")) == it


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Auto approve", "Auto approve"),
        ("auto-approve", "Auto approve"),
        ("AUTO\u2014APPROVE", "Auto approve"),
        ("auto \u2212 approve", "Auto approve"),
        ("auto\u00a0approve\n", "Auto approve"),
        ("stra\u00dfe", "Strasse"),
        ("A-B", "A-B"),
        ("ab", None),
        ("AB", "AB"),
        ("auto_approve", None),
        ("-", "-"),
        (" ", None),
        ("", None),
        ("Auto approve!", None),
        (0, None),
        (None, None),
        (True, None),
        (["AB"], None),
    ],
)
def test_l76_an_option_matches_exactly_first_then_without_dashes_spaces_and_case(
    said: object, meant: str | None
) -> None:
    assert match_option(("Auto approve", "A-B", "AB", "Strasse", "-"), said) == meant


@given(st.lists(st.text(max_size=6), max_size=6), st.text(max_size=8) | st.integers() | st.none())
def test_matching_is_total_and_an_exact_label_always_wins(options: list[str], said: Any) -> None:
    meant = match_option(options, said)
    assert meant is None or meant in options
    assert all(match_option(options, option) == option for option in options)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
tables = st.dictionaries(st.sampled_from([*InteractionPoint.model_fields, "choices", "x"]), json)


@given(tables, st.dictionaries(st.sampled_from(list(Stage.model_fields)), json))
def test_whatever_an_author_writes_is_taken_or_a_definition_error(
    for_point: Mapping[str, Any], for_stage: Mapping[str, Any]
) -> None:
    for make in (lambda: point(**for_point), lambda: Stage(**for_stage)):
        with suppress(DefinitionError):
            make()
