"""Delegation in one process: the same rules, people asked in place, one child after another."""

from typing import Any

import pytest

from placet import Agent, ScriptedModel
from placet.agents.delegating import MOST_TASKS
from placet.agents.scripted import calls, says, steps
from placet.domain.interaction import ApprovalRequest
from placet.errors import DefinitionError
from placet.kernel.journal import ToolFinished
from tests.support.asked import SEND, WIPE, Desk, tools

pytestmark = pytest.mark.unit


class Person:
    """Answers each approval alike, and keeps what was asked."""

    def __init__(self, said: bool) -> None:
        self.said = said
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> bool:
        self.asked.append(request)
        return self.said


def clerk(desk: Desk, **parts: Any) -> Agent:
    model = ScriptedModel(steps(calls(SEND), says("sent it")))
    return Agent("clerk", model=model, tools=tools(desk), **parts)


def boss(*below: Agent, tasks: int = 1, **parts: Any) -> Agent:
    given = [{"agent": each.name, "message": "do it"} for each in below] * tasks
    model = ScriptedModel(steps(calls(("delegate", {"tasks": given})), says("done")))
    return Agent("boss", model=model, delegates=below, **parts)


async def told(agent: Agent, **options: Any) -> list[Any]:
    result = await agent.run("go", user="alice", **options)
    assert result.status == "completed", result.error
    return [entry.result for entry in result.journal if isinstance(entry, ToolFinished)]


async def test_a_child_asks_in_place_with_its_path_for_the_one_who_started_the_root() -> None:
    desk, person = Desk(), Person(True)
    strict = clerk(desk, tool_permissions={"send": "ask"})
    [result] = await told(boss(strict), approval_handler=person)
    assert result.content == [{"agent": "clerk", "status": "completed", "text": "sent it"}]
    [asked] = person.asked
    assert asked.path == ("boss", "clerk")
    assert asked.audience.initiator == "alice"
    assert desk.ran == [SEND]


async def test_a_deny_and_an_unattended_root_hold_below_in_one_process_too() -> None:
    desk, person = Desk(), Person(True)
    strict = clerk(desk, tool_permissions={"send": "ask"})
    await told(boss(strict, tool_permissions={"send": "deny"}), approval_handler=person)
    await told(boss(strict), approval_handler=person, unattended="deny")
    assert (person.asked, desk.ran) == ([], [])


async def test_a_child_that_fails_is_an_error_that_names_it() -> None:
    failing = clerk(Desk(), max_steps=1)
    [result] = await told(boss(failing))
    assert result.outcome == "error"
    assert (result.content[0]["agent"], result.content[0]["status"]) == ("clerk", "failed")


async def test_more_tasks_than_one_call_may_have_are_refused() -> None:
    desk = Desk()
    [result] = await told(boss(clerk(desk), tasks=MOST_TASKS + 1))
    assert (result.outcome, desk.ran) == ("error", [])


async def test_a_delegate_that_is_only_named_can_not_be_run_in_process() -> None:
    model = ScriptedModel(
        steps(calls(("delegate", {"tasks": [{"agent": "x", "message": "m"}]})), says("done"))
    )
    with pytest.raises(DefinitionError, match="give the agent itself"):
        await Agent("boss", model=model, delegates=["x"]).run("go")


async def test_what_a_person_refused_above_is_not_asked_below() -> None:
    desk, person = Desk(), Person(False)
    worker = Agent(
        "clerk",
        model=ScriptedModel(steps(calls(WIPE), says("no"))),
        tools=tools(desk),
        tool_permissions={"wipe": "ask"},
    )
    task = {"tasks": [{"agent": "clerk", "message": "wipe"}]}
    top = Agent(
        "boss",
        model=ScriptedModel(steps(calls(WIPE), calls(("delegate", task)), says("done"))),
        tools=tools(desk),
        tool_permissions={"wipe": "ask"},
        delegates=[worker],
    )
    await told(top, approval_handler=person)
    assert (len(person.asked), desk.ran) == (1, [])
