"""Flat forms: what is refused when one is made, what fits, what is filled in."""

from datetime import UTC, datetime
from typing import Any

import pytest

from placet.domain.answer import Action, reduce
from placet.domain.form import choices, sealed_names
from placet.domain.interaction import FormRequest
from placet.errors import Invalid
from placet.sealing import new_key, public

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 2, tzinfo=UTC)
KEY = public(new_key())
TITLED = {"oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]}


def form(fields: dict[str, Any], **around: Any) -> FormRequest:
    schema = {"type": "object", "properties": fields, **around}
    return FormRequest(form=schema, seal_key=KEY, requested_at=AT)


def refusals(fields: dict[str, Any], **around: Any) -> dict[str, str]:
    """Why a form is refused, by where."""
    with pytest.raises(Invalid) as refused:
        form(fields, **around)
    return {error.pointer: error.detail for error in refused.value.errors}


def unfit(request: FormRequest, content: Any) -> dict[str, str]:
    with pytest.raises(Invalid) as refused:
        reduce(request, Action.ACCEPT, content)
    return {error.pointer: error.detail for error in refused.value.errors}


def fits(request: FormRequest, content: Any) -> Any:
    return reduce(request, Action.ACCEPT, content).content


def test_a_form_is_refused_with_the_reason_for_each_place() -> None:
    told = refusals(
        {
            "a/b": {"type": "object"},
            "c": {"$ref": "#/$defs/x"},
            "d": {"anyOf": [{"type": "string"}, {"properties": {"x": {}}}]},
            "e": "string",
            "f": {"type": "array", "items": {"type": "string"}},
        },
        allOf=[{}],
        required=["nowhere"],
    )
    assert set(told) == {
        "/allOf",
        "/required",
        "/properties/a~1b/type",
        "/properties/c/$ref",
        "/properties/d/anyOf/1/properties",
        "/properties/e",
        "/properties/f/items",
    }
    assert "'nowhere' is required and there is no such field" in told["/required"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": []},
        {"type": "array", "properties": {"x": {}}},
        {"properties": {"x": {}}},
        {"type": "object", "properties": {"x": {}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"x": {}}, "$schema": "http://json-schema.org/draft-07/"},
        {"type": "object", "properties": {"x": {}}, "required": "x"},
        {"type": "object", "properties": {"x": {"maximum": 2**80}}},
    ],
)
def test_what_is_no_form_at_all_is_refused(schema: Any) -> None:
    with pytest.raises(Invalid):
        FormRequest(form=schema, requested_at=AT)


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "minLength": -1},
        {"type": "string", "minLength": "3"},
        {"type": "number", "multipleOf": 0},
        {"type": "string", "pattern": 3},
        {"type": "strnig"},
        {"type": "string", "enum": "a"},
        {"type": "string", "format": "ipv4"},
        {"type": "string", "format": "emial"},
        {"anyOf": [{"format": "uuid"}]},
        {"anyOf": []},
    ],
)
def test_a_malformed_keyword_or_an_unknown_format_is_refused_when_the_form_is_made(
    field: Any,
) -> None:
    assert any(where.startswith("/properties/x") for where in refusals({"x": field}))


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(?<!x)y", "(", "a{1000}{1000}"], ids=repr)
def test_a_pattern_that_could_run_away_is_refused_with_the_reason(pattern: str) -> None:
    told = refusals({"x": {"type": "string", "pattern": pattern}})
    assert "could run away" in told["/properties/x/pattern"]


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (TITLED, ["r", "g"], ["Red", "b", 0, True]),
        ({"type": "string", **TITLED}, ["r"], ["Red"]),
        ({"type": "array", "items": TITLED, "maxItems": 1}, [["r"], []], [["r", "g"], "r", [1]]),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, [[1.0]], [[1, 1]]),
        ({"type": "integer"}, [1, 1.0, -0.0], [1.5, True, "1", None]),
        ({"type": "number"}, [1, 1.5], [True, "1", float("nan"), float("inf")]),
        ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
        ({"type": "string"}, ["", "x"], [1, "\ud800", "a\0b", None, ["x"]]),
        ({}, ["x", 1, 1.5, True, ["x", 2]], [None, {}, [[]], [None], [{"a": 1}], 2**70]),
        ({"not": {"const": "no"}}, ["yes", 1], ["no"]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, ["ab", 1], ["a"]),
        ({"type": "string", "format": "email"}, ["a@b.test"], ["a@", "a", "@b.test"]),
        ({"type": "string", "format": "date"}, ["2024-02-29"], ["2023-02-29", "1-1-2024"]),
    ],
)
def test_a_field_takes_what_fits_it_and_nothing_else(
    field: Any, good: list[Any], bad: list[Any]
) -> None:
    request = form({"x": field})
    for value in good:
        assert fits(request, {"x": value}) == {"x": value}
    for value in bad:
        assert set(unfit(request, {"x": value})) <= {"/x", "/x/0", "/x/1"}, value


