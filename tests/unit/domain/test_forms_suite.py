"""Forms and the official JSON Schema Test Suite: what a flat field can hold means what the suite says."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import ValidationError

from placet.domain.answer import Action, reduce
from placet.domain.interaction import FormRequest
from placet.errors import Invalid

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 2, tzinfo=UTC)
SUITE: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "suite" / "draft2020-12.json").read_bytes()
)


class Counts(NamedTuple):
    """What became of one group of the suite."""

    held: int
    """Schemas that a field can hold."""
    refused: int
    """Schemas that nest, or name values that no field can hold: refused when the form is made."""
    agreed: int
    """Values of a form that were taken or refused exactly as the suite says."""
    beyond: int
    """Values that no form can hold (objects, null, lists of such): refused, whatever the suite says."""


EXPECTED = {
    "type": Counts(6, 5, 36, 10),
    "properties": Counts(0, 6, 0, 0),
    "required": Counts(2, 3, 2, 7),
    "enum": Counts(10, 4, 29, 0),
    "const": Counts(9, 6, 32, 1),
    "minLength": Counts(2, 0, 7, 0),
    "maxLength": Counts(2, 0, 7, 0),
    "pattern": Counts(2, 0, 7, 2),
    "minimum": Counts(2, 0, 11, 0),
    "maximum": Counts(2, 0, 8, 0),
    "exclusiveMinimum": Counts(1, 0, 4, 0),
    "exclusiveMaximum": Counts(1, 0, 4, 0),
    "multipleOf": Counts(5, 0, 10, 0),
    "additionalProperties": Counts(0, 9, 0, 0),
    "items": Counts(0, 10, 0, 0),
    "minItems": Counts(2, 0, 6, 0),
    "maxItems": Counts(2, 0, 6, 0),
    "uniqueItems": Counts(2, 4, 17, 26),
    "anyOf": Counts(6, 2, 12, 0),
    "oneOf": Counts(7, 4, 13, 0),
    "allOf": Counts(9, 3, 19, 0),
    "not": Counts(6, 3, 24, 9),
    "format/email": Counts(1, 0, 20, 2),
    "format/date": Counts(1, 0, 45, 2),
    "format/date-time": Counts(1, 0, 23, 2),
    "format/uri": Counts(1, 0, 24, 2),
}
NESTS = (
    "is not allowed in a field",
    "is none of string, number, integer, boolean or a list of enum values",
    "a list field takes enum values only",
    "a field holds a string, a number, true or false, or a list of them",
)
NO_TEXT = "a text has no null characters"


def field(schema: Any) -> FormRequest:
    """The form whose one field this schema is; it must be there."""
    form = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return FormRequest(form=form, requested_at=AT)


def problems(schema: Any) -> list[str]:
    """Why it is no field; [] if it is one."""
    try:
        field(schema)
    except Invalid as error:
        return [each.detail for each in error.errors]
    return []


def taken(request: FormRequest, value: Any) -> bool:
    try:
        return bool(reduce(request, Action.ACCEPT, {"x": value}).content == {"x": value})
    except Invalid:
        return False


def simple(value: Any) -> bool:
    """Whether a form can hold the value."""
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | int | float) for item in items)


@pytest.mark.parametrize("group", list(SUITE))
def test_a_field_takes_and_refuses_exactly_what_the_official_suite_says(group: str) -> None:
    held = refused = agreed = beyond = 0
    for case in SUITE[group]:
        if problems(case["schema"]):
            refused += 1
            continue
        held += 1
        request = field(case["schema"])
        for test in case["tests"]:
            told = f"{group}: {case['description']}: {test['description']}"
            wanted = test["valid"] and simple(test["data"])
            assert taken(request, test["data"]) is wanted, told
            agreed += simple(test["data"])
            beyond += not simple(test["data"])
    assert Counts(held, refused, agreed, beyond) == EXPECTED[group]


def test_every_schema_that_is_refused_nests_or_names_what_no_field_can_hold() -> None:
    reasons = {word: 0 for word in (*NESTS, NO_TEXT)}
    for cases in SUITE.values():
        for case in cases:
            for detail in problems(case["schema"]):
                (known,) = [word for word in reasons if detail.endswith(word)]
                reasons[known] += 1
    assert sum(1 for cs in SUITE.values() for c in cs if problems(c["schema"]) == [NO_TEXT]) == 2
    assert list(reasons.values()) == [54, 11, 15, 7, 2]


def test_the_whole_of_each_group_was_looked_at() -> None:
    assert set(SUITE) == set(EXPECTED)
    assert sum(map(len, SUITE.values())) == 141
    assert sum(e.held + e.refused for e in EXPECTED.values()) == 141
    assert sum(e.held for e in EXPECTED.values()) == 82
    cases = [test for group in SUITE.values() for case in group for test in case["tests"]]
    assert len(cases) == 645


# Objects are forms of their own in the suite: these groups say what a form's object means.
FORMS = {"properties": (2, 5, 3), "required": (3, 4, 3), "additionalProperties": (1, 0, 1)}


@pytest.mark.parametrize("group", list(FORMS))
def test_what_the_suite_says_of_objects_holds_for_a_whole_form(group: str) -> None:
    """Where the schema is a form and the object has the form's fields alone: others are refused always."""
    made = agreed = beyond = 0
    for case in SUITE[group]:
        try:
            request = FormRequest(form={"type": "object", **case["schema"]}, requested_at=AT)
        except (Invalid, ValidationError):
            continue
        made += 1
        for test in case["tests"]:
            own = isinstance(test["data"], dict) and set(test["data"]) <= set(
                request.form["properties"]
            )
            try:
                reduce(request, Action.ACCEPT, test["data"])
                fits = True
            except Invalid:
                fits = False
            assert fits is (test["valid"] and own), test["description"]
            agreed, beyond = agreed + own, beyond + (not own)
    assert (made, agreed, beyond) == FORMS[group]
