"""The chain of what happened to an interaction: each entry holds the hash of the one before."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import orjson

Entry = dict[str, str | None]


def entry(
    prev: str, what: str, at: datetime, *, by: str | None = None, **facts: str | None
) -> Entry:
    """The next entry of a chain whose last hash is `prev` ("" for the first).

    `facts` are short strings, digests rather than content.
    """
    body: Entry = {"what": what, "at": at.isoformat(), "by": by, **facts, "prev": prev}
    return {**body, "hash": _hash(body)}


def flaws(history: Sequence[Entry]) -> list[str]:
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


def _hash(body: Entry) -> str:
    # Strings and nulls only: sorted keys make it canonical.
    text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return "sha256:" + hashlib.sha256(text).hexdigest()
