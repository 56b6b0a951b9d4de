"""A person to ask in place, and an agent whose every call may be asked about."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import placet
from placet import Agent, HumanInTheLoop, ScriptedModel, tool
from placet.agents.inprocess import RunResult
from placet.agents.scripted import calls, says, steps
from placet.kernel.journal import ToolFinished
from placet.kernel.turns import ModelReply

Wanted = tuple[str, dict[str, Any]]
SEND: Wanted = ("send", {"to": "bob"})
READ: Wanted = ("read", {"path": "notes"})
WIPE: Wanted = ("wipe", {"disk": "sda"})


@dataclass
class Desk:
    """What tools did, what was asked, and the answers that a person gives, one after another."""

    answers: Sequence[Any] = ()
    ran: list[Wanted] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    def ask(self, prompt: str) -> Any:
        """The next answer; one that is an exception is raised."""
        self.prompts.append(prompt)
        answer = self.answers[len(self.prompts) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def ask_later(self, prompt: str) -> Any:
        """The same, asynchronously."""
        return self.ask(prompt)

    @property
    def did(self) -> list[str]:
        """The tools that ran, in order."""
        return [name for name, _ in self.ran]

    @property
    def asked(self) -> list[str]:
        """The tools that were asked about, in order."""
        return [prompt.split("'")[1] for prompt in self.prompts]


def tools(desk: Desk) -> list[placet.Tool]:
    @tool
    async def send(to: str) -> str:
        """Send it."""
        desk.ran.append(("send", {"to": to}))
        return f"sent to {to}"

    @tool
    async def read(path: str) -> str:
        """Read it."""
        desk.ran.append(("read", {"path": path}))
        return "words"

    @tool
    async def wipe(disk: str) -> str:
        """Wipe it."""
        desk.ran.append(("wipe", {"disk": disk}))
        return "gone"

    return [send, read, wipe]


def agent(desk: Desk, *turns: Sequence[Wanted] | ModelReply, **parts: Any) -> Agent:
    """An agent that makes these calls, a turn each, and is done."""
    replies = [t if isinstance(t, ModelReply) else calls(*t) for t in turns]
    model = ScriptedModel(steps(*replies, says("done")))
    return Agent("office", model=model, tools=tools(desk), **parts)


async def run(
    desk: Desk, *turns: Sequence[Wanted] | ModelReply, user: str | None = None, **options: Any
) -> RunResult:
    """One run with a HumanInTheLoop of these options, which asks the desk."""
    options.setdefault("ask", desk.ask)
    watched = agent(desk, *turns, interventions=[HumanInTheLoop(**options)])
    return await watched.run("go", user=user)


def told(result: RunResult) -> list[tuple[str, str]]:
    """How each call ended, and what the model read."""
    ended = [entry.result for entry in result.journal if isinstance(entry, ToolFinished)]
    return [(str(each.outcome), str(each.content)) for each in ended]
