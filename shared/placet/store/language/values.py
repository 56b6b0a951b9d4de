"""MongoDB's one order over values of every type, and its walk along dotted paths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from placet.store.port import BadStatement


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""What a path gives where there is no value; not the same as null inside expressions."""

Key = tuple[Any, ...]

NULL, NUMBER, STRING, OBJECT, ARRAY, BINARY, BOOLEAN, DATE = 1, 2, 3, 4, 5, 6, 8, 9


def milliseconds(value: datetime) -> int:
    """Return the milliseconds since 1970, as BSON keeps a date; a naive one counts as UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    seconds = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (seconds.days * 86_400 + seconds.seconds) * 1000 + seconds.microseconds // 1000


def order(value: Any) -> Key:
    """Return a key that sorts and compares as MongoDB does: (rank of the type, value)."""
    match value:
        case str():
            return (STRING, str(value))
        case bool():
            return (BOOLEAN, value)
        case int():
            return (NUMBER, int(value))
        case float():
            return (1.5, 0) if math.isnan(value) else (NUMBER, value)
        case None:
            return (NULL, 0)
        case Missing():
            return (0, 0)
        case datetime():
            return (DATE, milliseconds(value))
        case Mapping():
            return (OBJECT, tuple(_member(name, each) for name, each in value.items()))
        case list() | tuple():
            return (ARRAY, tuple(order(each) for each in value))
        case bytes():
            return (BINARY, (len(value), value))
        case _:
            raise BadStatement(f"a value of type {type(value).__name__} has no place in a document")


def _member(name: str, value: Any) -> Key:
    key = order(value)
    return (key[0], name, key)


def same(left: Any, right: Any) -> bool:
    """Say whether two values are equal; the order of fields counts, 1 and true differ."""
    if type(left) is type(right) is str:
        return bool(left == right)
    return order(left) == order(right)


def leaves(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield what a filter sees at `path`: one value, or one for each array element on the way.

    An element that is no document has nothing at a path; one that lacks the field is `MISSING`.
    """
    if not path:
        yield value
    elif isinstance(value, Mapping):
        yield from leaves(value.get(path[0], MISSING), path[1:])
    elif isinstance(value, list):
        yield from _elements(value, path)
    else:
        yield MISSING


def _elements(array: list[Any], path: Sequence[str]) -> Iterator[Any]:
    if path[0].isdigit():
        raise BadStatement(f"{'.'.join(path)}: a position inside an array is not in the subset")
    for each in array:
        if isinstance(each, Mapping):
            yield from leaves(each, path)


def candidates(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield every value that a comparison at `path` may match: arrays and their elements."""
    for leaf in leaves(value, path):
        yield leaf
        if isinstance(leaf, list):
            yield from leaf


def sort_key(document: Mapping[str, Any], field: str, direction: int) -> Key:
    """Return the key by which `document` sorts: of an array its least (or greatest) element."""
    found = [order(None if leaf is MISSING else leaf) for leaf in _sortable(document, field)]
    if not found:
        return (0.5, 0)
    return min(found) if direction > 0 else max(found)


def _sortable(document: Mapping[str, Any], field: str) -> Iterator[Any]:
    found = list(leaves(document, field.split(".")))
    for leaf in found or [MISSING]:
        if isinstance(leaf, list):
            yield from leaf
        else:
            yield leaf
