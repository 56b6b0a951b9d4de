"""The people of a run in this process, asked in place."""

from dataclasses import dataclass

from placet.agents.handlers import Approver, InteractionHandler, decide_with
from placet.agents.interventions import HumanInTheLoop, ask_in_place
from placet.clock import Clock
from placet.domain.answer import Action, reduce
from placet.domain.interaction import (
    ApprovalDecision,
    ApprovalRequest,
    InputState,
    InteractionRequest,
)
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.errors import Invalid


@dataclass(frozen=True, slots=True)
class People:
    """Whoever the handlers reach. What a handler raises goes through, and ends the run."""

    approver: Approver | None
    questions: InteractionHandler | None
    intervention: HumanInTheLoop | None
    clock: Clock
    name: str = "local"
    """As whom they answer."""

    async def decide(self, request: ApprovalRequest) -> Resolution:
        """How they settle a call; without a handler it is a no, and nobody's."""
        asks = self.intervention is not None and self.intervention.ask is not None
        if self.intervention is not None and asks and not request.policy.strict:
            outcome = await ask_in_place(self.intervention, request)
            return self._settled(request, outcome, named=outcome.reason is None)
        if (why := self._nobody_for(request)) is not None or self.approver is None:
            no = Outcome(state=InputState.DECLINED, decision=ApprovalDecision.DENIED, reason=why)
            return self._settled(request, no, named=False)
        decision = await decide_with(self.approver, request)
        if isinstance(decision, Outcome):
            return self._settled(request, decision)
        typed = request.model_copy(update={"accepts": "decision"})  # no evaluator reads a decision
        return self._settled(request, reduce(typed, Action.ACCEPT, {"decision": decision.value}))

    def _nobody_for(self, request: ApprovalRequest) -> str | None:
        """Why nobody here can decide it; None if somebody can."""
        if self.approver is None:
            return "no approval handler was given, so nobody could be asked"
        if request.policy.strict and not getattr(self.approver, "honours_policy", False):
            return (
                "a quorum or four eyes needs people who are told apart, and this approval handler is one; "
                "use WebApprovalHandler"
            )
        return None

    async def answer(self, request: InteractionRequest) -> Resolution:
        """How they settle any other question; without a handler, or an answer, it is cancelled.

        Raises Invalid for an answer that does not fit.
        """
        content = None if self.questions is None else await self.questions.ask(request)
        if content is None:
            return self._settled(request, Outcome(state=InputState.CANCELLED))
        action, content = (
            (content, None) if isinstance(content, Action) else (Action.ACCEPT, content)
        )
        try:
            return self._settled(request, reduce(request, action, content))
        except Invalid as error:
            raise Invalid(
                f"the interaction handler's answer to {request.message!r}: {error}"
            ) from error

    def _settled(
        self, request: InteractionRequest, outcome: Outcome, *, named: bool = True
    ) -> Resolution:
        """How the question ended; nobody is named where nobody answered, or could be asked."""
        silent = outcome.state in (InputState.CANCELLED, InputState.EXPIRED) or not named
        return Resolution(
            input_id=request.id,
            run_id=request.run_id,
            digest=request.digest,
            outcome=outcome,
            by=None if silent else Person(id=self.name),
            at=self.clock.now(),
            asked_at=request.requested_at,
            channel="in_process",
        )
