"""Flat forms: what a field may say, what its values may be, and what is filled in."""

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from placet.domain.digest import check_storable
from placet.domain.schema import check_schema, field_errors, pointer
from placet.errors import FieldError, Invalid

Schema = Mapping[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMATS = ("email", "uri", "date", "date-time")
TYPES = ("string", "number", "integer", "boolean", "array")
DEEPEST = 8
"""How far branches of `anyOf` and its like may stand in one another."""

_BRANCHES = ("allOf", "anyOf", "oneOf")
_BRANCH = ("not", "if", "then", "else")
_OF_A_FORM = {"$schema", "type", "properties", "additionalProperties"}
_NESTING = {
    "$ref", "$dynamicRef", "$defs", "definitions", "$id", "$schema", "$dynamicAnchor", "$vocabulary",
    "properties", "patternProperties", "additionalProperties", "propertyNames", "dependentSchemas",
    "dependencies", "prefixItems", "contains", "contentSchema", "unevaluatedItems",
    "unevaluatedProperties",
}  # fmt: skip
_ASSERTIONS = {
    "type", "enum", "const", "format", "pattern", "items", "minLength", "maxLength", "minimum",
    "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems",
    "uniqueItems", *_BRANCHES, *_BRANCH,
}  # fmt: skip


def check_form(schema: Mapping[str, Any]) -> None:
    """Refuse a form that is not a flat object of simple fields.

    A field holds a string, a number, an integer, a boolean, or a list of enum values, and may say of
    it whatever draft 2020-12 can say without nesting; `anyOf`, `oneOf`, `allOf`, `not` and `if` may
    stand in it, where each of their branches is such a constraint in turn.

    A field without a `type` takes any of these values: a string, a number, a boolean, or a list of
    them, as far as its other keywords let it. That is safe, since `form_errors` lets nothing nested
    through whatever a schema says, and it is what JSON Schema means by such a field.

    Raises:
        Invalid: with the reason for each place, as JSON pointers into the schema.
    """
    check_storable(dict(schema))
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, dict) or not properties:
        raise Invalid("a form's schema is an object with at least one property")
    errors = [*_around(schema, properties)]
    for name, field in properties.items():
        errors += _field_problems(field, pointer("properties", name))
    if errors:
        raise Invalid(f"the form is not flat: {_first(errors)}", errors)
    check_schema(dict(schema))
    errors = [*_unusable_defaults(properties), *_misplaced_seals(properties)]
    if errors:
        raise Invalid(f"the form can't be filled in: {_first(errors)}", errors)


def form_errors(schema: Schema, content: Mapping[str, Any]) -> list[FieldError]:
    """Every field that does not fit, and every one that the form does not have; [] if it fits."""
    errors = [
        FieldError(pointer(name), "no such field")
        for name in sorted(set(content) - set(schema["properties"]), key=str)
    ]
    for name, value in content.items():
        if reason := _unholdable(value):
            errors.append(FieldError(pointer(name), reason))
    return errors or field_errors(dict(schema), content, hide=bool(sealed_names(schema)))


def with_defaults(schema: Schema, content: Mapping[str, Any]) -> dict[str, Any]:
    """The content, and the `default` of each field that it leaves out."""
    filled = {
        name: deepcopy(field["default"])
        for name, field in schema["properties"].items()
        if name not in content and "default" in field
    }
    return {**content, **filled}


def sealed_names(schema: Schema) -> tuple[str, ...]:
    """The fields whose answers reach the tool alone."""
    fields = schema.get("properties")
    if not isinstance(fields, Mapping):
        return ()
    return tuple(n for n, f in fields.items() if isinstance(f, Mapping) and f.get("sealed") is True)


def choices(field: Schema) -> list[tuple[Any, str]] | None:
    """What a field, or an item of a list, chooses among: each value with its title. None: it is open."""
    if "const" in field:
        return [(field["const"], str(field.get("title", field["const"])))]
    if isinstance(field.get("enum"), list):
        return [(value, str(value)) for value in field["enum"]]
    for word in ("oneOf", "anyOf"):
        branches = _listed(field.get(word))
        found = [choices(branch) if isinstance(branch, dict) else None for branch in branches]
        if found and all(each is not None for each in found):
            return [pair for each in found if each is not None for pair in each]
    return None


