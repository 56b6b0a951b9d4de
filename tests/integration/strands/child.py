"""Scenarios as Strands has them: JSON lines in, what ran and what was asked out. Runs without Placet."""

import asyncio
import inspect
import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from strands import Agent, tool  # type: ignore[import-not-found]
from strands.interventions.actions import default_evaluate  # type: ignore[import-not-found]
from strands.models import Model  # type: ignore[import-not-found]
from strands.tools.executors import (  # type: ignore[import-not-found]
    ConcurrentToolExecutor,
    SequentialToolExecutor,
)
from strands.types.exceptions import EventLoopException  # type: ignore[import-not-found]
from strands.vended_interventions.hitl import HumanInTheLoop  # type: ignore[import-not-found]
from strands.vended_interventions.hitl.classifier import (  # type: ignore[import-not-found]
    ClassifierResult,
)
from words import CLASSIFIERS, EVALUATORS, NoIdea, Verdict  # type: ignore[import-not-found]

is_trust = HumanInTheLoop._is_trust_response


class Script(Model):  # type: ignore[misc]
    """Makes the calls of the scenario, a turn each, and is done."""

    def __init__(self) -> None:
        self.turns: list[list[Any]] = []
        self.answered = 0
        self.made = 0

    def begin(self, turns: list[list[Any]]) -> None:
        self.turns, self.answered = turns, 0

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError

    async def stream(self, *args: Any, **more: Any) -> AsyncIterator[dict[str, Any]]:
        wanted = self.turns[self.answered] if self.answered < len(self.turns) else []
        self.answered += 1
        yield {"messageStart": {"role": "assistant"}}
        for name, args_of in wanted:
            self.made += 1
            use = {"name": name, "toolUseId": f"use_{self.made}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args_of)}}}}
            yield {"contentBlockStop": {}}
        if not wanted:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if wanted else "end_turn"}}


class Scenario:
    """One of them, being played."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.ran: list[Any] = []
        self.asked: list[int] = []
        self.script = Script()
        self.failed = False

    def tools(self) -> list[Any]:
        def named(name: str) -> Any:
            async def do(n: int) -> str:
                self.ran.append([name, {"n": n}])
                return "did it"

            return tool(name=name, description=f"{name} it")(do)

        return [named(name) for name in self.given["tools"]]

    def answer(self, prompt: str) -> Any:
        """The answer to the call that the prompt shows."""
        number = re.findall(r'"n": (\d+)', prompt)[-1]
        waits_still = self.given["mode"] == "interrupt" and int(number) in self.asked
        if not waits_still:
            self.asked.append(int(number))
        answer = self.given["answers"][number]
        if answer == {"raises": True}:
            raise NoIdea
        return "no" if waits_still else answer

    async def answer_later(self, prompt: str) -> Any:
        await asyncio.sleep(0)
        return self.answer(prompt)

    def evaluator(self, key: str) -> Any:
        name = self.given[key]
        plain = EVALUATORS.get(name)
        if not self.given.get("strict"):
            return plain
        if plain is None:
            plain = default_evaluate if key == "evaluate" else is_trust

        def strict(response: Any) -> bool:
            if self.failed:  # the trust evaluator, on this very answer
                self.failed = False
                return False
            try:
                return plain(response) is True
            except NoIdea:
                self.failed = key == "evaluate_trust"
                return False

        return strict

    def classifier(self) -> Any:
        name = self.given["classifier"]
        if not isinstance(name, str):
            return name
        judge: Callable[[str, dict[str, Any]], Any] = CLASSIFIERS[name]

        def classify(event: Any, **more: Any) -> Any:
            found = judge(event.tool_use["name"], event.tool_use["input"])
            if isinstance(found, Verdict):
                return ClassifierResult(found.asks, found.reason)
            return found

        async def classify_later(event: Any, **more: Any) -> Any:
            return classify(event)

        return classify_later if self.given["classifies_later"] else classify

    def agent(self, ask: Any) -> Any:
        watched = HumanInTheLoop(
            allowed_tools=self.given["allowed"],
            classifier=self.classifier(),
            enable_trust=self.given["trust"],
            evaluate=self.evaluator("evaluate"),
            evaluate_trust=self.evaluator("evaluate_trust"),
            ask=ask,
        )
        inline = ask is not None
        return Agent(
            model=self.script,
            tools=self.tools(),
            interventions=[watched],
            callback_handler=None,
            tool_executor=SequentialToolExecutor() if inline else ConcurrentToolExecutor(),
        )

    async def play(self) -> dict[str, Any]:
        inline = self.given["mode"] == "inline"
        ask = self.answer_later if self.given["asks_later"] else self.answer
        agent = self.agent(ask if inline else None)
        try:
            for turns in self.given["runs"]:
                self.script.begin(turns)
                result = await agent.invoke_async("go")
                while result.stop_reason == "interrupt":
                    result = await agent.invoke_async(
                        [
                            {
                                "interruptResponse": {
                                    "interruptId": each.id,
                                    "response": self.answer(each.reason),
                                }
                            }
                            for each in result.interrupts
                        ]
                    )
            ended = "completed"
        except (NoIdea, EventLoopException) as error:
            if not raised(error):
                raise
            ended = "raised"
        return {"ran": self.ran, "asked": self.asked, "ended": ended}


def raised(error: BaseException | None) -> bool:
    """Whether this is what the scenario's own code raised, however it was wrapped."""
    return error is not None and (isinstance(error, NoIdea) or raised(error.__cause__))


async def main() -> None:
    """Play them all."""
    for line in sys.stdin:
        outcome = Scenario(json.loads(line)).play()
        assert inspect.isawaitable(outcome)
        print(json.dumps(await outcome), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
