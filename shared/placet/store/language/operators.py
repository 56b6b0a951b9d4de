"""The operators of expressions that work on values, whatever the document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from placet.store.language.values import MISSING, milliseconds, order, same
from placet.store.port import BadStatement


def truth(value: Any) -> bool:
    """Say whether a value counts as true: all but false, null, missing and zero."""
    return not (value is None or value is MISSING or value is False or same(value, 0))


def array_or_null(operator: str, value: Any) -> list[Any] | None:
    """Return an array, or None for null and missing; raises `BadStatement` for the rest."""
    if value is None or value is MISSING:
        return None
    if not isinstance(value, list):
        raise BadStatement(f"{operator} needs an array, not {type(value).__name__}")
    return value


def _number(operator: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadStatement(f"{operator} needs numbers or dates, not {type(value).__name__}")
    return value


def _later(moment: datetime, span: int | float) -> datetime:
    aware = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds(moment))
    return aware + timedelta(milliseconds=round(span))


def _nothing(value: Any) -> bool:
    return value is None or value is MISSING


def _add(values: Iterator[Any]) -> Any:
    total: int | float = 0
    date: datetime | None = None
    for value in values:
        if _nothing(value):
            return None
        if not isinstance(value, datetime):
            total += _number("$add", value)
        elif date is not None:
            raise BadStatement("$add takes one date at most")
        else:
            date = value
    return total if date is None else _later(date, total)


def _subtract(values: list[Any]) -> Any:
    left, right = values
    if left is None or left is MISSING or right is None or right is MISSING:
        return None
    if isinstance(left, datetime) and isinstance(right, datetime):
        return milliseconds(left) - milliseconds(right)
    if isinstance(left, datetime):
        return _later(left, -_number("$subtract", right))
    return _number("$subtract", left) - _number("$subtract", right)


def _member(values: list[Any]) -> bool:
    array = array_or_null("$in", values[1])
    if array is None:
        raise BadStatement("$in needs an array as its second operand")
    return any(same(values[0], each) for each in array)


def _if_null(values: Iterator[Any]) -> Any:
    value = MISSING
    for value in values:
        if not _nothing(value):
            break
    return value


def _size(values: list[Any]) -> int:
    array = array_or_null("$size", values[0])
    if array is None:
        raise BadStatement("$size needs an array")
    return len(array)


def _merge(values: Iterator[Any]) -> Any:
    merged: dict[str, Any] = {}
    for value in values:
        if _nothing(value):
            continue
        if not isinstance(value, Mapping):
            raise BadStatement("$mergeObjects needs documents")
        merged.update(value)
    return merged


def _concat(values: Iterator[Any]) -> Any:
    joined: list[Any] = []
    for value in values:
        array = array_or_null("$concatArrays", value)
        if array is None:
            return None
        joined += array
    return joined


def _whole(operator: str, value: Any) -> int:
    number = _number(operator, value)
    if number != int(number):
        raise BadStatement(f"{operator} needs whole numbers")
    return int(number)


def _slice(values: list[Any]) -> Any:
    if any(value is None or value is MISSING for value in values):
        return None
    array = array_or_null("$slice", values[0]) or []
    first = _whole("$slice", values[1])
    if len(values) == 2:
        return array[:first] if first >= 0 else array[first:]
    count = _whole("$slice", values[2])
    if count <= 0:
        raise BadStatement("$slice needs a positive count after a position")
    start = first if first >= 0 else max(0, len(array) + first)
    return array[start : start + count]


def _element(values: list[Any]) -> Any:
    if any(value is None or value is MISSING for value in values):
        return None
    array, at = array_or_null("$arrayElemAt", values[0]) or [], _whole("$arrayElemAt", values[1])
    return array[at] if -len(array) <= at < len(array) else MISSING


def _extreme(pick: Callable[..., Any], values: list[Any]) -> Any:
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    there = [value for value in values if value is not None and value is not MISSING]
    return pick(there, key=order) if there else None


_MANY = 1_000_000
EAGER: Mapping[str, tuple[Callable[[list[Any]], Any], int, int]] = {
    "$not": (lambda values: not truth(values[0]), 1, 1),
    "$eq": (lambda values: same(*values), 2, 2),
    "$ne": (lambda values: not same(*values), 2, 2),
    "$lt": (lambda values: order(values[0]) < order(values[1]), 2, 2),
    "$lte": (lambda values: order(values[0]) <= order(values[1]), 2, 2),
    "$gt": (lambda values: order(values[0]) > order(values[1]), 2, 2),
    "$gte": (lambda values: order(values[0]) >= order(values[1]), 2, 2),
    "$in": (_member, 2, 2),
    "$subtract": (_subtract, 2, 2),
    "$size": (_size, 1, 1),
    "$slice": (_slice, 2, 3),
    "$arrayElemAt": (_element, 2, 2),
    "$min": (partial(_extreme, min), 1, _MANY),
    "$max": (partial(_extreme, max), 1, _MANY),
}
"""Operators over all their operands, with the least and the greatest number of them."""

IN_TURN: Mapping[str, tuple[Callable[[Iterator[Any]], Any], int]] = {
    "$add": (_add, 0),
    "$ifNull": (_if_null, 2),
    "$mergeObjects": (_merge, 0),
    "$concatArrays": (_concat, 0),
}
"""Operators that may stop before their last operand is evaluated, and their least number."""
