"""Questions in the terminal: each kind asked so that it can be answered, and again where it did not fit."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest

from placet import CliApprovalHandler, CliInteractionHandler
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    MultipleChoiceRequest,
    Option,
    Question,
    QuestionsRequest,
    ReviewRequest,
    ToolCall,
    UrlRequest,
)
from placet.sealing import new_key, public

pytestmark = pytest.mark.unit

AT: dict[str, Any] = {"requested_at": datetime(2026, 1, 2, tzinfo=UTC), "message": "Well?"}
WHERE = Question(
    question="Where?",
    header="Place",
    options=(Option(label="eu", description="Frankfurt"), Option(label="us")),
)
FORM = FormRequest(
    form={
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "seats": {"type": "integer", "default": 2},
            "plan": {"oneOf": [{"const": "f", "title": "Free"}, {"const": "t", "title": "Team"}]},
            "days": {"type": "array", "items": {"enum": ["mon", "tue"]}},
            "mail": {"type": "boolean"},
            "pin": {"type": "string", "sealed": True},
        },
        "required": ["name"],
    },
    seal_key=public(new_key()),
    **AT,
)
CALL = ToolCall(id="c", tool="pay", args={"to": "bob"})


async def asked(request: Any, typed: str) -> tuple[Any, str]:
    """The content, and all that was shown."""
    sink = io.StringIO()
    handler = CliInteractionHandler(source=io.StringIO(typed), sink=sink)
    return await handler.ask(request), sink.getvalue()


@pytest.mark.parametrize(
    ("request_", "typed", "content"),
    [
        (ConfirmRequest(**AT), "y\n", True),
        (ConfirmRequest(**AT), " NO \n", False),
        (ConfirmRequest(**AT), "maybe\nyes\n", True),
        (FreeTextRequest(**AT), "Ada\n", "Ada"),
        (FreeTextRequest(required=False, **AT), "\n", ""),
        (MultipleChoiceRequest(options=("a", "b"), **AT), "2\n", "b"),
        (MultipleChoiceRequest(options=("a", "b"), **AT), "a\n", "a"),
        (MultipleChoiceRequest(options=("2", "1"), **AT), "1\n", "1"),
        (MultipleChoiceRequest(options=("a", "b"), **AT), "0\n3\nc\n1\n", "a"),
        (QuestionsRequest(questions=(WHERE,), **AT), "1\n", {"Where?": "eu"}),
        (
            QuestionsRequest(
                questions=(WHERE.model_copy(update={"multi_select": True, "allow_other": True}),),
                **AT,
            ),
            "2, mars\n",
            {"Where?": ["us", "mars"]},
        ),
        (UrlRequest(url="https://x.test/", **AT), "Done\n", True),
        (EditTextRequest(text="old", **AT), "new\nlines\n.\n", "new\nlines"),
        (EditTextRequest(text="old", **AT), ".\n", ""),
        (ReviewRequest(call=CALL, **AT), "3\n", {"outcome": "fail"}),
        (
            FORM,
            "Ada\n\n2\nmon, 2\nyes\n1234\n",
            {"name": "Ada", "plan": "t", "days": ["mon", "tue"], "mail": True, "pin": "1234"},
        ),
        (
            FORM,
            "A\n7.5\n\n\n\n\nAda\n7\n\n\n\n\n",
            {"name": "Ada", "seats": 7},
        ),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
async def test_each_kind_is_asked_until_it_fits(request_: Any, typed: str, content: Any) -> None:
    assert (await asked(request_, typed))[0] == content


@pytest.mark.parametrize("typed", ["", "\n"])
@pytest.mark.parametrize(
    "request_",
    [
        ConfirmRequest(**AT),
        FreeTextRequest(**AT),
        MultipleChoiceRequest(options=("a", "b"), **AT),
        QuestionsRequest(questions=(WHERE,), **AT),
        UrlRequest(url="https://x.test/", **AT),
        ReviewRequest(call=CALL, **AT),
        FORM,
    ],
    ids=lambda request: request.kind,
)
async def test_nothing_typed_is_no_answer(request_: Any, typed: str) -> None:
    assert (await asked(request_, typed))[0] is None


async def test_the_end_of_the_input_is_no_edit_and_no_acknowledgement() -> None:
    assert (await asked(EditTextRequest(text="old", **AT), "half\n"))[0] is None
    assert (await asked(FreeTextRequest(required=False, **AT), ""))[0] is None


async def test_what_does_not_fit_is_asked_again_with_the_field_and_the_reason() -> None:
    _, shown = await asked(FORM, "A\n7.5\n\n\n\n\nAda\n\n\n\n\n\n")
    assert "/seats:" in shown
    assert "/name:" in shown
    assert "7.5" not in shown, "a form with something sealed repeats nothing"


async def test_a_form_s_fields_are_shown_with_their_choices_and_their_defaults() -> None:
    _, shown = await asked(FORM, "")
    assert "name: " in shown
    _, shown = await asked(FORM, "Ada\n\n\n\n\n\n")
    assert "seats (may be left out) [2]: " in shown
    assert "2. Team" in shown


async def test_ap108_a_page_is_shown_whole_with_where_it_leads_and_what_is_odd() -> None:
    _, shown = await asked(UrlRequest(url="https://xn--aypal-4ve.test/a?b", **AT), "no\n")
    assert "https://xn--aypal-4ve.test/a?b" in shown
    assert "It leads to https://xn--aypal-4ve.test." in shown
    assert "Careful: " in shown


async def test_nothing_that_is_shown_can_play_with_the_terminal() -> None:
    evil = "\x1b[2J\u202e"
    requests: list[Any] = [
        FreeTextRequest(**{**AT, "message": evil}, body=evil),
        MultipleChoiceRequest(options=(evil, "b"), **AT),
        EditTextRequest(text=evil, **AT),
        QuestionsRequest(questions=(WHERE.model_copy(update={"question": evil}),), **AT),
        FormRequest(form={"type": "object", "properties": {evil: {"type": "string"}}}, **AT),
        ReviewRequest(call=CALL.model_copy(update={"args": {"x": evil}}), **AT),
    ]
    for request in requests:
        _, shown = await asked(request, "zzz\n")
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "\\u{1b}" in shown or "\\u001b" in shown


async def test_an_approval_is_never_answered_by_the_handler_of_the_other_kinds() -> None:
    request = ApprovalRequest(call=CALL, agent_id="a", run_id="r", **AT)
    assert (await asked(request, "y\nyes\n1\n"))[0] is None


async def test_the_end_of_the_input_is_no_approval() -> None:
    request = ApprovalRequest(call=CALL, agent_id="a", run_id="r", **AT)
    handler = CliApprovalHandler(source=io.StringIO(""), sink=io.StringIO())
    assert await handler.request(request) == "denied"
