"""The same scenarios on Placet: in place, and through the runner."""

import re
import warnings
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from placet import Agent, HumanInTheLoop, RiskVerdict, ScriptedModel, Tool, tool
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says
from placet.domain.interaction import ApprovalRequest, ToolCall
from placet.errors import DefinitionError, Invalid
from placet.kernel.turns import ModelReply
from tests.integration.strands.scenarios import RAISES, REFUSED, Outcome, Scenario
from tests.integration.strands.words import CLASSIFIERS, EVALUATORS, NoIdea, Verdict
from tests.support.system import System


class Played:
    """One scenario, being played."""

    def __init__(self, given: Scenario, name: str = "office") -> None:
        self.given = given
        self.name = name
        self.ran: list[Any] = []
        self.asked: list[int] = []
        self.turns: Sequence[Sequence[Any]] = ()

    def ask(self, prompt: str) -> Any:
        """The answer to the call that the prompt shows."""
        number = int(re.findall(r'"n": (\d+)', prompt)[-1])
        return self.answer(number)

    async def ask_later(self, prompt: str) -> Any:
        return self.ask(prompt)

    def answer(self, number: int) -> Any:
        """The answer to a call; a no, if an answer that was none left it waiting."""
        if self.given["mode"] == "interrupt" and number in self.asked:
            return "no"
        self.asked.append(number)
        answer = self.given["answers"][str(number)]
        if answer == RAISES:
            raise NoIdea
        return answer

    def agent(self) -> Agent:
        """Raises DefinitionError."""
        inline = self.given["mode"] == "inline"
        asks: Any = self.ask_later if self.given["asks_later"] else self.ask
        with warnings.catch_warnings():  # of a classifier beside `*`
            warnings.simplefilter("ignore")
            watched = HumanInTheLoop(
                allowed_tools=self.given["allowed"],
                classifier=self._classifier(),
                enable_trust=self.given["trust"],
                evaluate=EVALUATORS.get(self.given["evaluate"]),
                evaluate_trust=EVALUATORS.get(self.given["evaluate_trust"]),
                ask=asks if inline else None,
            )
        return Agent(
            self.name,
            model=ScriptedModel(self._reply),
            tools=[self._tool(name) for name in self.given["tools"]],
            interventions=[watched],
        )

    def _reply(self, conversation: Conversation) -> ModelReply:
        since = takewhile(lambda turn: turn.role != "user", reversed(conversation.turns))
        answered = sum(turn.role == "model" for turn in since)
        if answered >= len(self.turns):
            return says("done")
        return calls(*((name, args) for name, args in self.turns[answered]))

    def _tool(self, name: str) -> Tool:
        async def do(n: int) -> str:
            self.ran.append([name, {"n": n}])
            return "did it"

        return tool(name=name)(do)

    def _classifier(self) -> Any:
        name = self.given["classifier"]
        if not isinstance(name, str):
            return name

        def classify(call: ToolCall) -> Any:
            found = CLASSIFIERS[name](call.tool, call.args)
            return RiskVerdict(found.asks, found.reason) if isinstance(found, Verdict) else found

        async def classify_later(call: ToolCall) -> Any:
            return classify(call)

        return classify_later if self.given["classifies_later"] else classify

    def outcome(self, ended: str) -> Outcome:
        return {"ran": self.ran, "asked": self.asked, "ended": ended}


async def in_place(given: Scenario) -> Outcome:
    """What comes of it in this process."""
    played = Played(given)
    try:
        agent = played.agent()
    except DefinitionError:
        return REFUSED
    try:
        for turns in given["runs"]:
            played.turns = turns
            ended = await agent.run("go", user="alice")
            assert ended.status == "completed", ended.error
    except NoIdea:
        return played.outcome("raised")
    return played.outcome("completed")


async def suspended(placet: System, played: Played) -> Outcome:
    """What comes of it in a runner: every question is answered, through the broker."""
    target = played.name
    for turns in played.given["runs"]:
        played.turns = turns
        run = await placet.client.agent(target).run("go", user="alice")
        target = run.agent_id
        while run.inputs:
            for waiting in run.inputs:
                request = waiting.value.request
                assert isinstance(request, ApprovalRequest)
                number = request.call.args["n"]
                try:
                    await waiting.settle("accept", played.answer(number), from_="alice")
                except Invalid:  # it still waits
                    await waiting.settle("accept", played.answer(number), from_="alice")
            run = await placet.client.runs.wait(run.id, settled=run.inputs[-1].id)
        assert run.status == "completed", run
    return played.outcome("completed")
