"""From what a person typed to an action and content, by the kind of question."""

import json
from dataclasses import dataclass
from typing import Any

from placet.cli import fields
from placet.cli.howto import how_to, how_to_answer
from placet.client import Input
from placet.domain.answer import Action
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    InteractionRequest,
    UrlRequest,
)
from placet.errors import Invalid


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person typed."""

    text: str | None = None
    content: str | None = None
    choice: int | None = None
    approve: bool = False
    deny: bool = False
    cancel: bool = False
    reason: str | None = None
    scope: str | None = None
    trust: bool = False
    fields: tuple[str, ...] = ()
    """`name=value`, of a form, of several questions, of a review."""

    def answer(self, waiting: Input) -> tuple[Action, Any]:
        """The action and content to send; what can't be meant is refused before anything is sent."""
        request = waiting.value.request
        if self.trust and not self.approve:
            raise Invalid("--trust goes with --approve")
        if self.deny:
            return Action.DECLINE, self._reason(request)
        if self.cancel:
            return Action.CANCEL, self._reason(request)
        if self.approve:
            return Action.ACCEPT, self._yes(request)
        if self.fields:
            return Action.ACCEPT, fields.content(request, self.fields)
        if self.choice is not None:
            return Action.ACCEPT, _printed_option(waiting, self.choice)
        if self.content is not None:
            return Action.ACCEPT, parsed(self.content, "--content")
        if self.text is None:
            raise Invalid(f"say the answer: {how_to_answer(waiting)}")
        return Action.ACCEPT, self.text

    def _reason(self, request: InteractionRequest) -> str | None:
        """A reason is an approval's alone."""
        return self.reason if isinstance(request, ApprovalRequest) else None

    def _yes(self, request: InteractionRequest) -> Any:
        if isinstance(request, ApprovalRequest):
            return self._approval(request)
        if self.trust or not isinstance(request, ConfirmRequest | UrlRequest):
            word = "trust" if self.trust else "approve"
            raise Invalid(f"--{word} does not answer a {request.kind}; {how_to(request)}")
        return True

    def _approval(self, request: ApprovalRequest) -> Any:
        """The decision; the agent's own evaluator reads words."""
        if self.trust:
            if not request.trust:
                raise Invalid("this prompt offers no trust; approve it without --trust")
            return "trust"
        if request.accepts == "anything":
            return "yes"
        content = {"decision": "approved", "scope": self.scope or "once"}
        return content | ({"reason": self.reason} if self.reason else {})


def _printed_option(waiting: Input, choice: int) -> Any:
    """The index of an option; of an approval, the decision and the scope that the option stands for."""
    request = waiting.value.request
    if not isinstance(request, ApprovalRequest):
        return choice
    if not 0 <= choice <= len(request.scopes):
        raise Invalid(f"--choice {choice}: the options are 0 to {len(request.scopes)}")
    if choice == len(request.scopes):
        return {"decision": "denied"} if request.accepts != "anything" else "no"
    if request.accepts == "anything":
        return "yes"  # the agent's own evaluator reads words
    return {"decision": "approved", "scope": request.scopes[choice]}


def parsed(text: str, flag: str) -> Any:
    """What a flag says in JSON. Raises Invalid."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise Invalid(f"{flag} is no JSON: {error}") from error
