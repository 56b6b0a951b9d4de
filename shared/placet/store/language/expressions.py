"""The value of an aggregation expression: what `$expr` and pipelines are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from placet.store.language.operators import EAGER, IN_TURN, array_or_null, truth
from placet.store.language.values import MISSING
from placet.store.port import BadStatement


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression can see: the document, the time, and variables such as `$$this`."""

    document: Mapping[str, Any]
    now: datetime
    variables: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def having(self, **variables: Any) -> Scope:
        """Return this scope with more variables."""
        return Scope(self.document, self.now, {**self.variables, **variables})


def evaluate(expression: Any, scope: Scope) -> Any:
    """Return the value of `expression`, or `MISSING`; raises `BadStatement` for what is unknown."""
    kind = type(expression)
    if kind is str:
        return _path(expression, scope) if expression[:1] == "$" else expression
    if kind is dict:
        return _document(expression, scope)
    if kind is list or kind is tuple:
        return [_or_null(evaluate(each, scope)) for each in expression]
    return _document(dict(expression), scope) if isinstance(expression, Mapping) else expression


def _document(expression: Mapping[str, Any], scope: Scope) -> Any:
    if len(expression) == 1:
        ((name, argument),) = expression.items()
        if name[:1] == "$":
            return _operation(name, argument, scope)
    names = list(expression)
    if names and names[0].startswith("$"):
        if len(names) > 1:
            raise BadStatement(f"an expression has one operator, not {names}")
        return _operation(names[0], expression[names[0]], scope)
    made = {name: evaluate(each, scope) for name, each in expression.items()}
    for name in names:
        if name.startswith("$") or "." in name:
            raise BadStatement(f"{name!r} is no name for a field in an expression")
    return {name: value for name, value in made.items() if value is not MISSING}


def _or_null(value: Any) -> Any:
    return None if value is MISSING else value


def _path(expression: str, scope: Scope) -> Any:
    variable, path = _parsed(expression)
    return _walk(_variable(variable, scope) if variable else scope.document, path)


@lru_cache(maxsize=1024)
def _parsed(expression: str) -> tuple[str, tuple[str, ...]]:
    """A path's variable ("" for the document itself) and its fields."""
    if not expression.startswith("$$"):
        return "", tuple(expression[1:].split("."))
    name, *rest = expression[2:].split(".")
    return name, tuple(rest)


def _variable(name: str, scope: Scope) -> Any:
    match name:
        case "NOW":
            return scope.now
        case "ROOT":
            return scope.document
        case "REMOVE":
            return MISSING
        case _ if name in scope.variables:
            return scope.variables[name]
        case _:
            raise BadStatement(f"the variable $${name} is not known here")


def _walk(value: Any, path: Sequence[str]) -> Any:
    if not path:
        return value
    if type(value) is dict or isinstance(value, Mapping):
        return _walk(value.get(path[0], MISSING), path[1:])
    if isinstance(value, list):
        found = (_walk(each, path) for each in value if isinstance(each, Mapping))
        return [each for each in found if each is not MISSING]
    return MISSING


def _operation(name: str, argument: Any, scope: Scope) -> Any:
    if name == "$literal":
        return argument
    lazy = _LAZY.get(name)
    if lazy is not None:
        return lazy(argument, scope)
    given = list(argument) if isinstance(argument, list | tuple) else [argument]
    values = (evaluate(each, scope) for each in given)
    if name in IN_TURN:
        in_turn, least = IN_TURN[name]
        _count(name, given, least, len(given))
        return in_turn(values)
    if name not in EAGER:
        raise BadStatement(f"the expression {name} is not in the subset")
    function, least, most = EAGER[name]
    _count(name, given, least, most)
    return function(list(values))


def _count(name: str, given: Sequence[Any], least: int, most: int) -> None:
    if not least <= len(given) <= most:
        raise BadStatement(f"{name} does not take {len(given)} operands")


def _all(argument: Any, scope: Scope) -> bool:
    given = argument if isinstance(argument, list | tuple) else [argument]
    return all(truth(evaluate(each, scope)) for each in given)


def _any(argument: Any, scope: Scope) -> bool:
    given = argument if isinstance(argument, list | tuple) else [argument]
    return any(truth(evaluate(each, scope)) for each in given)


def _cond(argument: Any, scope: Scope) -> Any:
    if isinstance(argument, Mapping):
        argument = list(_named("$cond", argument, "if", "then", "else"))
    if not isinstance(argument, list | tuple) or len(argument) != 3:
        raise BadStatement("$cond takes a condition and two values")
    return evaluate(argument[1 if truth(evaluate(argument[0], scope)) else 2], scope)


def _named(operator: str, argument: Any, *names: str, optional: str = "") -> Sequence[Any]:
    if not isinstance(argument, Mapping) or set(argument) - {optional} != set(names):
        raise BadStatement(f"{operator} takes {', '.join(names)}")
    return [argument[name] for name in names]


def _filter(argument: Any, scope: Scope) -> Any:
    source, cond = _named("$filter", argument, "input", "cond", optional="as")
    array = array_or_null("$filter", evaluate(source, scope))
    name = argument.get("as", "this")
    if array is None:
        return None
    return [each for each in array if truth(evaluate(cond, scope.having(**{name: each})))]


def _map(argument: Any, scope: Scope) -> Any:
    source, inside = _named("$map", argument, "input", "in", optional="as")
    array = array_or_null("$map", evaluate(source, scope))
    name = argument.get("as", "this")
    if array is None:
        return None
    return [_or_null(evaluate(inside, scope.having(**{name: each}))) for each in array]


def _reduce(argument: Any, scope: Scope) -> Any:
    source, first, inside = _named("$reduce", argument, "input", "initialValue", "in")
    array = array_or_null("$reduce", evaluate(source, scope))
    if array is None:
        return None
    value = evaluate(first, scope)
    for each in array:
        value = evaluate(inside, scope.having(this=each, value=value))
    return value


_LAZY: Mapping[str, Callable[[Any, Scope], Any]] = {
    "$and": _all,
    "$or": _any,
    "$cond": _cond,
    "$filter": _filter,
    "$map": _map,
    "$reduce": _reduce,
}


OPERATORS = frozenset({"$literal", *_LAZY, *IN_TURN, *EAGER})
"""Every expression that `evaluate` knows."""
