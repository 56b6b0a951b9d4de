"""Ids: a type prefix and 32 hex digits, random or derived from what they name."""

import hashlib
import secrets


def new_id(prefix: str) -> str:
    """A fresh random id, `PREFIX_` + 32 hex digits."""
    return f"{prefix}_{secrets.token_hex(16)}"


def derived_id(prefix: str, *parts: str) -> str:
    """The same id for the same parts, so that asking again is the same question.

    Parts are length-prefixed: ("a", "bc") and ("ab", "c") differ.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return f"{prefix}_{digest.hexdigest()[:32]}"
