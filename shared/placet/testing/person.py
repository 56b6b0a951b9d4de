"""A person for tests: answers by rules, at once or late, wrongly first, twice, or never."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from placet.client import AsyncClient, Input
from placet.domain.answer import Action, reduce
from placet.domain.interaction import (
    ApprovalDecision,
    ApprovalRequest,
    InputState,
    InteractionRequest,
    Kind,
    ReviewRequest,
)
from placet.domain.outcome import Outcome
from placet.errors import PlacetError

Matches = Callable[[InteractionRequest], bool]


@dataclass(slots=True)
class Reply:
    """One try of the person, and what came of it."""

    request: InteractionRequest
    content: Any
    problem: PlacetError | None = None
    """Why it was refused; None: it was taken."""


@dataclass(slots=True)
class Rule:
    """What the person does about what it matches; the last word said holds."""

    matches: Matches
    tries: list[tuple[Action, Any]] = field(default_factory=list)
    delay: timedelta = timedelta(0)
    uses: int = 0

    def approves(self, scope: str = "once") -> Self:
        """Say yes to a call, for so long."""
        return self.answers({"decision": "approved", "scope": scope})

    def denies(self, reason: str | None = None) -> Self:
        """Say no; an approval takes a reason."""
        return self.then(Action.DECLINE, reason)

    def skips(self) -> Self:
        """Let the call be skipped, which is no refusal of what it is for."""
        return self.answers({"decision": "skipped"})

    def answers(self, content: Any) -> Self:
        """Answer with this. Said several times, each is tried: a wrong one first, or another after it."""
        return self.then(Action.ACCEPT, content)

    def cancels(self) -> Self:
        """Say that there will be no answer."""
        return self.then(Action.CANCEL, None)

    def then(self, action: Action, content: Any) -> Self:
        """Try this after what was said before."""
        self.tries.append((action, content))
        return self

    def late(self, by: timedelta) -> Self:
        """Answer only when that long has passed since the question, by the test's clock."""
        self.delay = by
        return self

    def never(self) -> Self:
        """Do not answer at all."""
        self.tries.clear()
        return self


class FakePerson:
    """Answers what its rules match, the first that does; anything else is a test's mistake.

    It is an `ApprovalHandler` and an `InteractionHandler` for `Agent.run`, and attends the inbox of
    an `embedded` Placet. In one process, where nobody waits, being late is not answering.
    """

    def __init__(self, id: str = "alice") -> None:
        """Answer as this person."""
        self.id = id
        self.rules: list[Rule] = []
        self.asked: list[InteractionRequest] = []
        """Everything that was put to the person, once each."""
        self.replies: list[Reply] = []
        """Every try, in order."""

    def on(
        self,
        *,
        tool: str | None = None,
        kind: Kind | str | None = None,
        says: str | None = None,
        matches: Matches | None = None,
    ) -> Rule:
        """A rule for questions about this tool, of this kind, whose message has this in it."""

        def all_of(request: InteractionRequest) -> bool:
            about = (
                request.call.tool if isinstance(request, ApprovalRequest | ReviewRequest) else None
            )
            return (
                (tool is None or about == tool)
                and (kind is None or request.kind == kind)
                and (says is None or says in request.message)
                and (matches is None or matches(request))
            )

        rule = Rule(all_of)
        self.rules.append(rule)
        return rule

    async def request(self, req: ApprovalRequest) -> ApprovalDecision | Outcome:
        """The decision about a call, in this process; a denial where they do not answer."""
        return self._outcome(req) or ApprovalDecision.DENIED

    async def ask(self, request: InteractionRequest) -> Any:
        """The answer to any other question, in this process; None: no answer."""
        outcome = self._outcome(request)
        if outcome is not None and outcome.state is InputState.DECLINED:
            return Action.DECLINE
        return outcome.content if outcome and outcome.state is InputState.ANSWERED else None

    async def attend(self, client: AsyncClient, now: datetime) -> int:
        """Look at the inbox once, and try what the rules say; returns how many inputs settled by it."""
        settled = 0
        for each in reversed(await client.inbox("pending")):
            settled += await self._answer(each, now)
        return settled

    async def _answer(self, waiting: Input, now: datetime) -> bool:
        request = waiting.value.request
        rule = self._rule(request)
        if now - request.requested_at < rule.delay:
            return False
        done = False
        for action, content in rule.tries:
            reply = Reply(request, content)
            self.replies.append(reply)
            try:
                await waiting.settle(action, content, from_=self.id)
                done = True
            except PlacetError as error:
                reply.problem = error
        return done

    def _outcome(self, request: InteractionRequest) -> Outcome | None:
        rule = self._rule(request)
        found: Outcome | None = None
        for action, content in () if rule.delay else rule.tries:
            reply = Reply(request, content)
            self.replies.append(reply)
            try:
                found = found or reduce(request, action, content)
            except PlacetError as error:
                reply.problem = error
        return found

    def _rule(self, request: InteractionRequest) -> Rule:
        if all(known.id != request.id for known in self.asked):
            self.asked.append(request)
        for rule in self.rules:
            if rule.matches(request):
                rule.uses += 1
                return rule
        raise AssertionError(
            f"{self.id} has no rule for the {request.kind} {request.message!r}; add one with on(...)"
        )
