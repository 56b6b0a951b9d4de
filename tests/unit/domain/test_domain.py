"""The words: requests, answers, digests, and what may be looked at."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from placet.domain.answer import Action, reduce
from placet.domain.digest import call_digest, strict_json
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InputState,
    MultipleChoiceRequest,
    QuestionsRequest,
    ReviewRequest,
    ToolCall,
    UrlRequest,
)
from placet.domain.risk import ToolRisk
from placet.domain.visible import visible
from placet.errors import Invalid
from placet.ids import derived_id, new_id

pytestmark = pytest.mark.unit
AT = datetime(2026, 1, 2, tzinfo=UTC)
APPROVAL = ApprovalRequest(
    call=ToolCall(id="c1", tool="drop", args={"name": "x"}),
    agent_id="a",
    run_id="r",
    requested_at=AT,
)
SCOPED = APPROVAL.model_copy(
    update={
        "scopes": ("once", "stage", "run"),
        "options": ("Allow once", "Allow drop for this stage", "Allow drop for this run", "Deny"),
    }
)
QUESTION = {"question": "Which?", "header": "which", "options": [{"label": "A"}, {"label": "B"}]}


def test_the_caller_s_later_changes_do_not_reach_a_request() -> None:
    args: dict[str, Any] = {"paths": ["/tmp/a"]}  # noqa: S108 - a word
    call = ToolCall(id="c", tool="rm", args=args)
    args["paths"].append("/etc")
    assert call.args == {"paths": ["/tmp/a"]}  # noqa: S108
    with pytest.raises(ValidationError):
        call.tool = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        0,
        1,
        "true",
        "false",
        "yes",
        {},
        [],
        {"decision": None},
        {"decision": "yes"},
        {"scope": "run"},
        {"decision": True},
    ],
)
def test_nothing_but_a_yes_is_a_yes(content: Any) -> None:
    with pytest.raises(Invalid) as refused:
        reduce(APPROVAL, Action.ACCEPT, content)
    assert refused.value.errors


@pytest.mark.parametrize(
    ("content", "state", "scope"),
    [
        (True, "answered", "once"),
        ({"decision": "approved"}, "answered", "once"),
        ({"decision": "approved", "scope": "session"}, "answered", "run"),
        ({"decision": "approved", "scope": "stage"}, "answered", "stage"),
        ({"decision": "approved", "scope": "for ever"}, "answered", "once"),
        (False, "declined", None),
        ({"decision": "denied", "scope": "run"}, "declined", None),
        ({"decision": "skipped"}, "declined", None),
    ],
)
def test_an_unknown_scope_narrows_and_a_no_has_none(
    content: Any, state: str, scope: str | None
) -> None:
    outcome = reduce(SCOPED, Action.ACCEPT, content)
    assert (outcome.state, outcome.scope) == (state, scope)


def test_a_scope_that_the_prompt_does_not_offer_narrows_to_once() -> None:
    outcome = reduce(APPROVAL, Action.ACCEPT, {"decision": "approved", "scope": "run"})
    assert outcome.scope == "once"


@pytest.mark.parametrize("index", [0, 1, 3, 4, -1])
def test_l95b_a_bare_index_is_no_answer_to_an_approval(index: int) -> None:
    with pytest.raises(Invalid):
        reduce(SCOPED, Action.ACCEPT, index)


def test_a_no_said_in_three_ways_is_one_outcome_and_a_skip_another() -> None:
    noes = [
        reduce(APPROVAL, Action.ACCEPT, False),
        reduce(APPROVAL, Action.ACCEPT, {"decision": "denied", "reason": "x"}),
        reduce(APPROVAL, Action.DECLINE, "y"),
        reduce(APPROVAL, Action.DECLINE, {"reason": "z"}),
        reduce(APPROVAL, Action.DECLINE),
    ]
    assert all(no.same_as(noes[0]) for no in noes)
    assert not reduce(APPROVAL, Action.ACCEPT, {"decision": "skipped"}).same_as(noes[0])


def test_a_decline_takes_no_content_but_an_approval_s_reason() -> None:
    with pytest.raises(Invalid):
        reduce(ConfirmRequest(requested_at=AT), Action.DECLINE, "because")
    with pytest.raises(Invalid):
        reduce(APPROVAL, Action.DECLINE, "x" * 1001)
    with pytest.raises(Invalid):
        reduce(APPROVAL, Action.DECLINE, {"reason": "x", "decision": "approved"})


@pytest.mark.parametrize(
    ("request_", "fits", "unfit"),
    [
        (ConfirmRequest(requested_at=AT), [True, False], [None, 1, "true", {}]),
        (FreeTextRequest(requested_at=AT), ["", " ", "x"], [None, 1, {}, "a\x00b"]),
        (
            MultipleChoiceRequest(options=("A", "B"), requested_at=AT),
            ["A", 1, 0, "a", " -b"],
            [2, -1, "c", True, None, ""],
        ),
        (
            QuestionsRequest.model_validate({"questions": [QUESTION], "requested_at": AT}),
            ["A", 1, {"Which?": "B"}],
            ["C", None, {}, {"Other?": "A"}, ""],
        ),
        (UrlRequest(url="https://x.test/a", requested_at=AT), [True], [False, None, "done", 1]),
        (EditTextRequest(text="old", requested_at=AT), ["new", ""], [None, 3]),
        (
            FormRequest(
                form={
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                },
                requested_at=AT,
            ),
            [{"n": 1}, {"n": 1.0}],
            [{}, {"n": True}, {"n": "1"}, {"n": 1, "m": 2}, None, []],
        ),
        (
            ReviewRequest(call=ToolCall(id="c", tool="t"), requested_at=AT),
            [{"outcome": "happened"}, {"outcome": "happened", "result": 7}, {"outcome": "rerun"}],
            [{"outcome": "rerun", "result": 7}, {}, {"outcome": "accept"}, True, None],
        ),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_content_fits_its_kind_or_is_refused_with_a_reason(
    request_: Any, fits: list[Any], unfit: list[Any]
) -> None:
    for content in fits:
        assert reduce(request_, Action.ACCEPT, content).state in (
            InputState.ANSWERED,
            InputState.DECLINED,
        )
    for content in unfit:
        with pytest.raises(Invalid) as refused:
            reduce(request_, Action.ACCEPT, content)
        assert refused.value.errors, content


REVIEW = ReviewRequest(call=ToolCall(id="c1", tool="drop"), requested_at=AT)


@pytest.mark.parametrize(
    "request_", [REVIEW, APPROVAL.model_copy(update={"accepts": "anything"})], ids=["review", "any"]
)
@pytest.mark.parametrize("kept", [{"a\x00": 1}, 2**63, "\ud800", [[]]])
def test_an_answer_that_no_store_keeps_is_refused(request_: Any, kept: Any) -> None:
    for _ in range(70 if kept == [[]] else 0):
        kept = [kept]
    content = {"outcome": "happened", "result": kept} if request_ is REVIEW else kept
    with pytest.raises(Invalid, match="can't be kept"):
        reduce(request_, Action.ACCEPT, content)


def test_a_question_whose_answer_no_store_keeps_can_t_be_asked() -> None:
    options = [{"label": "a"}, {"label": "b"}]
    one = {"question": "which\x00?", "header": "h", "options": options}
    with pytest.raises(ValidationError, match="null"):
        QuestionsRequest.model_validate({"questions": [one], "requested_at": AT})


def test_an_option_that_can_t_be_told_from_nothing_can_t_be_offered() -> None:
    with pytest.raises(ValidationError, match="blank"):
        MultipleChoiceRequest(options=("yes", " "), requested_at=AT)


def test_blank_leaves_an_edited_text_unchanged() -> None:
    assert (
        reduce(EditTextRequest(text="old", requested_at=AT), Action.ACCEPT, " \n").content == "old"
    )


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object"},
        {"type": "array", "items": {"type": "object"}},
        {"type": "array", "items": {"type": "string"}},
        {"$ref": "https://evil.test/x"},
        {"type": "string", "format": "ipv4"},
        {"anyOf": [{"type": "object"}]},
        "string",
    ],
)
def test_a_form_that_is_not_flat_is_refused_when_it_is_made(field: Any) -> None:
    with pytest.raises((Invalid, ValidationError)):
        FormRequest(form={"type": "object", "properties": {"x": field}}, requested_at=AT)


def test_a_form_s_pattern_can_not_run_away() -> None:
    form = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}
    request = FormRequest(form=form, requested_at=AT)
    with pytest.raises(Invalid):
        reduce(request, Action.ACCEPT, {"x": "a" * 5000 + "!"})


@pytest.mark.parametrize(
    "url",
    [
        "http://x.test",
        "javascript:alert(1)",
        "https://user:pw@x.test/",
        "https://",
        "https:\\\\x",
        "https://x.test/a b",
    ],
)
def test_a_url_is_https_without_credentials(url: str) -> None:
    with pytest.raises(ValidationError):
        UrlRequest(url=url, requested_at=AT)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
        json_values,
        max_size=4,
    )
)
def test_the_order_of_keys_does_not_change_a_digest(args: dict[str, Any]) -> None:
    turned = dict(reversed(list(args.items())))
    assert call_digest("t", "s", args) == call_digest("t", "s", turned)


def test_a_digest_tells_tools_schemas_and_arguments_apart() -> None:
    one = call_digest("t", "s", {"a": 1})
    others = [
        call_digest("u", "s", {"a": 1}),
        call_digest("t", "z", {"a": 1}),
        call_digest("t", "s", {"a": 2}),
    ]
    assert one not in others
    assert call_digest("t", "s", {"a": 1}) == call_digest("t", "s", {"a": 1.0})


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": Infinity}', "{", "[" * 100_000]
)
def test_what_no_two_readers_agree_on_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        strict_json(text)


@pytest.mark.parametrize("value", [2**53 + 1, float("nan"), float("inf")])
def test_numbers_that_are_no_json_numbers_never_become_a_call(value: Any) -> None:
    with pytest.raises((Invalid, ValidationError)):
        ToolCall(id="c", tool="t", args={"n": value})


@pytest.mark.parametrize(
    "char", ["\u202e", "\u200b", "\r", "\x1b", "\u2066", "\u00a0", "\ufe0f", "\u2028"]
)
def test_what_can_not_be_seen_is_written_out(char: str) -> None:
    assert visible(f"a{char}b") == f"a\\u{{{ord(char):x}}}b"


def test_plain_text_stays_as_it_is() -> None:
    assert visible("Grüße, 日本") == "Grüße, 日本"


def test_ids_are_derived_from_their_parts_and_from_nothing_else() -> None:
    assert derived_id("inp", "a", "bc") == derived_id("inp", "a", "bc")
    assert derived_id("inp", "a", "bc") != derived_id("inp", "ab", "c")
    assert len({new_id("run") for _ in range(1000)}) == 1000


def test_tiers_are_in_order() -> None:
    assert ToolRisk.CRITICAL.reaches(ToolRisk.HIGH)
    assert not ToolRisk.SAFE.reaches(ToolRisk.HIGH)