def _around(schema: Schema, properties: Schema) -> Iterator[FieldError]:
    """What is wrong with the object that holds the fields."""
    for word in sorted(set(schema) & (_NESTING | _ASSERTIONS) - _OF_A_FORM):
        yield FieldError(pointer(word), f"{word} is not allowed in a form")
    if "sealed" in schema:
        yield FieldError("/sealed", "sealed is said of a field; here it would seal nothing")
    if not isinstance(schema.get("additionalProperties", False), bool):
        yield FieldError("/additionalProperties", "a form has no fields but its own")
    if schema.get("$schema", DIALECT) not in (DIALECT, DIALECT + "#"):
        yield FieldError("/$schema", f"a form is written in {DIALECT}; leave $schema out")
    required = schema.get("required", [])
    for name in required if isinstance(required, list) else ():
        if not isinstance(name, str) or name not in properties:
            yield FieldError("/required", f"{name!r} is required and there is no such field")


def _field_problems(field: Any, at: str, depth: int = 0) -> list[FieldError]:
    """Why this schema is no constraint on a simple value; of each place in it."""
    if isinstance(field, bool) and depth:
        return []
    if not isinstance(field, dict):
        return [FieldError(at, "a field is described by an object")]
    if depth > DEEPEST:
        return [FieldError(at, f"branches stand in one another deeper than {DEEPEST}")]
    nested = sorted(set(field) & _NESTING)
    if depth and "sealed" in field:
        why = "sealed is said of a whole field; here it would seal nothing"
        return [FieldError(f"{at}/sealed", why)]
    errors = [FieldError(f"{at}{pointer(k)}", f"{k} is not allowed in a field") for k in nested]
    errors += _type_problems(field, at)
    errors += _value_problems(field, at)
    if "format" in field and field["format"] not in FORMATS:
        why = f"format {field['format']!r} is none of {', '.join(FORMATS)}"
        errors.append(FieldError(f"{at}/format", why))
    for word in _BRANCHES:
        for number, branch in enumerate(_listed(field.get(word))):
            errors += _field_problems(branch, f"{at}/{word}/{number}", depth + 1)
    for word in _BRANCH:
        if word in field:
            errors += _field_problems(field[word], f"{at}/{word}", depth + 1)
    return errors


def _type_problems(field: Schema, at: str) -> Iterator[FieldError]:
    types = field.get("type", [])
    types = types if isinstance(types, list) else [types]
    for kind in types:
        if kind not in TYPES:
            why = f"type {kind!r} is none of {', '.join(TYPES[:-1])} or a list of enum values"
            yield FieldError(f"{at}/type", why)
    if "array" in types or "items" in field:
        items = field.get("items")
        enumerated = isinstance(items, dict) and choices(items) is not None
        if not isinstance(items, dict) or not enumerated:
            yield FieldError(f"{at}/items", "a list field takes enum values only")
        else:
            yield from _field_problems(items, f"{at}/items", 1)
            if any(isinstance(value, list) for value, _ in choices(items) or ()):
                yield FieldError(f"{at}/items", "a list field takes no lists")


def _value_problems(field: Schema, at: str) -> Iterator[FieldError]:
    """Values that the schema names and no field can hold."""
    for value in _listed(field.get("enum")):
        if reason := _unholdable(value):
            yield FieldError(f"{at}/enum", reason)
    for word in ("const", "default"):
        if word in field and (reason := _unholdable(field[word])):
            yield FieldError(f"{at}/{word}", reason)


def _unusable_defaults(properties: Schema) -> Iterator[FieldError]:
    for name, field in properties.items():
        for error in field_errors(field, field["default"]) if "default" in field else ():
            yield FieldError(pointer("properties", name, "default"), error.detail)


def _misplaced_seals(properties: Schema) -> Iterator[FieldError]:
    for name, field in properties.items():
        at = pointer("properties", name, "sealed")
        if field.get("sealed", False) is False:
            continue
        if field["sealed"] is not True or field.get("type") != "string":
            yield FieldError(at, "sealed is true, on a field of type string")
        shown = sorted({"default", "enum", "const", "examples"} & set(field))
        if shown:
            yield FieldError(
                at, f"a sealed field has no {shown[0]}: everybody who may look reads it"
            )


def _unholdable(value: Any) -> str | None:
    """Why no field can hold this value; None if one can."""
    if isinstance(value, list):
        inner = (_unholdable(item) if not isinstance(item, list) else _NO_VALUE for item in value)
        return next((reason for reason in inner if reason), None)
    if isinstance(value, float) and not math.isfinite(value):
        return "a number is finite"
    if not isinstance(value, str | int | float):
        return _NO_VALUE
    try:
        check_storable(value)
    except Invalid as error:
        return str(error)
    return "a text has no null characters" if isinstance(value, str) and "\x00" in value else None


_NO_VALUE = "a field holds a string, a number, true or false, or a list of them"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _first(errors: list[FieldError]) -> str:
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{errors[0].pointer}: {errors[0].detail}{more}"
