"""What a freeze covers."""

from datetime import UTC, datetime
from typing import Any

import pytest

from placet.domain.freeze import Freeze
from placet.gate.freezing import covers

AGENTS = ("agt_root", "root", "middle", "leaf", "agt_leaf")


def freeze(**fields: Any) -> Freeze:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return Freeze(id="frz_1", reason="an incident", by="root", at=at, **fields)


@pytest.mark.parametrize(
    ("fields", "tool", "covered"),
    [
        ({}, "drop", True),
        ({}, None, True),
        ({"tools": ("drop",)}, "drop", True),
        ({"tools": ("drop",)}, "look", False),
        ({"tools": ("drop",)}, "Drop", False),
        ({"tools": ("drop",)}, None, False),
        ({"tools": ("bash",)}, "shell", True),
        ({"tools": ("shell",)}, "bash", True),
        ({"tools": ("delegate",)}, "delegate", True),
        ({"agent": "leaf"}, "drop", True),
        ({"agent": "middle"}, "drop", True),
        ({"agent": "agt_root"}, "drop", True),
        ({"agent": "agt_leaf"}, None, True),
        ({"agent": "agt_other"}, "drop", False),
        ({"agent": ""}, "drop", False),
        ({"agent": "leaf", "tools": ("drop",)}, "look", False),
        ({"namespace": "elsewhere"}, "drop", False),
    ],
)
def test_a_freeze_covers_what_it_names_in_its_namespace(
    fields: dict[str, Any], tool: str | None, covered: bool
) -> None:
    assert covers(freeze(**fields), "default", AGENTS, tool) is covered
