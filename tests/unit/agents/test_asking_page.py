"""The page on asking people and its examples: they load, ask what they say, and nothing is left out."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from placet.agents import asking
from placet.agents.loading import load_agents
from placet.domain.form import check_form
from placet.domain.interaction import Kind
from tests.support.desk import Desk, told

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "asking-people.md").read_text(encoding="utf-8")
EXAMPLES: dict[str, tuple[list[Any], list[str], str]] = {
    "ask_in_tool": (
        [True, "production", {"ticket": "OPS-7"}],
        ["confirm", "multiple_choice", "form"],
        "1.4 is on production for OPS-7",
    ),
    "order_form": (
        [{"size": "small", "voucher": "SWEET-1"}],
        ["form"],
        "a small cake with 0 candles, paid with a voucher",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_example_of_asking_runs_to_its_end(name: str) -> None:
    answers, kinds, result = EXAMPLES[name]
    loaded = load_agents([str(ROOT / "examples" / f"{name}.py")])
    assert loaded.problems == []
    [agent] = loaded.agents.values()
    desk = Desk(*answers)
    run = await agent.run("go", interaction_handler=desk)
    assert [request.kind for request in desk.asked] == kinds
    ((outcome, content),) = told(run)
    assert (outcome, run.status) == ("ok", "completed")
    assert content.startswith(result)
    assert "SWEET-1" not in repr(run.journal)


def test_the_page_names_each_example_each_builtin_and_each_kind() -> None:
    assert set(re.findall(r"\(\.\./examples/(\w+)\.py\)", PAGE)) == set(EXAMPLES)
    builtins = PAGE.split("## From the model")[1].split("## Forms")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", builtins, re.MULTILINE)) == set(asking.TOOLS)
    assert all(f"`{kind}`" in PAGE for kind in Kind)


def test_the_form_that_the_page_shows_can_be_asked() -> None:
    shown = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    [code] = [each for each in shown if '"properties"' in each]
    [value] = [
        node.value
        for node in ast.parse(code).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    ]
    check_form(ast.literal_eval(value))
