"""JSON Schema, bounded: no remote references, no regular expression that runs away, flat forms."""

from functools import lru_cache
from typing import Any, Never

import jsonschema_rs
import orjson

from placet.domain.digest import digest_of
from placet.errors import FieldError, Invalid

_FORM_TYPES = ("string", "number", "integer", "boolean")
_FORM_FORMATS = ("email", "uri", "date", "date-time")
_NESTING = (
    "$ref", "$dynamicRef", "$defs", "definitions", "properties", "patternProperties",
    "additionalProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains",
    "prefixItems", "unevaluatedItems", "unevaluatedProperties", "dependentSchemas", "propertyNames",
)  # fmt: skip


def field_errors(schema: dict[str, Any], value: Any) -> list[FieldError]:
    """Every way in which `value` breaks `schema`, as JSON pointers and sentences; [] if it fits."""
    errors = _validator(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)).iter_errors(value)
    return [FieldError(_pointer(error.instance_path), error.message[:500]) for error in errors]


def check_schema(schema: dict[str, Any]) -> None:
    """Refuse a schema that can't be used. Raises Invalid, naming the reason."""
    foreign = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
    if foreign is not None:
        raise Invalid(
            f"the schema refers to {foreign!r}; only references that start with # are read"
        )
    _validator(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


def check_form(schema: dict[str, Any]) -> None:
    """Refuse a form that is not a flat object of simple fields. Raises Invalid with each field's reason."""
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, dict) or not properties:
        raise Invalid("a form's schema is an object with at least one property")
    outside = [
        key
        for key in _NESTING
        if key in schema and key not in ("properties", "additionalProperties")
    ]
    errors = [FieldError("", f"{key} is not allowed in a form") for key in outside]
    for name, field in properties.items():
        reason = _field_problem(field)
        if reason:
            errors.append(FieldError(f"/properties/{name}", reason))
    if errors:
        raise Invalid("the form is not flat", errors)
    check_schema(schema)


def schema_digest(schema: dict[str, Any]) -> str:
    """The digest that consent binds a tool's schema by."""
    return digest_of(schema)


def _field_problem(field: Any) -> str | None:
    if not isinstance(field, dict):
        return "a field is described by an object"
    nested = next((key for key in _NESTING if key in field), None)
    if nested:
        return f"{nested} is not allowed in a field"
    kind = field.get("type", "string" if "enum" in field else None)
    if kind == "array":
        items = field.get("items")
        values = items.get("enum") if isinstance(items, dict) else None
        simple = isinstance(values, list) and not any(isinstance(x, dict | list) for x in values)
        return None if simple else "a list field takes enum values only"
    if kind not in _FORM_TYPES:
        return f"type {kind!r} is none of {', '.join(_FORM_TYPES)} or a list of enum values"
    if "format" in field and field["format"] not in _FORM_FORMATS:
        return f"format {field['format']!r} is none of {', '.join(_FORM_FORMATS)}"
    return None


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Any:
    try:
        return jsonschema_rs.validator_for(
            orjson.loads(schema),
            validate_formats=True,
            pattern_options=jsonschema_rs.RegexOptions(),
            retriever=_refuse,
        )
    except (ValueError, TypeError, jsonschema_rs.ValidationError) as error:
        raise Invalid(f"the schema can't be used: {error}") from error


def _refuse(uri: str) -> Never:
    msg = f"references outside the schema are not read: {uri}"
    raise ValueError(msg)


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [v for k, v in node.items() if k in ("$ref", "$dynamicRef") and isinstance(v, str)]
        return own + [ref for value in node.values() for ref in _references(value)]
    if isinstance(node, list):
        return [ref for value in node for ref in _references(value)]
    return []


def _pointer(path: Any) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
