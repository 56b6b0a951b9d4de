"""JSON Schema, draft 2020-12 and bounded: no remote references, no regular expression that runs away."""

from functools import lru_cache
from typing import Any, Never

import jsonschema_rs
import orjson

from placet.domain.digest import digest_of
from placet.errors import FieldError, Invalid

HIDDEN = "(hidden)"
"""What stands for a value that no error may repeat."""
_LINEAR = "look-around, references back and very large repetitions are not taken"


def field_errors(schema: dict[str, Any], value: Any, *, hide: bool = False) -> list[FieldError]:
    """Every way in which `value` breaks `schema`, as JSON pointers and sentences; [] if it fits.

    With `hide` no sentence repeats a value. `value` is plain JSON that `check_storable` lets through.
    """
    errors = _validator(_key(schema), hide).iter_errors(value)
    return [FieldError(pointer(*error.instance_path), error.message[:500]) for error in errors]


def check_schema(schema: dict[str, Any]) -> None:
    """Refuse a schema that can't be used. Raises Invalid, naming the reason."""
    foreign = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
    if foreign is not None:
        raise Invalid(
            f"the schema refers to {foreign!r}; only references that start with # are read"
        )
    _validator(_key(schema), hide=False)


def schema_digest(schema: dict[str, Any]) -> str:
    """The digest that consent binds a tool's schema by."""
    return digest_of(schema)


def pointer(*path: Any) -> str:
    """The JSON pointer (RFC 6901) of these keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _key(schema: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise Invalid(f"the schema is no JSON: {error}") from error


@lru_cache(maxsize=512)
def _validator(schema: bytes, hide: bool) -> Any:
    try:
        return jsonschema_rs.Draft202012Validator(
            orjson.loads(schema),
            validate_formats=True,
            pattern_options=jsonschema_rs.RegexOptions(),
            retriever=_refuse,
            mask=HIDDEN if hide else None,
        )
    except (ValueError, TypeError, jsonschema_rs.ValidationError) as error:
        said = getattr(error, "message", None) or str(error)
        if said.endswith('is not a "regex"'):
            said += f", or is one that could run away: {_LINEAR}"
        where = pointer(*getattr(error, "instance_path", ()))
        at = f"{where}: " if where else ""
        raise Invalid(
            f"the schema can't be used: {at}{said}", [FieldError(where, said[:500])]
        ) from error


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
