"""Definitions that come over the API are hostile: they get people and models, and nothing else."""

import subprocess
from typing import Any

import jsonschema_rs
import pytest

from placet.agents.operator import Limits, Operator, Tables
from placet.agents.sent import MOST_BYTES, body_schema, sent_definition
from placet.errors import DefinitionError, Invalid, TooLarge

pytestmark = pytest.mark.unit

GOOD: dict[str, Any] = {
    "model": "openai:gpt-5",
    "instructions": "Ask.",
    "builtins": ["ask_user_text", "ask_user_confirm"],
    "human_input": {"expires_in_seconds": 600, "approvers": ["bob"]},
    "tool_permissions": {"ask_user_text": "allow"},
    "stages": {
        "plan": {
            "mode": "interactive_points",
            "model": None,
            "interaction_points": [{"name": "ok", "prompt": "Good?"}],
        }
    },
    "delegates": ["ops"],
}


def test_a_definition_that_asks_and_delegates_is_taken() -> None:
    agent = sent_definition("helper", GOOD)
    assert sorted(agent.toolbox) == ["ask_user_confirm", "ask_user_text", "delegate"]
    assert agent.human_input.approvers == ("bob",)
    assert agent.stages[0].interaction_points[0].name == "ok"
    jsonschema_rs.validator_for(body_schema()).validate(GOOD)


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"tools": []}, "/tools"),
        ({"tools": ["os:system"]}, "/tools"),
        ({"folder": "."}, "/folder"),
        ({"folder": "/etc"}, "/folder"),
        ({"sources": {"x": "never"}}, "/sources"),
        ({"safe_commands": {"shell": ["rm"]}}, "/safe_commands"),
        ({"builtins": ["bash"]}, "/builtins/0"),
        ({"builtins": ["ask_user_text", "read_file"]}, "/builtins/1"),
        ({"builtins": ["write_file"]}, "/builtins/0"),
        ({"builtins": ["delegate"]}, "/builtins/0"),
        ({"builtins": "bash"}, "/builtins"),
        ({"max_steps": 0}, "/max_steps"),
        ({"max_steps": 100_000}, "/max_steps"),
        ({"max_steps": "5"}, "/max_steps"),
        ({"name": "other"}, "/name"),
        ({"model": ""}, "/model"),
        ({"model": "gpt-5"}, "/model"),
        ({"model": "openai:../../x"}, "/model"),
        ({"model": "http://169.254.169.254/x"}, "/model"),
        ({"model": "openai:x\n"}, "/model"),
        ({"model": 5}, "/model"),
        ({"stages": {"a": {"model": "file:///etc/passwd"}}}, "/stages/a/model"),
        ({"interventions": []}, "/interventions"),
        ({"operator": {}}, "/operator"),
        ({"workspace": {}}, "/workspace"),
    ],
)
def test_what_reaches_the_operator_s_machine_is_refused_with_its_place(
    given: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        sent_definition("helper", GOOD | given)
    assert refused.value.errors[0].pointer == pointer
    assert not jsonschema_rs.validator_for(body_schema()).is_valid(GOOD | given) or pointer in (
        "/name", "/model", "/stages/a/model",
    )  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"tool_permissions": {"bash": "allow"}},
        {"tool_permissions": {"ask_user_text": "sure"}},
        {"allowed_tools": ["nothing"]},
        {"approval_required_risk": "mild"},
        {"stages": {"a b": {}}},
        {"stages": {"a": {"name": "b"}}},
        {"stages": {"a": {"self": 1}}},
        {"stages": {"a": {"available_tools": ["bash"]}}},
        {"human_input": {"expires_in_seconds": 1}},
    ],
)
def test_what_describes_no_agent_that_works_is_refused_as_in_a_file(given: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        sent_definition("helper", GOOD | given)


@pytest.mark.parametrize("name", ["", "a b", "agt_1", "../x", "é", "x" * 101, "-a", "a\n"])
def test_a_name_is_ascii_and_no_path(name: str) -> None:
    with pytest.raises(Invalid, match="name"):
        sent_definition(name, GOOD)


def test_a_definition_is_bounded_in_size_and_depth() -> None:
    with pytest.raises(TooLarge):
        sent_definition("helper", GOOD | {"instructions": "x" * MOST_BYTES})
    deep: Any = {}
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(Invalid, match="deep"):
        sent_definition("helper", GOOD | {"stages": deep})


def test_nothing_is_imported_or_started_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("importlib.import_module", never)
    monkeypatch.setattr(subprocess, "Popen", never)
    assert sent_definition("helper", GOOD).name == "helper"


def test_the_operator_bounds_one_as_a_file_s() -> None:
    operator = Operator(Tables(limits=Limits(interaction_timeout_secs=60)))
    bounded = sent_definition("helper", {"model": "openai:gpt-5"}).under(operator)
    assert bounded.patience is not None
    assert bounded.patience.total_seconds() == 60
