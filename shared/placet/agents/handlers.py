"""How a person is asked in place, in a script or a notebook."""

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TextIO, runtime_checkable

from placet.agents.terminal import NoAnswer, Terminal
from placet.domain.interaction import ApprovalDecision, ApprovalRequest, InteractionRequest
from placet.domain.outcome import Outcome
from placet.domain.visible import visible


@runtime_checkable
class ApprovalHandler(Protocol):
    """Any backend that can decide about one call. Where it waits is its own business."""

    async def request(self, req: ApprovalRequest) -> ApprovalDecision | Outcome:
        """The decision; or the outcome, where more is known: a scope, a reason, that nobody answered.

        Raising aborts the run and no tool runs.
        """
        ...


@runtime_checkable
class InteractionHandler(Protocol):
    """Any backend that can answer the other kinds."""

    async def ask(self, request: InteractionRequest) -> Any:
        """Content that fits the request; `Action.DECLINE` to refuse it; None for no answer."""
        ...


Approver = ApprovalHandler | Callable[[ApprovalRequest], Any | Awaitable[Any]]


async def decide_with(handler: Approver, request: ApprovalRequest) -> ApprovalDecision | Outcome:
    """Ask a handler or a callable. Only `True`, `approved` or such an outcome approves; None is a denial."""
    answer = handler.request(request) if isinstance(handler, ApprovalHandler) else handler(request)
    if inspect.isawaitable(answer):
        answer = await answer
    if isinstance(answer, Outcome):
        return answer
    if answer is True or answer == ApprovalDecision.APPROVED:
        return ApprovalDecision.APPROVED
    return (
        ApprovalDecision.SKIPPED if answer == ApprovalDecision.SKIPPED else ApprovalDecision.DENIED
    )


class CliApprovalHandler:
    """Asks in the terminal. Enter alone is a no."""

    def __init__(self, *, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        self._terminal = Terminal(source, sink)

    async def request(self, req: ApprovalRequest) -> ApprovalDecision:
        """Show the real call, read one line, decide."""
        line = await self._terminal.ask(lambda: self._prompt(req))
        word = line.strip().lower()
        if word in ("y", "yes"):
            return ApprovalDecision.APPROVED
        return ApprovalDecision.SKIPPED if word in ("s", "skip") else ApprovalDecision.DENIED

    def _prompt(self, req: ApprovalRequest) -> str:
        self._terminal.say(f"\n{visible(req.call.tool)} ({req.risk})")
        self._terminal.say(json.dumps(req.call.args, ensure_ascii=False, indent=2))
        self._terminal.say(f"why: {visible(str(req.context.get('reason', '')))}")
        try:
            return self._terminal.line(
                "Run exactly this call? [y]es, [s]kip, anything else is no: "
            )
        except NoAnswer:
            return ""
