"""The chain of what happened to an interaction: each entry holds the hash of the one before."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from placet.domain.digest import canonical


def entry(
    prev: str, what: str, at: datetime, *, by: str | None = None, **facts: Any
) -> dict[str, Any]:
    """The next entry of a chain whose last hash is `prev` ("" for the first).

    `facts` are short strings, digests rather than content.
    """
    body = {"what": what, "at": at.isoformat(), "by": by, **facts, "prev": prev}
    return {**body, "hash": _hash(body)}


def flaws(history: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong with a chain, in sentences; [] if every entry follows from the one before."""
    found = []
    prev = ""
    for number, item in enumerate(history):
        body = {name: value for name, value in item.items() if name != "hash"}
        if item.get("prev") != prev:
            found.append(f"entry {number} does not follow entry {number - 1}")
        if item.get("hash") != _hash(body):
            found.append(f"entry {number} was changed after it was written")
        prev = str(item.get("hash"))
    return found


def _hash(body: dict[str, Any]) -> str:
    return "sha256:" + hashlib.sha256(canonical(body)).hexdigest()
