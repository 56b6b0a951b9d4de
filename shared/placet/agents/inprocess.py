"""The in-process runtime: the same kernel, people asked in place, nothing kept."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from placet.agents.agent import Agent
from placet.agents.asking_model import ask_model
from placet.agents.context import Asked
from placet.agents.delegating import births, busy_children, delegated
from placet.agents.executor import context_for, execute
from placet.agents.fingerprints import drift_of, fingerprint_of
from placet.agents.handlers import Approver, InteractionHandler
from placet.agents.judging import follow_up, judge_call
from placet.agents.people import People
from placet.agents.situation import next_move, situation, started
from placet.clock import Clock, SystemClock
from placet.domain.heritage import Birth, ChildEnd, Heritage, UnattendedApproval, last_words
from placet.domain.run import Message, PassedPoint, RunStatus
from placet.errors import ModelError, ToolError
from placet.gate import Decision
from placet.ids import new_id
from placet.kernel import (
    Act,
    CallModel,
    Cancel,
    Ended,
    Entry,
    Fail,
    Finish,
    Judge,
    Present,
    Record,
    Wait,
)
from placet.kernel.asking import Asker, approval, at_point, intent, opened, own_ask, presented
from placet.kernel.call import CallState
from placet.kernel.closing import closed_as
from placet.kernel.journal import (
    ChildEnded,
    InputResolved,
    MessageReceived,
    RunCancelled,
    RunCompleted,
    RunFailed,
    ToolFinished,
    TrustGiven,
)
from placet.kernel.state import State
from placet.kernel.turns import CallOutcome


@dataclass(slots=True)
class RunResult:
    """How a run in this process ended."""

    id: str
    status: str = "running"
    """`completed`, `failed` or `cancelled`."""
    text: str = ""
    error: str | None = None
    passed: list[PassedPoint] = field(default_factory=list)
    """Interaction points that it passed although nobody approved them."""
    journal: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class _Run:
    agent: Agent
    asker: Asker
    people: People
    clock: Clock
    result: RunResult
    state: State = field(default_factory=State)

    def note(self, *entries: Entry) -> None:
        for entry in entries:
            self.state.apply(entry)
            self.result.journal.append(entry)
            if isinstance(entry, TrustGiven):
                self.agent.trusted.setdefault(entry.person, {})[entry.tool] = entry.schema_digest

    def end(self, how: Finish | Fail | Cancel) -> None:
        match how:
            case Finish(text):
                self.note(RunCompleted(text=text))
                self.result.status, self.result.text = "completed", text
            case Fail(code, message):
                self.note(RunFailed(code=code, message=message))
                self.result.status, self.result.error = "failed", f"{code}: {message}"
            case Cancel(by):
                self.note(RunCancelled(by=by))
                self.result.status = "cancelled"
        self.result.passed = self.state.passed

    def begin(self, message: MessageReceived, heritage: Heritage) -> None:
        self.note(started(self.agent, heritage))
        if self.agent.policy.trusts:
            for tool, digest in dict(self.agent.trusted.get(message.sender, {})).items():
                self.note(TrustGiven(tool=tool, schema_digest=digest, person=message.sender))
        self.note(message)

    async def go(self) -> None:
        while True:
            match next_move(self.agent, self.state):
                case Judge(calls):
                    for call in calls:
                        self.note(*await judge_call(self.agent, call, self.state))
                case Act() as act:
                    await self.act(act)
                case Record(entries):
                    self.note(*entries)
                case Present() as present:
                    await self.present(present)
                case CallModel():
                    await self.model()
                case Finish() | Fail() | Cancel() as how:
                    self.end(how)
                case Ended() | Wait():
                    return

    async def model(self) -> None:
        try:
            self.note(await ask_model(self.agent, self.state))
        except ModelError as error:
            self.end(Fail(error.code, str(error)))

    async def act(self, act: Act) -> None:
        for result in act.close:
            self.note(ToolFinished(result=result))
        for call in act.ask:
            if call.verdict and call.verdict.decision is Decision.ASK:  # no grant came meanwhile
                await self.approve(call)
        drifted = [entry for call in act.start if (entry := await drift_of(self.agent, call))]
        self.note(*drifted)
        if not act.ask and not drifted:
            for call in act.delegate:
                await self.delegate(call)
            self.note(*(intent(self.asker, call) for call in act.start))
            await _all(self.run_call(call) for call in act.start)

    async def present(self, present: Present) -> None:
        request = at_point(self.asking, self.state.stage, present, self.clock.now())
        self.note(*presented(request, present, self.state))
        resolution = await self.people.answer(request)
        self.note(InputResolved(input_id=request.id, resolution=resolution))

    async def delegate(self, call: CallState) -> None:
        """Child runs do the call, one after the other: here people are asked in place."""
        try:
            entry = delegated(self.asking, call, busy_children(self.state))
        except ToolError as error:
            self.note(ToolFinished(result=closed_as(call, CallOutcome.ERROR, str(error))))
            return
        self.note(entry)
        for birth in births(self.agent, self.asking, self.state, entry):
            definition = self.agent.delegate_named(birth.agent)
            child = await _child(self, definition, birth)
            self.note(ChildEnded(call_id=call.call.id, end=child))

    @property
    def asking(self) -> Asker:
        """The run as it asks, in the stage where it is."""
        return replace(self.asker, stage=self.state.stage.name)

    async def approve(self, call: CallState) -> None:
        request = approval(self.asking, call, self.clock.now())
        seen = await fingerprint_of(self.agent.toolbox.get(call.call.tool), call)
        self.note(opened(request, call, seen))
        resolution = await self.people.decide(request)
        self.note(InputResolved(input_id=request.id, resolution=resolution))
        for entry in follow_up(self.agent, self.state, resolution):
            self.note(entry)

    async def run_call(self, call: CallState) -> None:
        tool = self.agent.toolbox[call.call.tool]
        attended = situation(self.agent, self.state).asks_people(tool.name)
        match await execute(tool, call, context_for(self.asking, call, attended=attended)):
            case Asked() as asked:
                request = own_ask(self.asking, call, asked.draft, self.clock.now())
                self.note(opened(request, call))
                resolution = await self.people.answer(request)
                self.note(InputResolved(input_id=request.id, resolution=resolution))
            case result:
                self.note(ToolFinished(result=result))


async def _all(calls: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run them beside one another; what one raises ends the others before it goes on its way."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def run_in_process(
    agent: Agent,
    message: str,
    *,
    approver: Approver | None,
    asker: InteractionHandler | None,
    user: str | None = None,
    clock: Clock | None = None,
    unattended: UnattendedApproval | None = None,
) -> RunResult:
    """Run one agent to its end in this process. See `Agent.run`."""
    run_id = new_id("run")
    birth = Birth(
        agent=agent.name,
        agent_id=agent.name,
        messages=(Message(id=new_id("msg"), text=message, sender=user),),
        initiator=user,
        path=(agent.name,),
        heritage=Heritage(unattended=unattended),
    )
    run = _born(agent, run_id, birth, approver, asker, clock or SystemClock())
    await run.go()
    return run.result


def _born(
    agent: Agent,
    run_id: str,
    birth: Birth,
    approver: Approver | None,
    asker: InteractionHandler | None,
    clock: Clock,
) -> _Run:
    for name in agent.delegate_names:
        agent.delegate_named(name)  # before anything runs: here nobody else has the definition
    message = birth.messages[0]
    run = _Run(
        agent=agent,
        asker=Asker(
            agent_id=birth.agent_id,
            agent=agent.name,
            run_id=run_id,
            root_run_id=birth.root_run_id,
            root_agent_id=birth.root_agent_id,
            path=birth.path,
            initiator=birth.initiator,
            consent=(*birth.heritage.consent, agent.human_input.rules),
            user_message=message.text,
            expires_in=agent.patience,
            on_expiry=agent.human_input.on_expiry,
            accepts=agent.accepts,
            trusts=agent.policy.trusts,
            editable=agent.editable_schemas,
        ),
        people=People(approver, asker, agent.human_in_the_loop, clock, birth.initiator or "local"),
        clock=clock,
        result=RunResult(id=run_id),
    )
    run.begin(
        MessageReceived(id=message.id, text=message.text, sender=message.sender), birth.heritage
    )
    return run


async def _child(parent: _Run, definition: Agent, birth: Birth) -> ChildEnd:
    """Run a child to its end; what goes wrong in it is told, like any other end."""
    run_id = birth.agent_id.replace("agt_", "run_", 1)
    run = _born(
        definition,
        run_id,
        birth,
        parent.people.approver
        if definition.approval_handler is None
        else definition.approval_handler,
        parent.people.questions
        if definition.interaction_handler is None
        else definition.interaction_handler,
        parent.clock,
    )
    await run.go()
    return ChildEnd(
        run_id=run_id,
        status=RunStatus(run.result.status),
        text=last_words(run.result.text or run.result.error or ""),
        label=run.state.taint,
    )
