"""The document after an update."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from placet.store.language.filters import field_matches, is_operators, matches
from placet.store.language.pipeline import run
from placet.store.language.values import MISSING, order, same
from placet.store.port import BadStatement, Document, Update

Path = tuple[str, ...]


def updated(document: Document, change: Update, now: datetime) -> Document:
    """Return `document` after `change`, a new one; raises `BadStatement` and changes nothing.

    Values of `change` may be part of the result: store it, or copy it, before anybody writes to it.
    """
    if isinstance(change, Mapping):
        return _same_id(document, _operators(document, change, now))
    return _same_id(document, run(document, change, now))


def _same_id(document: Document, after: Document) -> Document:
    if after.get("_id") != document.get("_id"):
        raise BadStatement("an update cannot change _id")
    return after


def _operators(document: Document, change: Mapping[str, Any], now: datetime) -> Document:
    after = document
    steps = sorted(_steps(change), key=lambda step: step[0])
    _refuse_conflicts([path for path, _, _ in steps])
    for path, operator, argument in steps:
        apply = _unset if operator == "$unset" else _applying(_APPLY[operator], argument, now)
        after = _changed(after, path, apply)
    return after


def _applying(
    apply: Callable[[Any, Any, datetime], Any], argument: Any, now: datetime
) -> Callable[[Any], Any]:
    return lambda old: apply(old, argument, now)


def _steps(change: Mapping[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    if not change:
        raise BadStatement("an update needs an operator")
    for operator, fields in change.items():
        if operator not in _APPLY and operator != "$setOnInsert":
            raise BadStatement(f"the update operator {operator} is not in the subset")
        for field, argument in fields.items():
            path = tuple(field.split("."))
            if any(name.startswith("$") or name.isdigit() or not name for name in path):
                raise BadStatement(f"{field!r}: positions in arrays are not in the subset")
            if operator != "$setOnInsert":
                yield path, operator, argument


def _refuse_conflicts(paths: Sequence[Path]) -> None:
    for first, second in pairwise(paths):
        if second[: len(first)] == first:
            raise BadStatement(f"two operators change {'.'.join(first)}")


def _changed(parent: Mapping[str, Any], path: Path, apply: Callable[[Any], Any]) -> Document:
    """Return `parent` with `apply(old value)` at `path`; only what lies on the path is copied."""
    name, rest = path[0], path[1:]
    old = parent.get(name, MISSING)
    if not rest:
        new = apply(old)
    elif isinstance(old, Mapping):
        new = _changed(old, rest, apply)
    else:
        new = _nested(apply(MISSING), rest)
        if old is not MISSING and apply is _unset:
            # There is nothing to take away below a value that is no document.
            return dict(parent)
        if old is not MISSING:
            raise BadStatement(f"{name} is not a document, it has no {'.'.join(rest)}")
    return _with(parent, name, new)


def _with(parent: Mapping[str, Any], name: str, new: Any) -> Document:
    after = dict(parent)
    if new is MISSING:
        after.pop(name, None)
    else:
        after[name] = new
    return after


def _nested(value: Any, path: Path) -> Any:
    if value is not MISSING:
        for name in reversed(path):
            value = {name: value}
    return value


def _unset(_: Any) -> Any:
    return MISSING


def _inc(old: Any, by: Any, _: datetime) -> Any:
    for value in (by, 0 if old is MISSING else old):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadStatement("$inc needs numbers")
    return by if old is MISSING else old + by


def _list(operator: str, old: Any) -> list[Any]:
    if old is MISSING:
        return []
    if not isinstance(old, list):
        raise BadStatement(f"{operator} needs an array")
    return old


def _push(old: Any, argument: Any, _: datetime) -> Any:
    array = list(_list("$push", old))
    if not (isinstance(argument, Mapping) and any(str(name).startswith("$") for name in argument)):
        return [*array, argument]
    if "$each" not in argument or set(argument) - {"$each", "$slice"}:
        raise BadStatement(f"$push takes $each and $slice, not {sorted(argument)}")
    array += argument["$each"]
    keep = argument.get("$slice")
    if keep is None:
        return array
    return array[:keep] if keep >= 0 else array[keep:]


def _pull(old: Any, condition: Any, now: datetime) -> Any:
    if old is MISSING:
        return MISSING
    return [each for each in _list("$pull", old) if not _pulled(each, condition, now)]


def _pulled(element: Any, condition: Any, now: datetime) -> bool:
    if is_operators(condition):
        return field_matches(element, (), condition, now)
    if isinstance(condition, Mapping):
        return isinstance(element, Mapping) and matches(element, condition, now)
    return same(element, condition)


def _add_to_set(old: Any, argument: Any, _: datetime) -> Any:
    array = list(_list("$addToSet", old))
    several = isinstance(argument, Mapping) and "$each" in argument
    if several and len(argument) > 1:
        raise BadStatement("$addToSet takes $each alone")
    for each in argument["$each"] if several else [argument]:
        if not any(same(each, there) for there in array):
            array.append(each)
    return array


def _extreme(sign: int) -> Callable[[Any, Any, datetime], Any]:
    def apply(old: Any, value: Any, _: datetime) -> Any:
        if old is MISSING:
            return value
        better = order(value) > order(old) if sign > 0 else order(value) < order(old)
        return value if better else old

    return apply


_APPLY: Mapping[str, Callable[[Any, Any, datetime], Any]] = {
    "$set": lambda old, value, now: value,
    "$unset": lambda old, value, now: _unset(old),
    "$inc": _inc,
    "$push": _push,
    "$pull": _pull,
    "$addToSet": _add_to_set,
    "$max": _extreme(1),
    "$min": _extreme(-1),
}
