"""Digests of what is consented to: SHA-256 over RFC 8785 canonical JSON."""

import hashlib
import json
import math
from typing import Any

import rfc8785

from placet.errors import FieldError, Invalid

DEEPEST = 60


def canonical(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value.

    Raises:
        Invalid: NaN, infinities, integers beyond 2^53, or something that is no JSON.
    """
    check_storable(value)
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, TypeError, RecursionError) as error:
        raise Invalid(f"not canonical JSON: {error}") from error


def check_storable(value: Any, depth: int = 0) -> None:
    """Refuse JSON that a store can't keep as it is.

    Raises:
        Invalid: nested deeper than 60, a key with a null character, half a character, or an integer
            beyond 64 bits.
    """
    if depth > DEEPEST:
        raise Invalid(f"it is nested deeper than {DEEPEST}")
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        raise Invalid("an integer is beyond 64 bits")
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str) or "\x00" in key:
                raise Invalid("a key is no text, or has a null character in it")
            _check_text(key)
            check_storable(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            check_storable(inner, depth + 1)


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Invalid("a text holds half a character (a lone surrogate)") from None


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: `true` is no `1`, which Python takes it for; `1.0` is one."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def digest_of(value: Any) -> str:
    """`sha256:` + 64 hex digits of the canonical form. Raises Invalid as `canonical` does."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def call_digest(tool: str, schema_digest: str, args: Any) -> str:
    """What an approval binds: the tool, its schema and exactly these arguments."""
    return digest_of({"tool": tool, "schema_digest": schema_digest, "args": args})


def strict_json(text: str | bytes) -> Any:
    """Parse JSON that came from a model or a message: duplicate keys and non-finite numbers are refused.

    Raises:
        Invalid: the text is no JSON, repeats a key, or holds NaN or an infinity.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        detail = f"not readable as JSON: {error}"
        raise Invalid(detail, [FieldError("", detail)]) from error


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        msg = f"the key {twice!r} appears twice"
        raise ValueError(msg)
    return result


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = f"the number {text[:40]} is too large"
        raise ValueError(msg)
    return number


def _no_constant(word: str) -> Any:
    msg = f"{word} is no JSON number"
    raise ValueError(msg)
