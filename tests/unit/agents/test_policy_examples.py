"""The page on policies and its examples: each loads and asks what it says; the operator's file is one."""

import re
from pathlib import Path

import pytest

from placet import ApprovalRequest
from placet.agents.loading import load_agents
from placet.agents.operator import Operator, read_operator
from placet.gate import Decision, SourcePolicy

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "choosing-a-policy.md").read_text(encoding="utf-8")

ASKED = {
    "risk_tiers": ["refund"],
    "tool_permissions": ["send_mail"],
    "allowed_tools": ["delete_page"],
    "source_policies": ["github__create_issue", "github__delete_repo"],
    "human_in_the_loop": ["send_mail", "send_mail"],
    "risk_classifier": ["transfer"],
}


@pytest.mark.parametrize("name", ASKED)
async def test_an_example_asks_about_what_it_says_and_runs_the_rest(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load_agents([str(ROOT / "examples" / f"{name}.py")])
    assert loaded.problems == []
    [agent] = loaded.agents.values()
    asked: list[str] = []

    def no(request: ApprovalRequest) -> bool:
        asked.append(request.call.tool)
        return False

    run = await agent.run("go", approval_handler=no)
    assert (run.status, run.text) == ("completed", "That is all.")
    assert asked == ASKED[name]
    refused = capsys.readouterr().out
    yes = await agent.run("go", approval_handler=lambda request: True)
    assert yes.status == "completed"
    assert len(capsys.readouterr().out) > len(refused), "with a yes more runs"


def test_the_page_names_each_example() -> None:
    assert set(re.findall(r"\(\.\./examples/(\w+)\.py\)", PAGE)) == set(ASKED)


def worked(folder: Path) -> Operator:
    [text] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = folder / "placet.toml"
    path.write_text(text, encoding="utf-8")
    return read_operator(path)


def test_the_operator_s_file_on_the_page_is_read_as_it_says(tmp_path: Path) -> None:
    operator = worked(tmp_path)
    assert operator.layer.tools == {"drop_database": Decision.ASK, "send_mail": Decision.DENY}
    assert operator.layer.always_ask == {"wire_money", "bash"}
    assert operator.bounding({})["github"].about("delete_repo") is SourcePolicy.ALWAYS
    assert operator.allows_blueprint("coder")
    assert not operator.allows_blueprint("ops")


def test_the_operator_s_file_on_the_page_has_every_table_and_key(tmp_path: Path) -> None:
    tables = worked(tmp_path).tables
    assert tables.model_fields_set == set(type(tables).model_fields)
    nested = [tables.limits, tables.sources["github"], tables.safe_commands, tables.shell]
    for table in nested:
        assert table.model_fields_set == set(type(table).model_fields)


def test_an_operator_s_deny_stops_the_mail_of_the_example(tmp_path: Path) -> None:
    files = [str(ROOT / "examples" / "tool_permissions.py")]
    loaded = load_agents(files, worked(tmp_path))
    [agent] = loaded.agents.values()
    assert agent.policy.denied_by("send_mail") == "operator"
