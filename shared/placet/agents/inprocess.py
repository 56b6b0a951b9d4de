"""The in-process runtime: the same kernel, people asked in place, nothing kept."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

from placet.agents.agent import Agent
from placet.agents.asking_model import ask_model
from placet.agents.context import Asked
from placet.agents.executor import context_for, execute
from placet.agents.fingerprints import drift_of, fingerprint_of
from placet.agents.handlers import Approver, InteractionHandler, decide_with
from placet.agents.interventions import ask_in_place
from placet.agents.judging import follow_up, judge_call
from placet.clock import Clock, SystemClock
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
from placet.errors import Invalid, ModelError
from placet.gate import Decision
from placet.ids import new_id
from placet.kernel.asking import Asker, approval, opened, own_ask
from placet.kernel.call import CallState
from placet.kernel.decide import Act, CallModel, Ended, Fail, Finish, Judge, Wait, decide
from placet.kernel.journal import (
    Entry,
    InputResolved,
    MessageReceived,
    RunCompleted,
    RunFailed,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TrustGiven,
)
from placet.kernel.state import State


@dataclass(slots=True)
class RunResult:
    """How a run in this process ended."""

    id: str
    status: str = "running"
    """`completed` or `failed`."""
    text: str = ""
    error: str | None = None
    journal: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class _Run:
    agent: Agent
    asker: Asker
    approver: Approver | None
    questions: InteractionHandler | None
    clock: Clock
    result: RunResult
    state: State = field(default_factory=State)

    def note(self, entry: Entry) -> None:
        self.state.apply(entry)
        self.result.journal.append(entry)
        if isinstance(entry, TrustGiven):
            self.agent.trusted.setdefault(entry.person, {})[entry.tool] = entry.schema_digest

    def begin(self, message: MessageReceived) -> None:
        self.note(RunStarted(instructions=self.agent.instructions))
        if self.agent.policy.trusts:
            for tool, digest in dict(self.agent.trusted.get(message.sender, {})).items():
                self.note(TrustGiven(tool=tool, schema_digest=digest, person=message.sender))
        self.note(message)

    async def go(self) -> None:
        while True:
            match decide(self.state, self.agent.facts, max_steps=self.agent.max_steps):
                case Judge(calls):
                    for call in calls:
                        for entry in await judge_call(self.agent, call, self.state):
                            self.note(entry)
                case Act() as act:
                    await self.act(act)
                case CallModel():
                    await self.model()
                case Finish(text):
                    self.note(RunCompleted(text=text))
                    self.result.status, self.result.text = "completed", text
                case Fail(code, message):
                    self.note(RunFailed(code=code, message=message))
                    self.result.status, self.result.error = "failed", f"{code}: {message}"
                case Ended() | Wait():
                    return

    async def model(self) -> None:
        try:
            self.note(await ask_model(self.agent, self.state))
        except ModelError as error:
            self.note(RunFailed(code=error.code, message=str(error)))
            self.result.status, self.result.error = "failed", str(error)

    async def act(self, act: Act) -> None:
        for result in act.close:
            self.note(ToolFinished(result=result))
        for call in act.ask:
            if call.verdict and call.verdict.decision is Decision.ASK:  # no grant came meanwhile
                await self.approve(call)
        drifted = [entry for call in act.start if (entry := await drift_of(self.agent, call))]
        for entry in drifted:
            self.note(entry)
        if not act.ask and not drifted:
            for call in act.start:
                key = self.asker.key(call.call.id)
                self.note(ToolStarted(call_id=call.call.id, key=key, attempt=call.attempt + 1))
            await asyncio.gather(*(self.run_call(call) for call in act.start))

    async def approve(self, call: CallState) -> None:
        request = approval(self.asker, call, self.clock.now())
        seen = await fingerprint_of(self.agent.toolbox.get(call.call.tool), call)
        self.note(opened(request, call, seen))
        outcome = await self.decision(request)
        resolution = self.resolution(request, outcome)
        self.note(InputResolved(input_id=request.id, resolution=resolution))
        for entry in follow_up(self.agent, self.state, resolution):
            self.note(entry)

    async def decision(self, request: ApprovalRequest) -> Outcome:
        intervention = self.agent.human_in_the_loop
        if intervention is not None and intervention.ask is not None:
            return await ask_in_place(intervention, request)
        if self.approver is None:
            reason = "no approval handler was given, so nobody could be asked"
            return Outcome(
                state=InputState.DECLINED, decision=ApprovalDecision.DENIED, reason=reason
            )
        decision = await decide_with(self.approver, request)
        typed = request.model_copy(update={"accepts": "decision"})  # no evaluator reads a decision
        return reduce(typed, Action.ACCEPT, {"decision": decision.value})

    async def run_call(self, call: CallState) -> None:
        tool = self.agent.toolbox[call.call.tool]
        match await execute(tool, call, context_for(self.asker, call)):
            case Asked() as asked:
                request = own_ask(self.asker, call, asked.draft, self.clock.now())
                self.note(opened(request, call))
                outcome = await self.answer(request)
                self.note(
                    InputResolved(input_id=request.id, resolution=self.resolution(request, outcome))
                )
            case result:
                self.note(ToolFinished(result=result))

    async def answer(self, request: InteractionRequest) -> Outcome:
        content = None if self.questions is None else await self.questions.ask(request)
        if content is None:
            return Outcome(state=InputState.CANCELLED)
        try:
            return reduce(request, Action.ACCEPT, content)
        except Invalid as error:
            raise Invalid(
                f"the interaction handler's answer to {request.message!r}: {error}"
            ) from error

    def resolution(self, request: InteractionRequest, outcome: Outcome) -> Resolution:
        person = Person(id=self.asker.initiator or "local") if outcome.reason is None else None
        return Resolution(
            input_id=request.id,
            run_id=request.run_id,
            digest=request.digest,
            outcome=outcome,
            by=person,
            at=self.clock.now(),
            channel="in_process",
        )


async def run_in_process(
    agent: Agent,
    message: str,
    *,
    approver: Approver | None,
    asker: InteractionHandler | None,
    user: str | None = None,
    clock: Clock | None = None,
) -> RunResult:
    """Run one agent to its end in this process. See `Agent.run`."""
    run_id = new_id("run")
    run = _Run(
        agent=agent,
        asker=Asker(
            agent_id=agent.name,
            agent=agent.name,
            run_id=run_id,
            initiator=user,
            approvers=agent.human_input.approvers,
            user_message=message,
            expires_in=timedelta(seconds=agent.human_input.expires_in_seconds),
            accepts=agent.accepts,
            trusts=agent.policy.trusts,
            editable=agent.editable_schemas,
        ),
        approver=approver,
        questions=asker,
        clock=clock or SystemClock(),
        result=RunResult(id=run_id),
    )
    run.begin(MessageReceived(id=new_id("msg"), text=message, sender=user))
    await run.go()
    return run.result
