"""Digests of what is consented to: SHA-256 over RFC 8785 canonical JSON."""

import hashlib
import json
from typing import Any

import rfc8785

from placet.errors import Invalid


def canonical(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value.

    Raises:
        Invalid: NaN, infinities, integers beyond 2^53, or something that is no JSON.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, TypeError, RecursionError) as error:
        raise Invalid(f"not canonical JSON: {error}") from error


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
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not readable as JSON: {error}") from error


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        msg = f"the key {twice!r} appears twice"
        raise ValueError(msg)
    return result


def _no_constant(word: str) -> Any:
    msg = f"{word} is no JSON number"
    raise ValueError(msg)
