"""Sealed answers: readable for the runner alone, and yet the same answer is known again."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from placet.domain.answer import Action, reduce, sealed_at
from placet.domain.interaction import FormRequest
from placet.domain.outcome import Outcome
from placet.errors import Invalid, SettingsError
from placet.sealing import Marks, Sealer, new_key, open_sealed, public, seal

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 2, tzinfo=UTC)
KEY = new_key()
FORM = {
    "type": "object",
    "properties": {
        "pin": {"type": "string", "sealed": True, "minLength": 4, "pattern": "^[0-9]+$"},
        "who": {"type": "string", "enum": ["me", "you"]},
    },
    "required": ["pin"],
    "maxProperties": 2,
}


def asked(id: str = "inp_1", key: str = KEY) -> FormRequest:
    return FormRequest(id=id, form=FORM, seal_key=public(key), requested_at=AT)


def answer(pin: Any, request: FormRequest | None = None, **more: Any) -> Outcome:
    marks = more.pop("marks", MARKS)
    return reduce(request or asked(), Action.ACCEPT, {"pin": pin, **more}, marks=marks)


MARKS = Marks()


def test_what_was_sealed_opens_for_its_key_and_at_its_place_alone() -> None:
    text = seal(public(KEY), "hörst du".encode(), "inp_1/pin")
    assert open_sealed([KEY], text, "inp_1/pin").decode() == "hörst du"
    assert open_sealed([new_key(), KEY], text, "inp_1/pin")
    changed = ("A" if text[60] != "A" else "B").join((text[:60], text[61:]))
    for keys, sealed, where in (
        ([new_key()], text, "inp_1/pin"),
        ([KEY], text, "inp_2/pin"),
        ([KEY], text, "inp_1/other"),
        ([KEY], changed, "inp_1/pin"),
        ([KEY], "", "inp_1/pin"),
        ([KEY], "no base64 \u00e9", "inp_1/pin"),
        ([], text, "inp_1/pin"),
    ):
        with pytest.raises(Invalid, match="can't be opened"):
            open_sealed(keys, sealed, where)


def test_a_key_that_is_none_is_refused_and_not_repeated() -> None:
    for wrong in ("", "secret-but-wrong", new_key()[:-8]):
        with pytest.raises(SettingsError) as refused:
            Sealer([wrong])
        assert not wrong or wrong not in str(refused.value)
    with pytest.raises(SettingsError):
        Sealer([])


def test_what_holds_a_key_does_not_show_it() -> None:
    sealer = Sealer([KEY])
    assert KEY not in repr(sealer)
    assert sealer.public in repr(sealer)
    assert repr(Marks(b"k" * 32)) == "Marks()"


def test_the_first_key_seals_and_every_key_opens() -> None:
    old, new = new_key(), new_key()
    both = Sealer([new, old])
    assert both.public == public(new)
    assert both.open(seal(public(old), b"x", "here"), "here") == "x"


def test_an_answer_leaves_nothing_of_what_is_sealed_but_ciphertext() -> None:
    outcome = answer("123456", who="me")
    assert outcome.content["who"] == "me"
    assert set(outcome.content["pin"]) == {"sealed"}
    assert "123456" not in outcome.model_dump_json()
    opened = open_sealed([KEY], outcome.content["pin"]["sealed"], sealed_at("inp_1", "pin"))
    assert opened == b"123456"


def test_a_sealed_field_that_is_left_out_stays_out() -> None:
    form = {**FORM, "required": []}
    request = FormRequest(form=form, seal_key=public(KEY), requested_at=AT)
    outcome = reduce(request, Action.ACCEPT, {"who": "me"})
    assert (outcome.content, outcome.marks) == ({"who": "me"}, {})


def test_what_is_sealed_is_judged_as_it_was_typed_and_no_error_repeats_it() -> None:
    for content in (
        {"pin": "77a"},
        {"pin": "abcdefgh-secret"},
        {"pin": 987654321},
        {"pin": ["987654321"]},
        {"pin": {"sealed": "987654321"}},
        {"pin": "987654321", "who": "987654321"},
        {"pin": "987654321", "extra": 1},
    ):
        with pytest.raises(Invalid) as refused:
            reduce(asked(), Action.ACCEPT, content)
        told = json.dumps([str(refused.value), *(e.detail for e in refused.value.errors)])
        for secret in ("77a", "abcdefgh-secret", "987654321"):
            assert secret not in told


def test_the_same_answer_again_is_the_same_outcome_though_its_ciphertext_differs() -> None:
    one, again = answer("123456", who="me"), answer("123456", who="me")
    assert one.content != again.content
    assert one.same_as(again)
    assert not one.same_as(answer("654321", who="me"))
    assert not one.same_as(answer("123456", who="you"))
    assert not one.same_as(answer("123456"))
    kept = Outcome.model_validate_json(one.model_dump_json())
    assert kept.same_as(again)


def test_a_mark_tells_nothing_to_those_without_its_key_and_nothing_across_questions() -> None:
    one = answer("123456").marks
    assert one != answer("123456", marks=Marks()).marks
    assert one != answer("123456", asked("inp_2")).marks


def test_the_key_is_no_part_of_what_is_consented_to() -> None:
    assert asked().with_digest().digest == asked(key=new_key()).with_digest().digest


def test_an_outcome_without_seals_has_no_marks_on_the_wire() -> None:
    plain = FormRequest(
        form={"type": "object", "properties": {"x": {"type": "string"}}}, requested_at=AT
    )
    assert "marks" not in reduce(plain, Action.ACCEPT, {"x": "y"}).model_dump_json()
    assert "seal_key" not in plain.model_dump_json()
