"""What of a tool changed between the deploy that a call was wanted under and this one."""

import difflib
import json
from typing import Any

from placet.agents.tool import Tool

Document = dict[str, Any]
MOST = 20_000


def described(tool: Tool) -> Document:
    """A tool as the model saw it, under the digest that its calls carry."""
    return {
        "_id": tool.facts.schema_digest,
        "tool": tool.name,
        "description": tool.description,
        "schema": json.dumps(tool.schema, indent=2, sort_keys=True, ensure_ascii=False),
    }


def difference(was: Document | None, tool: Tool) -> str:
    """A unified diff of description and schema; what was not kept is said to be unknown."""
    if was is None:
        return f"How {tool.name} was described before is not known any more."
    lines = difflib.unified_diff(
        _lines(was), _lines(described(tool)), "as it was", "as it is now", lineterm=""
    )
    return "\n".join(lines)[:MOST]


def _lines(document: Document) -> list[str]:
    return [*document["description"].splitlines(), *document["schema"].splitlines()]
