"""The builtins with which a model asks: what is put to a person, and the sentence that the model reads."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from placet import Agent, Context, ScriptedModel
from placet.agents import asking
from placet.agents.builtins import BUILTINS, builtin
from placet.agents.scripted import calls, says, steps
from placet.agents.workspace import Workspace
from placet.domain.heritage import NO_HERITAGE
from placet.domain.interaction import InputState, InteractionRequest
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.gate import Role
from placet.kernel.call import Ask
from tests.support.desk import Desk, told

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 2, tzinfo=UTC)
ASKING = sorted(asking.TOOLS)
QUESTION: dict[str, Any] = {
    "question": "Which region?",
    "header": "Region",
    "options": [{"label": "eu"}, {"label": "us", "description": "Ohio"}],
}


async def builtin_told(
    name: str, args: dict[str, Any], *answers: Any
) -> tuple[str, str, list[InteractionRequest]]:
    """Outcome and result of one call of a builtin, and what was asked."""
    desk = Desk(*answers)
    model = ScriptedModel(steps(calls((name, args)), says("done")))
    run = await Agent("a", model=model, builtins=[name]).run(
        "go", interaction_handler=desk, user="alice"
    )
    ((outcome, content),) = told(run)
    return outcome, content, desk.asked


@pytest.mark.parametrize("name", ASKING)
def test_every_asking_builtin_has_its_role_and_sends_nothing_out(name: str, tmp_path: Path) -> None:
    made = builtin(name, Workspace(tmp_path))
    assert (made.role, made.sends, made.retry) == (Role.ASKS, False, "safe")


def test_c30_nothing_asks_unless_the_definition_lists_it() -> None:
    bare = Agent("a", model=ScriptedModel(steps(says("done"))), builtins=["read_file"])
    assert list(bare.situation("main", NO_HERITAGE).tools) == ["read_file"]
    assert set(ASKING) < set(BUILTINS)


@pytest.mark.parametrize(
    ("name", "args", "kind", "answer", "result"),
    [
        ("ask_user_text", {"question": "Name?"}, "free_text", "Ada", "alice answered: Ada"),
        (
            "ask_user_choice",
            {"question": "Where?", "options": ["eu", "us"]},
            "multiple_choice",
            1,
            "alice chose: us",
        ),
        ("ask_user_confirm", {"question": "Go?"}, "confirm", True, "alice said yes."),
        ("ask_user_confirm", {"question": "Go?"}, "confirm", False, "alice said no."),
        (
            "edit_document",
            {"content": "old"},
            "edit_text",
            "new",
            "alice edited the text. It is now:\nnew",
        ),
        (
            "present_for_review",
            {"title": "Plan", "markdown": "# 1"},
            "free_text",
            "too long",
            "alice gave feedback: too long",
        ),
        (
            "ask_user",
            {"questions": [QUESTION]},
            "questions",
            "eu",
            "alice answered:\n- Which region? eu",
        ),
    ],
)
async def test_l1_each_builtin_asks_its_kind_and_tells_the_answer_in_a_sentence(
    name: str, args: dict[str, Any], kind: str, answer: Any, result: str
) -> None:
    outcome, content, (request,) = await builtin_told(name, args, answer)
    assert (outcome, content, request.kind) == ("ok", result, kind)


async def test_l3_the_editor_starts_from_the_document() -> None:
    _, _, (request,) = await builtin_told("edit_document", {"content": "one\ntwo"}, "x")
    assert request.text == "one\ntwo"  # type: ignore[union-attr]


@pytest.mark.parametrize("blank", ["", " \n\t"])
async def test_l4_a_review_has_the_title_as_question_and_blank_takes_note_of_it(blank: str) -> None:
    args = {"title": "The plan", "markdown": "# First\n"}
    _, content, (request,) = await builtin_told("present_for_review", args, blank)
    assert (request.kind, request.message, request.body) == ("free_text", "The plan", "# First\n")
    assert request.required is False  # type: ignore[union-attr]
    assert content == "alice acknowledged it."


@pytest.mark.parametrize("answer", ["", "  \n", None])
async def test_l5_no_text_and_a_blank_text_are_told_in_one_sentence(answer: Any) -> None:
    outcome, content, _ = await builtin_told("ask_user_text", {"question": "Name?"}, answer)
    assert (outcome, content) == ("ok", "User provided no answer.")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ask_user_choice", {"question": "Where?", "options": ["eu", "us"]}),
        ("present_for_review", {"title": "Plan", "markdown": "x"}),
        ("ask_user", {"questions": [QUESTION]}),
    ],
)
async def test_l5_whatever_the_kind_nobody_s_answer_is_told_so(
    name: str, args: dict[str, Any]
) -> None:
    assert (await builtin_told(name, args, None))[:2] == ("ok", "User provided no answer.")


@pytest.mark.parametrize("options", [[], ["only"], ["same", "same"], ["", "b"]])
async def test_l6_a_choice_among_fewer_than_two_is_an_error_and_nobody_is_asked(
    options: list[str],
) -> None:
    args = {"question": "Where?", "options": options}
    outcome, content, asked = await builtin_told("ask_user_choice", args, 0)
    assert (outcome, asked) == ("error", [])
    assert "2 or more" in content


async def test_l7_a_choice_may_be_answered_with_its_text() -> None:
    args = {"question": "Where?", "options": ["eu", "us"]}
    assert (await builtin_told("ask_user_choice", args, "us"))[1] == "alice chose: us"


async def test_l9_a_confirm_that_nobody_answered_counts_as_no_and_says_so() -> None:
    _, content, _ = await builtin_told("ask_user_confirm", {"question": "Go?"}, None)
    assert content == "Nobody answered, which counts as no."


@pytest.mark.parametrize("blank", ["", "\n  "])
async def test_l10_a_blank_edit_gives_the_original_back_as_unchanged(blank: str) -> None:
    _, content, _ = await builtin_told("edit_document", {"content": "old\ntext"}, blank)
    assert content == "alice left the text unchanged:\nold\ntext"


async def test_l10_an_edit_that_nobody_made_gives_the_original_back_too() -> None:
    _, content, _ = await builtin_told("edit_document", {"content": "old"}, None)
    assert content == "User provided no answer. The text is unchanged:\nold"


BAD_QUESTIONS = {
    "none": [],
    "five": [{**QUESTION, "question": f"{n}?"} for n in range(5)],
    "the same twice": [QUESTION, QUESTION],
    "no header": [{**QUESTION, "header": ""}],
    "a header of 13": [{**QUESTION, "header": "x" * 13}],
    "one option": [{**QUESTION, "options": [{"label": "eu"}]}],
    "five options": [{**QUESTION, "options": [{"label": str(n)} for n in range(5)]}],
    "labels that repeat": [{**QUESTION, "options": [{"label": "eu"}, {"label": "eu"}]}],
    "a blank label": [{**QUESTION, "options": [{"label": "eu"}, {"label": "  "}]}],
    "no options": [{"question": "?", "header": "h"}],
}


@pytest.mark.parametrize("questions", BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
async def test_c35_bad_questions_are_the_tool_s_error_and_nobody_is_asked(
    questions: list[Any],
) -> None:
    outcome, _, asked = await builtin_told("ask_user", {"questions": questions}, "eu")
    assert (outcome, asked) == ("error", [])


async def test_c35_four_questions_are_asked_at_once_and_answered_together() -> None:
    many: list[Any] = [{**QUESTION, "question": f"{n}?", "header": "x" * 12} for n in range(3)]
    many.append({**QUESTION, "question": "All?", "multi_select": True, "allow_other": True})
    answers = {"0?": "eu", "1?": 1, "2?": "us", "All?": ["eu", "the moon"]}
    _, content, (request,) = await builtin_told("ask_user", {"questions": many}, answers)
    assert content == "alice answered:\n- 0? eu\n- 1? us\n- 2? us\n- All? eu, the moon"
    assert request.message == "0?"


@pytest.mark.parametrize(
    ("waited", "words"),
    [
        (timedelta(seconds=1), "1 second"),
        (timedelta(minutes=3, seconds=59), "3 minutes"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(days=2, hours=23), "2 days"),
    ],
)
async def test_c3_the_result_says_who_answered_and_how_long_it_waited(
    waited: timedelta, words: str
) -> None:
    said = await settled("bob said: no", InputState.ANSWERED, waited)
    assert said == f"alice answered after {words}: bob said: no", "no answer can imitate who"


async def test_a_person_who_declines_is_told_from_nobody() -> None:
    said = await settled(None, InputState.DECLINED, timedelta(minutes=5))
    assert said == "alice declined to answer after 5 minutes."


async def settled(content: Any, state: InputState, waited: timedelta) -> Any:
    """What `ask_user_text` says of a question that ended so."""
    _, _, (request,) = await builtin_told("ask_user_text", {"question": "Name?"}, "x")
    resolution = Resolution(
        input_id="inp_1",
        outcome=Outcome(state=state, content=content),
        by=Person(id="alice"),
        at=AT + waited,
        asked_at=AT,
    )
    ask = Ask("inp_1", request.kind, "Name?", request.digest, 0, resolution=resolution)
    return await asking.ask_user_text(Context(_answers=(ask,), _in_run=True), {"question": "Name?"})
