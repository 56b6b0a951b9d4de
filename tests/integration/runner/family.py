"""Agents that delegate to one another; what each does is written in the message that it gets."""

import json
from collections.abc import Sequence
from typing import Any

from placet import Agent, ScriptedModel
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says
from placet.client import Input, Run
from placet.ids import derived_id
from placet.kernel.turns import ModelReply
from placet_runner.ports import Image
from tests.integration.runner.agents import Ledger, tools
from tests.support.eventually import eventually
from tests.support.system import System

Wanted = tuple[str, dict[str, Any]]
DROP: Wanted = ("drop", {"name": "staging"})
LOOK: Wanted = ("look", {"at": "here"})
NAMES = ("root", "middle", "lower", "leaf")


def plan(*turns: str | Sequence[Wanted]) -> str:
    """A message: the calls of each model turn, or what it says."""
    return json.dumps(turns)


def to(*tasks: tuple[str, str]) -> Wanted:
    """A call that delegates these, each an agent's name and its message."""
    return "delegate", {"tasks": [{"agent": name, "message": text} for name, text in tasks]}


def deep(*names: str, then: str) -> str:
    """Each delegates to the next, and the last one does `then`."""
    first, *rest = names
    return plan([to((first, deep(*rest, then=then) if rest else then))], f"{first} is done")


def follow(conversation: Conversation) -> ModelReply:
    """Do what the last message says; one that is no plan is only heard."""
    turns = conversation.turns
    plans = [n for n, turn in enumerate(turns) if turn.role == "user" and turn.text[:1] == "["]
    heard = [n for n, turn in enumerate(turns) if turn.role == "user" and turn.text[:1] != "["]
    if not plans or (heard and heard[-1] > plans[-1]):
        last = turns[heard[-1]]
        assert last.role == "user"
        return says(f"heard {last.text}")
    planned = turns[plans[-1]]
    assert planned.role == "user"
    wanted = json.loads(planned.text)
    step = wanted[min(sum(t.role == "model" for t in turns[plans[-1] :]), len(wanted) - 1)]
    return says(step) if isinstance(step, str) else calls(*map(tuple, step))


def family(ledger: Ledger, **parts: dict[str, Any]) -> list[Agent]:
    """Four agents; each may delegate to any of them, itself included. `parts` by name."""
    return [
        Agent(
            name,
            model=ScriptedModel(follow),
            tools=tools(ledger),
            delegates=NAMES,
            **parts.get(name, {}),
        )
        for name in NAMES
    ]


def child_id(parent: str, call_id: str = "call_1_1", number: int = 0) -> str:
    """The run of a task of a call."""
    return derived_id("run", "default", parent, call_id, str(number))


def told(image: Image, tool: str = "delegate") -> list[dict[str, Any]]:
    """The results of a tool's calls, as the model was told them."""
    ended = [e["result"] for e in image.document["journal"] if e["type"] == "tool.finished"]
    return [result for result in ended if result["tool"] == tool]


async def asked(placet: System, run: Run, count: int = 1) -> list[Input]:
    """What the run and those below it ask, once that is so many and the broker has them."""

    async def look() -> list[Input] | None:
        inputs = (await placet.client.runs.get(run.id)).inputs
        known = {each.id for each in await placet.client.inbox("pending")}
        return list(inputs) if len(inputs) == count and {i.id for i in inputs} <= known else None

    found: list[Input] = await eventually(look)
    return found
