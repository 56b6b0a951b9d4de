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

    async def decision(self, request: ApprovalRequest) -> Outcome:
        """What they say of a call; without a handler, no."""
        if self.intervention is not None and self.intervention.ask is not None:
            return await ask_in_place(self.intervention, request)
        if self.approver is None:
            reason = "no approval handler was given, so nobody could be asked"
            return Outcome(
                state=InputState.DECLINED, decision=ApprovalDecision.DENIED, reason=reason
            )
        decision = await decide_with(self.approver, request)
        typed = request.model_copy(update={"accepts": "decision"})  # no evaluator reads a decision
        return reduce(typed, Action.ACCEPT, {"decision": decision.value})

    async def answer(self, request: InteractionRequest) -> Outcome:
        """What they answer; without a handler, or an answer, the question is cancelled. Raises Invalid."""
        content = None if self.questions is None else await self.questions.ask(request)
        if content is None:
            return Outcome(state=InputState.CANCELLED)
        try:
            if isinstance(content, Action):
                return reduce(request, content)
            return reduce(request, Action.ACCEPT, content)
        except Invalid as error:
            raise Invalid(
                f"the interaction handler's answer to {request.message!r}: {error}"
            ) from error

    def resolution(self, request: InteractionRequest, outcome: Outcome) -> Resolution:
        """How the question ended; nobody is named where nobody answered, or could be asked."""
        silent = outcome.state is InputState.CANCELLED or outcome.reason is not None
        person = None if silent else Person(id=self.name)
        return Resolution(
            input_id=request.id,
            run_id=request.run_id,
            digest=request.digest,
            outcome=outcome,
            by=person,
            at=self.clock.now(),
            asked_at=request.requested_at,
            channel="in_process",
        )
