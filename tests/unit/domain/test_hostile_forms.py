"""Whatever a form or its answer is made of, it is taken or refused with reasons, and nothing breaks."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from placet.domain.answer import Action, reduce
from placet.domain.interaction import FormRequest
from placet.errors import Invalid
from placet.sealing import new_key, public

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 2, tzinfo=UTC)
KEY = public(new_key())
WORDS = (
    *("type", "enum", "const", "format", "pattern", "items", "minLength", "maxLength", "minimum"),
    *("multipleOf", "uniqueItems", "default", "anyOf", "oneOf", "allOf", "not", "if", "then"),
    *("required", "properties", "additionalProperties", "$ref", "$id", "$schema", "sealed"),
    *("examples", "dependentRequired", "title", "readOnly", "$anchor", "minProperties"),
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["string", "integer", "array", "object", "email", "^a+$", "(?=a)", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
fields = st.dictionaries(st.sampled_from(WORDS), values, max_size=4) | values
forms = st.builds(
    lambda properties, around: {**around, "type": "object", "properties": properties},
    st.dictionaries(st.sampled_from(["a", "b/c", ""]), fields, min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(WORDS), values, max_size=2),
)


def made(form: Any) -> FormRequest | None:
    try:
        return FormRequest(form=form, seal_key=KEY, requested_at=AT)
    except (Invalid, ValidationError):
        return None


@given(forms, values)
def test_a_form_is_made_or_refused_and_so_is_any_answer(form: Any, answer: Any) -> None:
    request = made(form)
    if request is None:
        return
    for content in (answer, {"a": answer}, {"b/c": answer, "": answer}):
        with suppress(Invalid):
            outcome = reduce(request, Action.ACCEPT, content)
            assert set(outcome.content) <= set(request.form["properties"])
            outcome.model_dump_json()


@pytest.mark.parametrize(
    "around",
    [{"required": [[]]}, {"required": [1]}, {"required": {}}, {"$schema": []}, {"title": 3}],
)
def test_what_stands_around_the_fields_may_be_anything_and_is_refused(around: Any) -> None:
    form = {"type": "object", "properties": {"a": {"type": "string"}}, **around}
    assert made(form) is None


@given(st.dictionaries(st.sampled_from(["a", "b"]), values, max_size=2))
def test_a_flat_form_lets_nothing_nested_through(content: Any) -> None:
    request = made({"type": "object", "properties": {"a": {}, "b": {"not": {"type": "null"}}}})
    assert request is None, "null is no type of a form's"
    request = made({"type": "object", "properties": {"a": {}, "b": {"not": {"const": 1}}}})
    assert request is not None
    try:
        taken = reduce(request, Action.ACCEPT, content).content
    except Invalid:
        return
    for value in taken.values():
        items = value if isinstance(value, list) else [value]
        assert all(isinstance(item, str | int | float) for item in items)
