"""What each answer at an interaction point does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.domain.interaction import ApprovalDecision, InputState
from placet.domain.outcome import Outcome, answered
from placet.domain.stage import InteractionPoint
from placet.errors import DefinitionError
from placet.kernel.points import MAX_REVISION_ROUNDS, PointAnswer, Reading, read_answer

pytestmark = pytest.mark.unit

OPTIONS = ("Approve", "Revise", "Edit", "Abort")
WHOLE: dict[str, Any] = {
    "options": OPTIONS,
    "abort_options": ["Abort"],
    "edit_options": ["Edit"],
    "directives": {"Revise": "Ask what to change."},
}
DECLINED = Outcome(state=InputState.DECLINED)
SILENT = [InputState.EXPIRED, InputState.CANCELLED, InputState.WITHDRAWN]


def point(**given: Any) -> InteractionPoint:
    return InteractionPoint(**{"name": "sign_off", "prompt": "Approve the plan?", **given})


def read(
    it: InteractionPoint, outcome: Outcome, *, rounds: int = 0, editing: bool = False
) -> PointAnswer:
    return read_answer(it, outcome, rounds=rounds, editing=editing)


def picked(choice: Any, rounds: int = 0, **given: Any) -> PointAnswer:
    return read(point(**(given or WHOLE)), answered(choice), rounds=rounds)


def test_l71_an_approval_says_its_label() -> None:
    assert picked("Approve") == PointAnswer(Reading.APPROVED, "Approve")
    assert read(point(), answered(True)) == PointAnswer(Reading.APPROVED, "Yes")


def test_l72_a_revision_says_its_label_and_the_directive() -> None:
    assert picked("Revise") == PointAnswer(Reading.REVISED, "Revise\n\nAsk what to change.")


def test_l73_an_edit_opens_and_what_was_edited_is_adopted() -> None:
    assert picked("Edit").reading is Reading.EDIT
    edited = read(point(**WHOLE), answered("# Better"), editing=True)
    assert edited == PointAnswer(Reading.EDITED, text="# Better")


def test_a_blank_edit_leaves_the_text_as_it_is() -> None:
    assert read(point(**WHOLE), answered(" \n"), editing=True).text is None


@pytest.mark.parametrize("text", ["Approve", "yes", "Abort", "Revise"])
def test_edited_text_that_reads_like_an_option_is_a_text(text: str) -> None:
    edited = read(point(**WHOLE), answered(text), editing=True)
    assert edited == PointAnswer(Reading.EDITED, text=text)


def test_l74_an_abort_cancels() -> None:
    assert picked("Abort").reading is Reading.ABORTED


LISTS: dict[str, Any] = {
    "abort_options": ["X"],
    "edit_options": ["X"],
    "directives": {"X": "Again."},
}


@pytest.mark.parametrize(
    ("lists", "reading"),
    [
        (["abort_options", "edit_options", "directives"], Reading.ABORTED),
        (["edit_options", "directives"], Reading.EDIT),
        (["directives"], Reading.REVISED),
        ([], Reading.APPROVED),
    ],
)
def test_l75_lists_are_consulted_abort_edit_directive_approve(
    lists: list[str], reading: Reading
) -> None:
    given = {key: LISTS[key] for key in lists}
    assert picked("X", options=["Go", "X"], **given).reading is reading


@pytest.mark.parametrize("said", ["Approve", "approve", " APPROVE ", "ap-prove", "ap\u2013prove"])
def test_l76_an_option_is_matched_loosely(said: str) -> None:
    assert picked(said) == PointAnswer(Reading.APPROVED, "Approve")


@pytest.mark.parametrize(
    "said", ["auto_approve", "Approved", "", " ", 0, 1, True, None, {}, ["Approve"]]
)
def test_l76_what_is_no_option_is_no_answer(said: Any) -> None:
    assert picked(said).reading is Reading.AGAIN


def test_l76_options_that_read_the_same_take_their_exact_label() -> None:
    given: dict[str, Any] = {
        "options": ["Auto approve", "auto-approve"],
        "abort_options": ["auto-approve"],
    }
    assert picked("Auto approve", **given).reading is Reading.APPROVED
    assert picked("auto-approve", **given).reading is Reading.ABORTED
    assert picked("AUTO APPROVE", **given).reading is Reading.AGAIN


@pytest.mark.parametrize("rounds", range(MAX_REVISION_ROUNDS))
def test_l79_four_rounds_are_run(rounds: int) -> None:
    assert picked("Revise", rounds).reading is Reading.REVISED
    edited = read(point(**WHOLE), answered("# Better"), rounds=rounds, editing=True)
    assert edited.reading is Reading.EDITED


@pytest.mark.parametrize(
    ("word", "reading"), [("proceed", Reading.EXHAUSTED), ("stop", Reading.STOPPED)]
)
def test_l79_on_the_fifth_prompt_a_revision_is_not_run_and_an_edit_is_adopted(
    word: str, reading: Reading
) -> None:
    it = point(**WHOLE, on_exhausted=word)
    assert read(it, answered("Approve"), rounds=4).reading is Reading.APPROVED
    assert read(it, answered("Abort"), rounds=4).reading is Reading.ABORTED
    assert read(it, answered("Revise"), rounds=4).reading is reading
    assert read(it, answered("Edit"), rounds=4).reading is Reading.EDIT
    edited = read(it, answered("# Better"), rounds=4, editing=True)
    assert edited == PointAnswer(reading, text="# Better")


def test_l79_on_the_fifth_prompt_a_decline_still_aborts() -> None:
    assert read(point(**WHOLE), DECLINED, rounds=4).reading is Reading.ABORTED


@pytest.mark.parametrize("state", SILENT)
@pytest.mark.parametrize("editing", [False, True])
def test_l82_silence_stops_a_point_that_asks_and_is_past_any_other(
    state: InputState, editing: bool
) -> None:
    silence = Outcome(state=state)
    assert read(point(unattended="ask"), silence, editing=editing).reading is Reading.UNANSWERED
    passed = read(point(), silence, editing=editing)
    assert passed == PointAnswer(Reading.PROCEEDED_UNANSWERED)


@pytest.mark.parametrize(
    "outcome",
    [
        DECLINED,
        Outcome(state=InputState.DECLINED, decision=ApprovalDecision.DENIED),
        Outcome(state=InputState.DECLINED, decision=ApprovalDecision.SKIPPED),
        Outcome(state=InputState.ANSWERED, decision=ApprovalDecision.SKIPPED, content=True),
    ],
)
def test_l83_a_denial_of_a_point_that_asks_is_an_answer(outcome: Outcome) -> None:
    assert read(point(unattended="ask"), outcome).reading is Reading.ABORTED


@pytest.mark.parametrize("given", [{}, {"style": "free_text", "required": False}, WHOLE])
def test_l84_declining_aborts_in_any_style(given: dict[str, Any]) -> None:
    assert read(point(**given), DECLINED).reading is Reading.ABORTED


@pytest.mark.parametrize("given", [{}, {"style": "free_text"}, {"options": OPTIONS}])
def test_l84_declining_revises_where_a_directive_says_what_no_means(given: dict[str, Any]) -> None:
    it = point(**given, directives={"No": "Ask why."})
    assert read(it, DECLINED) == PointAnswer(Reading.REVISED, "No\n\nAsk why.")


def test_l84_an_answer_of_false_is_a_decline() -> None:
    assert read(point(), answered(False)).reading is Reading.ABORTED


def test_declining_aborts_even_where_an_option_called_no_would_approve() -> None:
    it = point(prompt="Any objections?", options=["Yes", "No"], abort_options=["Yes"])
    assert read(it, answered("No")).reading is Reading.APPROVED
    assert read(it, DECLINED).reading is Reading.ABORTED


@pytest.mark.parametrize("text", ["approve", " YES\n", "Approve"])
def test_a_text_approves_by_two_words_alone(text: str) -> None:
    assert read(point(style="free_text"), answered(text)) == PointAnswer(Reading.APPROVED, text)


@pytest.mark.parametrize("text", ["yes, but shorter", "y", "approved", "no", "true", "Yes."])
def test_any_other_text_is_a_revision(text: str) -> None:
    assert read(point(style="free_text"), answered(text)) == PointAnswer(Reading.REVISED, text)


def test_a_blank_text_approves_only_where_none_is_required() -> None:
    it = point(style="free_text")
    assert read(it, answered("  ")).reading is Reading.AGAIN
    assert read(point(style="free_text", required=False), answered("")).reading is Reading.APPROVED


def test_a_message_that_came_instead_is_neither_yes_nor_no() -> None:
    for editing in (False, True):
        said = read(point(**WHOLE), Outcome(state=InputState.SUPERSEDED), editing=editing)
        assert said.reading is Reading.SUPERSEDED


labels = st.sampled_from([*OPTIONS, "auto-approve", "Auto approve", "No", "Yes", "yes"])


@st.composite
def points(draw: st.DrawFn) -> InteractionPoint:
    """Any point that is no slip, with overlapping lists and every style."""
    style = draw(st.sampled_from(["free_text", "multiple_choice", "confirm"]))
    options = draw(st.lists(labels, min_size=2, max_size=5, unique=True))
    known = {"free_text": ["No"], "confirm": ["Yes", "No"]}.get(style, [*options, "No"])
    some = st.lists(st.sampled_from(known), max_size=2, unique=True)
    try:
        return point(
            style=style,
            options=options if style == "multiple_choice" else [],
            abort_options=draw(some),
            edit_options=draw(some),
            directives={key: "Again." for key in draw(some)},
            required=draw(st.booleans()),
            unattended=draw(st.sampled_from(["ask", "auto_approve"])),
            on_exhausted=draw(st.sampled_from(["proceed", "stop"])),
        )
    except DefinitionError:
        return point(**WHOLE)


contents = (
    labels | st.text(max_size=5) | st.booleans() | st.none() | st.integers(-1, 3) | st.lists(labels)
)
outcomes = st.builds(
    Outcome,
    state=st.sampled_from(list(InputState)),
    content=contents,
    decision=st.none() | st.sampled_from(list(ApprovalDecision)),
)


@given(points(), outcomes, st.integers(0, 9), st.booleans())
def test_every_outcome_has_a_reading_and_only_a_pick_of_the_approve_list_approves(
    it: InteractionPoint, outcome: Outcome, rounds: int, editing: bool
) -> None:
    said = read(it, outcome, rounds=rounds, editing=editing)
    if said.reading is Reading.APPROVED:
        assert outcome.state is InputState.ANSWERED
        assert outcome.decision in (None, ApprovalDecision.APPROVED)
        assert not editing
        if it.style == "free_text":
            blank = not it.required and outcome.content.strip() == ""
            assert blank or outcome.content.strip().casefold() in ("approve", "yes")
        else:
            assert it.approves(said.says)
            assert not it.aborts(said.says)
            assert not it.edits(said.says)


@given(points(), outcomes, st.integers(0, 9), st.booleans())
def test_only_an_approval_silence_or_the_end_of_the_rounds_passes_a_point(
    it: InteractionPoint, outcome: Outcome, rounds: int, editing: bool
) -> None:
    said = read(it, outcome, rounds=rounds, editing=editing).reading
    if said is Reading.PROCEEDED_UNANSWERED:
        assert outcome.state in SILENT
        assert it.unattended != "ask"
    if said in (Reading.EXHAUSTED, Reading.STOPPED):
        assert rounds >= MAX_REVISION_ROUNDS
        assert (said is Reading.STOPPED) == (it.on_exhausted == "stop")
    passing = {Reading.APPROVED, Reading.PROCEEDED_UNANSWERED, Reading.EXHAUSTED}
    assert said.passes == (said in passing)


@given(points(), outcomes, st.integers(0, 9), st.booleans())
def test_the_rounds_change_nothing_but_what_would_have_been_one_more(
    it: InteractionPoint, outcome: Outcome, rounds: int, editing: bool
) -> None:
    first = read(it, outcome, rounds=0, editing=editing)
    later = read(it, outcome, rounds=rounds, editing=editing)
    if first.reading in (Reading.REVISED, Reading.EDITED) and rounds >= MAX_REVISION_ROUNDS:
        assert later.reading in (Reading.EXHAUSTED, Reading.STOPPED)
        assert later.text == first.text
    else:
        assert later == first