def test_what_does_not_fit_is_told_field_by_field_with_json_pointers() -> None:
    request = form(
        {"a/b": {"type": "integer"}, "t~": {"type": "string", "minLength": 2}}, required=["t~"]
    )
    assert set(unfit(request, {"a/b": "1", "t~": "x"})) == {"/a~1b", "/t~0"}
    assert set(unfit(request, {"t~": "xy", "n/o": 1})) == {"/n~1o"}
    assert set(unfit(request, {})) == {""}
    assert set(unfit(request, [])) == {""}


def test_a_default_is_filled_in_where_the_content_leaves_the_field_out() -> None:
    days = {"type": "array", "items": {"enum": ["mon", "tue"]}, "default": ["mon"]}
    request = form(
        {"n": {"type": "integer", "default": 3}, "days": days, "t": {"type": "string"}},
        required=["n"],
    )
    assert fits(request, {}) == {"n": 3, "days": ["mon"]}
    assert fits(request, {"n": 4, "days": []}) == {"n": 4, "days": []}
    fits(request, {})["days"].append("tue")
    assert fits(request, {}) == {"n": 3, "days": ["mon"]}, "a default is nobody's to change"


@pytest.mark.parametrize(
    "field",
    [
        {"type": "integer", "default": "3"},
        {"type": "string", "maxLength": 1, "default": "ab"},
        {"type": "string", "default": None},
        {"enum": ["a"], "default": "b"},
        {"default": {}},
    ],
)
def test_a_default_that_does_not_fit_its_own_field_is_refused_when_the_form_is_made(
    field: Any,
) -> None:
    assert list(refusals({"x": field})) == ["/properties/x/default"]


def test_the_same_answer_is_the_same_whether_a_default_was_typed_or_filled_in() -> None:
    request = form({"n": {"type": "integer", "default": 3}})
    one = reduce(request, Action.ACCEPT, {})
    assert one.same_as(reduce(request, Action.ACCEPT, {"n": 3}))
    assert not one.same_as(reduce(request, Action.ACCEPT, {"n": 4}))


@pytest.mark.parametrize(
    "field",
    [
        {"type": "integer", "sealed": True},
        {"sealed": True},
        {"type": ["string", "integer"], "sealed": True},
        {"type": "string", "sealed": "yes"},
        {"type": "string", "sealed": 1},
        {"type": "string", "sealed": True, "default": "x"},
        {"type": "string", "sealed": True, "enum": ["x"]},
        {"type": "string", "sealed": True, "examples": ["x"]},
    ],
)
def test_a_seal_stands_on_a_string_whose_value_the_form_does_not_tell(field: Any) -> None:
    assert list(refusals({"x": field})) == ["/properties/x/sealed"]


def test_a_form_with_a_sealed_field_has_a_key_to_seal_with() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "sealed": True}}}
    assert sealed_names(schema) == ("x",)
    for key in (None, "", "nonsense", KEY[:-4]):
        with pytest.raises(Invalid, match="seal_key"):
            FormRequest(form=schema, seal_key=key, requested_at=AT)


def test_the_choices_of_a_field_are_its_values_with_their_titles() -> None:
    assert choices(TITLED) == [("r", "Red"), ("g", "Green")]
    assert choices({"enum": [1, True]}) == [(1, "1"), (True, "True")]
    assert choices({"anyOf": [{"enum": ["a"]}, {"const": "b"}]}) == [("a", "a"), ("b", "b")]
    assert choices({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}) is None
    assert choices({"type": "string"}) is None


def test_branches_do_not_stand_in_one_another_without_end() -> None:
    field: dict[str, Any] = {"type": "string"}
    for _ in range(20):
        field = {"anyOf": [field]}
    assert any("deeper than" in reason for reason in refusals({"x": field}).values())


def test_nothing_in_a_form_is_nested_so_deeply_that_nobody_could_read_it() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    with pytest.raises(Invalid, match="deeper than"):
        form({"x": {"type": "string", "examples": deep}})


@pytest.mark.parametrize(
    ("field", "at"),
    [
        ({"anyOf": [{"type": "string", "sealed": True}]}, "/properties/pin/anyOf/0/sealed"),
        ({"type": "string", "if": {}, "then": {"sealed": True}}, "/properties/pin/then/sealed"),
        (
            {"type": "array", "items": {"enum": ["a"], "sealed": True}},
            "/properties/pin/items/sealed",
        ),
    ],
)
def test_sealed_is_refused_where_it_would_seal_nothing(field: dict[str, Any], at: str) -> None:
    assert set(refusals({"pin": field})) == {at}
    assert set(refusals({"pin": {"type": "string"}}, sealed=True)) == {"/sealed"}
