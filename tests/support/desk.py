"""A person in place, who has the answers ready, and what a run in this process told its model."""

from typing import Any

from placet.agents.inprocess import RunResult
from placet.domain.interaction import InteractionRequest


class Desk:
    """Answers each question in turn; None, and then silence, is no answer."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[InteractionRequest] = []

    async def ask(self, request: InteractionRequest) -> Any:
        self.asked.append(request)
        return self.answers.pop(0) if self.answers else None


def told(run: RunResult) -> list[tuple[str, Any]]:
    """Outcome and content of each call, in order."""
    return [(e.result.outcome, e.result.content) for e in run.journal if e.type == "tool.finished"]
