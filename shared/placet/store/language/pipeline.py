"""Update pipelines: `$set` and `$unset` stages, each working on what the last one left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from placet.store.language.expressions import Scope, evaluate
from placet.store.language.values import MISSING
from placet.store.port import BadStatement, Document


def run(document: Document, stages: Sequence[Mapping[str, Any]], now: datetime) -> Document:
    """Return the document after all stages; nothing of `document` is changed."""
    for stage in stages:
        if len(stage) != 1:
            raise BadStatement(f"a stage has one operator, not {sorted(stage)}")
        ((name, spec),) = stage.items()
        match name:
            case "$set" | "$addFields":
                document = _set(document, _tree(spec), Scope(document, now))
            case "$unset":
                document = _unset(document, [spec] if isinstance(spec, str) else spec)
            case _:
                raise BadStatement(f"the stage {name} is not in the subset")
    return document


class _Node(dict[str, Any]):
    """Fields to set inside a document, as against an expression for its value."""


def _tree(spec: Mapping[str, Any]) -> _Node:
    root = _Node()
    for path, expression in spec.items():
        _place(root, path.split("."), expression)
    return root


def _place(node: _Node, path: Sequence[str], expression: Any) -> None:
    for name in path[:-1]:
        node = node.setdefault(name, _Node())
        if not isinstance(node, _Node):
            raise BadStatement(f"{'.'.join(path)} is set twice")
    name = path[-1]
    if not _is_fields(expression):
        if name in node:
            raise BadStatement(f"{'.'.join(path)} is set twice")
        node[name] = expression
        return
    # MongoDB merges {"a": {"b": 1}} into what `a` holds, the same as "a.b".
    for inner, each in expression.items():
        _place(node, [name, *inner.split(".")], each)


def _is_fields(expression: Any) -> bool:
    if not isinstance(expression, Mapping) or not expression:
        return False
    return not next(iter(expression)).startswith("$")


def _set(value: Any, node: _Node, scope: Scope) -> Any:
    if isinstance(value, list):
        return [_set(each, node, scope) for each in value]
    after = dict(value) if isinstance(value, Mapping) else {}
    for name, each in node.items():
        if isinstance(each, _Node):
            new = _set(after.get(name, MISSING), each, scope)
        else:
            new = evaluate(each, scope)
        if new is MISSING:
            after.pop(name, None)
        else:
            after[name] = new
    return after


def _unset(document: Document, paths: Sequence[str]) -> Document:
    for path in paths:
        document = _without(document, path.split("."))
    return document


def _without(value: Any, path: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_without(each, path) for each in value]
    if not isinstance(value, Mapping) or path[0] not in value:
        return value
    after = dict(value)
    if len(path) == 1:
        del after[path[0]]
    else:
        after[path[0]] = _without(after[path[0]], path[1:])
    return after
