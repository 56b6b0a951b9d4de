"""Keep only some fields of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from placet.store.port import Document


def project(document: Document, fields: Sequence[str]) -> Document:
    """Return `_id` and the dotted `fields` that exist, in the order of the document."""
    tree: dict[str, Any] = {"_id": {}}
    for field in fields:
        node = tree
        for name in field.split("."):
            node = node.setdefault(name, {})
    return _kept(document, tree)


def _kept(document: Mapping[str, Any], tree: Mapping[str, Any]) -> Document:
    kept: Document = {}
    for name, value in document.items():
        if name not in tree:
            continue
        if not tree[name]:
            kept[name] = value
        elif isinstance(value, Mapping):
            kept[name] = _kept(value, tree[name])
        elif isinstance(value, list):
            kept[name] = [_kept(each, tree[name]) for each in value if isinstance(each, Mapping)]
    return kept
