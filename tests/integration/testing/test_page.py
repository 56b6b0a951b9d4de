"""The page on testing one's own agents: its code runs."""

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[3] / "docs" / "testing-your-agents.md"


async def test_the_tests_of_the_page_pass() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    scope: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, str(PAGE), "exec"), scope)  # noqa: S102 - our own page
    tests = [value for name, value in scope.items() if name.startswith("test_")]
    assert len(tests) == 2
    for each in tests:
        await each()
