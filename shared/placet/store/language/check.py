"""Refuse what the evaluator does not know, also where a document would not lead it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placet.store.language.expressions import OPERATORS
from placet.store.language.filters import TESTS, is_operators
from placet.store.port import BadStatement, Filter


def check_filter(where: Filter) -> None:
    """Raise `BadStatement` if any operator of the filter is outside the subset."""
    for name, condition in where.items():
        if name in {"$and", "$or"}:
            for each in condition:
                check_filter(each)
        elif name == "$expr":
            check_expression(condition)
        elif name.startswith("$"):
            raise BadStatement(f"the filter operator {name} is not in the subset")
        else:
            _check_condition(condition)


def _check_condition(condition: Any) -> None:
    if not is_operators(condition):
        return
    for operator, argument in condition.items():
        match operator:
            case "$not":
                _check_condition(argument)
            case "$elemMatch" if is_operators(argument) and not {"$and", "$or"} & set(argument):
                _check_condition(argument)
            case "$elemMatch":
                check_filter(argument)
            case _ if operator not in TESTS:
                raise BadStatement(f"the filter operator {operator} is not in the subset")
            case _:
                pass


def check_expression(expression: Any) -> None:
    """Raise `BadStatement` if any operator of the expression is outside the subset."""
    if isinstance(expression, list | tuple):
        for each in expression:
            check_expression(each)
    elif isinstance(expression, Mapping):
        for name, argument in expression.items():
            if name.startswith("$") and name not in OPERATORS:
                raise BadStatement(f"the expression {name} is not in the subset")
            if name != "$literal":
                check_expression(argument)
