"""Child runs of a run in one process: who bounds them, and what is refused before anything runs."""

import pytest

from placet import Agent, ApprovalRequest, ScriptedModel, tool
from placet.agents.operator import Operator, Tables
from placet.agents.scripted import calls, says, steps
from placet.errors import DefinitionError

pytestmark = pytest.mark.unit
DELEGATE = calls(("delegate", {"tasks": [{"agent": "child", "message": "go"}]}))


async def test_the_operator_of_the_parent_bounds_what_it_delegates_to() -> None:
    ran: list[str] = []
    asked: list[ApprovalRequest] = []

    @tool
    def sweep() -> None:
        """Sweep."""
        ran.append("sweep")

    def no(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    child = Agent(
        "child", model=ScriptedModel(steps(calls(("sweep", {})), says("done"))), tools=[sweep]
    )
    parent = Agent(
        "parent",
        model=ScriptedModel(steps(DELEGATE, says("done"))),
        delegates=[child],
        operator=Operator(Tables(tool_permissions={"sweep": "ask"})),
    )
    assert (await parent.run("go", approval_handler=no)).status == "completed"
    assert ([each.path for each in asked], ran) == ([("parent", "child")], [])


async def test_a_definition_of_which_only_the_name_is_known_is_refused_before_anything_runs() -> (
    None
):
    ran: list[str] = []

    @tool
    def sweep() -> None:
        """Sweep."""
        ran.append("sweep")

    model = ScriptedModel(steps(calls(("sweep", {})), DELEGATE, says("done")))
    parent = Agent("parent", model=model, tools=[sweep], delegates=["child"])
    with pytest.raises(DefinitionError, match="give the agent itself"):
        await parent.run("go")
    assert ran == []
