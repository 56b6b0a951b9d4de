"""Does a document match a filter?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from placet.store.language.expressions import Scope, evaluate
from placet.store.language.operators import truth
from placet.store.language.values import MISSING, candidates, leaves, order, same
from placet.store.port import BadStatement, Filter


def matches(document: Mapping[str, Any], where: Filter, now: datetime) -> bool:
    """Say whether `document` matches `where`; `now` is what `$$NOW` gives."""
    return all(_clause(document, name, condition, now) for name, condition in where.items())


def _clause(document: Mapping[str, Any], name: str, condition: Any, now: datetime) -> bool:
    if not name.startswith("$"):
        return field_matches(document, name.split("."), condition, now)
    match name:
        case "$and":
            return all(matches(document, each, now) for each in _branches(name, condition))
        case "$or":
            return any(matches(document, each, now) for each in _branches(name, condition))
        case "$expr":
            return truth(evaluate(condition, Scope(document, now)))
        case _:
            raise BadStatement(f"the filter operator {name} is not in the subset")


def _branches(name: str, condition: Any) -> Sequence[Filter]:
    if not isinstance(condition, list) or not condition:
        raise BadStatement(f"{name} needs a list of filters that is not empty")
    return condition


def is_operators(condition: Any) -> bool:
    """Say whether a condition is `{"$op": ...}` rather than a value to equal."""
    if not isinstance(condition, Mapping) or not condition:
        return False
    dollars = [str(name).startswith("$") for name in condition]
    if any(dollars) and not all(dollars):
        raise BadStatement(f"operators and fields are mixed: {sorted(condition)}")
    return all(dollars)


def field_matches(value: Any, path: Sequence[str], condition: Any, now: datetime) -> bool:
    """Say whether what is at `path` in `value` meets `condition`, a value or operators."""
    if not is_operators(condition):
        return _equal(value, path, condition)
    for operator, argument in condition.items():
        if operator == "$elemMatch":
            met = any(_element(leaf, argument, now) for leaf in leaves(value, path))
        elif operator == "$not":
            met = not field_matches(value, path, _operators(argument), now)
        elif operator in TESTS:
            met = TESTS[operator](value, path, argument)
        else:
            raise BadStatement(f"the filter operator {operator} is not in the subset")
        if not met:
            return False
    return True


def _operators(condition: Any) -> Mapping[str, Any]:
    if not is_operators(condition):
        raise BadStatement("$not needs operators")
    return condition  # type: ignore[no-any-return]


def _element(leaf: Any, arg: Any, now: datetime) -> bool:
    if not isinstance(arg, Mapping):
        raise BadStatement("$elemMatch needs a filter")
    if not isinstance(leaf, list):
        return False
    if is_operators(arg) and not {"$and", "$or"} & set(arg):
        return any(_value_meets(each, arg, now) for each in leaf)
    documents = [_as_document(each) for each in leaf if isinstance(each, Mapping | list)]
    return any(matches(each, arg, now) for each in documents)


def _as_document(element: Any) -> Mapping[str, Any]:
    """An array inside an array counts as a document whose fields are its positions."""
    if isinstance(element, list):
        return {str(at): each for at, each in enumerate(element)}
    return element  # type: ignore[no-any-return]


def _value_meets(element: Any, condition: Any, now: datetime) -> bool:
    # An array that is an element itself is compared whole or not at all, never by its own elements.
    return field_matches([element] if isinstance(element, list) else element, (), condition, now)


def _equal(value: Any, path: Sequence[str], wanted: Any) -> bool:
    found = candidates(value, path)
    return any(same(None if each is MISSING else each, wanted) for each in found)


def _in(value: Any, path: Sequence[str], wanted: Any) -> bool:
    if not isinstance(wanted, list | tuple):
        raise BadStatement("$in and $nin need a list")
    keys = [order(each) for each in wanted]
    return any(order(None if c is MISSING else c) in keys for c in candidates(value, path))


def _exists(value: Any, path: Sequence[str], wanted: Any) -> bool:
    return bool(wanted) == any(leaf is not MISSING for leaf in leaves(value, path))


def _size(value: Any, path: Sequence[str], wanted: Any) -> bool:
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        raise BadStatement("$size needs a whole number")
    return any(isinstance(leaf, list) and len(leaf) == wanted for leaf in leaves(value, path))


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Sequence[str], Any], bool]:
    def test(value: Any, path: Sequence[str], bound: Any) -> bool:
        if bound is None or isinstance(bound, Mapping | list | tuple):
            raise BadStatement("comparison with null, a document or an array is not in the subset")
        key = order(bound)
        found = (order(each) for each in candidates(value, path))
        return any(each[0] == key[0] and compare(each[1], key[1]) for each in found)

    return test


TESTS: Mapping[str, Callable[[Any, Sequence[str], Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda value, path, arg: not _equal(value, path, arg),
    "$in": _in,
    "$nin": lambda value, path, arg: not _in(value, path, arg),
    "$exists": _exists,
    "$size": _size,
    "$lt": _comparing(lambda left, right: left < right),
    "$lte": _comparing(lambda left, right: left <= right),
    "$gt": _comparing(lambda left, right: left > right),
    "$gte": _comparing(lambda left, right: left >= right),
}
