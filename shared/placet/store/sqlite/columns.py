"""Indexed fields as SQLite columns whose order is MongoDB's order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from placet.store.language.values import (
    ARRAY,
    BINARY,
    BOOLEAN,
    DATE,
    MISSING,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    candidates,
    leaves,
    order,
)
from placet.store.port import Filter

Column = str | int | float | bytes | None
SQL = tuple[str, list[Column]]

_SHIFT: Final = 2**63
_COMPARISONS: Final = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}


class ManyValues(Exception):
    """A path that leads to an array: no column can hold it."""


def quoted(name: str) -> str:
    """Return `name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def column(document: Mapping[str, Any], field: str) -> Column:
    """Return what the column of `field` holds; raises `ManyValues` if an array is on the path."""
    found = list(leaves(document, field.split(".")))
    if len(found) != 1 or isinstance(found[0], list):
        raise ManyValues(field)
    return stored(None if found[0] is MISSING else found[0])


def elements(document: Mapping[str, Any], field: str) -> set[Column]:
    """Return what a comparison at `field` may match there, as columns hold it; without nulls."""
    found = candidates(document, field.split("."))
    return {stored(each) for each in found if each is not MISSING} - {None}


def stored(value: Any) -> Column:
    """Return a value that SQLite orders as MongoDB does: null, numbers, texts, then blobs.

    Everything but numbers and texts is a blob that begins with the rank of its type.
    """
    rank, inner = order(value)
    match rank:
        case _ if rank in {NULL, 0}:
            return None
        case _ if rank in {NUMBER, STRING}:
            return cast("str | int | float", inner)
        case _ if rank == BOOLEAN:
            return bytes([BOOLEAN, inner])
        case _ if rank == DATE:
            return bytes([DATE]) + int(inner + _SHIFT).to_bytes(8, "big")
        case _ if rank == BINARY:
            return bytes([BINARY]) + int(inner[0]).to_bytes(4, "big") + bytes(inner[1])
        case _:
            # Documents, arrays and NaN are not told apart: the full filter does that.
            return bytes([OBJECT if rank == OBJECT else ARRAY])


def narrowed(
    where: Filter,
    columns: frozenset[str],
    many: Mapping[str, str] = MappingProxyType({}),
    finding: frozenset[str] | None = None,
) -> list[SQL]:
    """Return SQL conditions that every match of `where` meets; others may meet them too.

    `many` names the table of elements of each field that may hold an array. `finding` are the
    columns, all if not given, whose conditions may find rows by an index; others only pass them.
    """
    found: list[SQL] = []
    for field, condition in where.items():
        if field == "$and":
            for each in condition:
                found += narrowed(each, columns, many, finding)
        elif field in columns:
            # To SQLite `+x` is an expression, and no index holds it.
            finds = finding is None or field in finding
            found += _field(quoted(field) if finds else f"+{quoted(field)}", condition)
        elif field in many:
            # Each condition may be met by another element; a null by an array that has none.
            found += [
                (f"_id IN (SELECT id FROM {quoted(many[field])} WHERE {text})", values)  # noqa: S608
                for text, values in _field("value", condition)
                if "NULL" not in text
            ]
    return found


def _field(name: str, condition: Any) -> Iterator[SQL]:
    if not (isinstance(condition, Mapping) and any(key.startswith("$") for key in condition)):
        condition = {"$eq": condition}
    for operator, argument in condition.items():
        if operator in {"$eq", "$in"}:
            values = argument if operator == "$in" else [argument]
            if not any(isinstance(each, list | tuple) for each in values):
                yield _one_of(name, [stored(each) for each in values])
        elif operator in _COMPARISONS and isinstance(order(argument)[0], int):
            yield f"{name} {_COMPARISONS[operator]} ?", [stored(argument)]
        elif operator == "$ne" and argument is None:
            yield f"{name} IS NOT NULL", []


def _one_of(name: str, values: list[Column]) -> SQL:
    there: list[Column] = [value for value in values if value is not None]
    if len(there) == len(values) == 1:
        return f"{name} = ?", [*there]
    listed = f"{name} IN ({', '.join('?' * len(there))})"
    if len(there) < len(values):
        return f"({name} IS NULL OR {listed})" if there else f"{name} IS NULL", there
    return listed, there
