"""How foreign text is shown, and what a pressed button amounts to."""

import unicodedata
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import FormData

from placet.domain.answer import Action, reduce
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InputState,
    InteractionRequest,
    MultipleChoiceRequest,
    Option,
    Question,
    QuestionsRequest,
    ReviewRequest,
    ToolCall,
    UrlRequest,
)
from placet.errors import Invalid
from placet_broker.api.page import appearance, forms, markdown

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 30, tzinfo=UTC)
CALL = ToolCall(id="1", tool="t")


def question(header: str, *, several: bool = False, other: bool = False) -> Question:
    options = (Option(label="A"), Option(label="B"))
    text = f"{header}?"
    return Question(
        question=text, header=header, options=options, multi_select=several, allow_other=other
    )


ASKED: dict[str, InteractionRequest] = {
    "approval": ApprovalRequest(agent_id="a", run_id="r", requested_at=NOW, call=CALL),
    "confirm": ConfirmRequest(requested_at=NOW),
    "text": FreeTextRequest(requested_at=NOW),
    "choice": MultipleChoiceRequest(requested_at=NOW, options=("1", "0")),
    "questions": QuestionsRequest(
        requested_at=NOW,
        questions=(question("One"), question("Many", several=True), question("Free", other=True)),
    ),
    "form": FormRequest(
        requested_at=NOW,
        form={
            "type": "object",
            "properties": {
                "n": {"type": "number"},
                "i": {"type": "integer"},
                "e": {"enum": [1, "x"]},
                "s": {"type": "string"},
            },
        },
    ),
    "url": UrlRequest(requested_at=NOW, url="https://example.com/x"),
    "edit": EditTextRequest(requested_at=NOW, text="a\nb"),
    "review": ReviewRequest(requested_at=NOW, call=CALL),
}


@pytest.mark.parametrize(
    ("kind", "fields", "content"),
    [
        ("approval", [("decision", "approved"), ("scope", "once")], True),
        ("confirm", [], True),
        ("text", [("text", "a\r\nb")], "a\nb"),
        ("choice", [("choice", "1")], "1"),
        (
            "questions",
            [("q0", "B"), ("q1", "A"), ("q1", "B"), ("other2", "else")],
            {"One?": "B", "Many?": ["A", "B"], "Free?": "else"},
        ),
        (
            "form",
            [("f_n", "1.5"), ("f_i", "2"), ("f_e", "1"), ("f_s", "")],
            {"n": 1.5, "i": 2, "e": 1},
        ),
        ("url", [], True),
        ("edit", [("text", "a\r\nb")], "a\nb"),
        ("edit", [("text", "a\r\nc")], "a\nc"),
        (
            "review",
            [("outcome", "happened"), ("result", "ok")],
            {"outcome": "happened", "result": "ok"},
        ),
        ("review", [("outcome", "rerun"), ("result", "ok")], {"outcome": "rerun"}),
    ],
)
def test_the_accepting_button_of_each_kind_gives_content_that_fits(
    kind: str, fields: list[tuple[str, str]], content: Any
) -> None:
    asked = ASKED[kind]
    action, given_ = forms.submitted(asked, FormData([("act", "accept"), *fields]))
    outcome = reduce(asked, action, given_)
    assert (outcome.state, outcome.content) == (InputState.ANSWERED, content)


@pytest.mark.parametrize("kind", sorted(set(ASKED) - {"confirm", "url", "text", "edit", "form"}))
def test_the_accepting_button_with_nothing_chosen_does_not_fit(kind: str) -> None:
    asked = ASKED[kind]
    action, content = forms.submitted(asked, FormData([("act", "accept")]))
    with pytest.raises(Invalid):
        reduce(asked, action, content)


@pytest.mark.parametrize("kind", sorted(ASKED))
def test_declining_always_fits_and_no_button_is_no_answer(kind: str) -> None:
    asked = ASKED[kind]
    action, content = forms.submitted(asked, FormData([("act", "decline"), ("reason", "no")]))
    assert action is Action.DECLINE
    assert reduce(asked, action, content).state is InputState.DECLINED
    for act in ("", "approve"):
        with pytest.raises(Invalid):
            forms.submitted(asked, FormData([("act", act)]))


@given(st.text())
def test_no_shown_character_is_invisible_and_none_is_markup(text: str) -> None:
    shown = appearance.visible(text)
    bare = unescape(shown.replace('<span class="odd">', "").replace("</span>", ""))
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not [c for c in bare if unicodedata.category(c) in hidden and c != "\n"]
    assert "<" not in shown.replace('<span class="odd">', "").replace("</span>", "")
    assert "\n\n\n\n" not in bare


@pytest.mark.parametrize(
    "character", ["\u202e", "\u200b", "\u2066", "\ufeff", "\u3164", "\ufe0f", "\xa0"]
)
def test_ap_53_what_would_hide_or_mislead_is_shown_as_its_code_point(character: str) -> None:
    shown = appearance.visible(f"a{character}b")
    assert character not in shown
    assert 'class="odd"' in shown


def test_ap50_a_long_value_is_folded_with_its_size_and_all_of_it_is_there() -> None:
    text = "\n".join(f"line {n}" for n in range(1000))
    shown = appearance.value(text)
    assert "1,000 lines" in shown
    assert "sha256" in shown
    assert "line 999" in shown
    assert "<details" not in appearance.value("short")


async def test_ap_59_markdown_has_no_script_no_image_and_says_where_links_lead() -> None:
    """AP-59."""
    html = await markdown.rendered(
        "# T\n<script>alert(1)</script> <img src=x onerror=y>\n"
        "![t](https://evil.example/t.png) [good bank](https://evil.example/x) "
        "[b](javascript:alert(1)) [c](data:text/html,x) https://plain.example"
    )
    for forbidden in ("<script", "<img", 'javascript:alert(1)"', 'href="data:', "onerror=y>"):
        assert forbidden not in html.replace("&gt;", "")
    assert html.count("(evil.example)") == 2
    assert "(plain.example)" in html
    assert 'rel="noopener noreferrer nofollow"' in html


def test_a_look_alike_host_is_marked() -> None:
    assert appearance.host_note("https://xn--pple-43d.com/x").endswith("check it)")
    assert appearance.host_note("https://example.com/x") == "example.com"


TEMPLATES = Path(appearance.__file__).parent / "templates"


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_ap66_ap67_nothing_has_the_focus_and_nothing_but_a_button_submits(path: Path) -> None:
    """Enter in a text field of several lines adds a line; no script sends a form."""
    text = path.read_text()
    assert "autofocus" not in text
    assert "<script" not in text
    assert 'onclick="' not in text


@pytest.mark.parametrize("accepts", ["decision", "words"])
def test_a_button_for_longer_grants_for_longer_whichever_words_are_taken(accepts: str) -> None:
    asked = ApprovalRequest(
        agent_id="a", run_id="r", requested_at=NOW, call=CALL, accepts=accepts,
        scopes=("once", "stage", "run"),
    )  # fmt: skip
    pressed = FormData({"act": "accept", "decision": "approved", "scope": "run"})
    assert reduce(asked, *forms.submitted(asked, pressed)).scope == "run"


async def test_a_body_that_would_take_long_to_read_is_shown_as_it_is() -> None:
    for body in ("[" * 2001, "x" * 65_537):
        assert await markdown.rendered(body) == f'<pre class="value">{body}</pre>'
    assert (await markdown.rendered("[" * 2000)).startswith("<p>")
