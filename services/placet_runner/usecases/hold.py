"""Holding one run: one move after another, until it is parked, ended, handed back or lost."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from placet.agents.agent import Agent
from placet.agents.context import Asked
from placet.agents.delegating import busy_children, delegated
from placet.agents.executor import context_for, cut_off, execute
from placet.agents.fingerprints import drift_of, fingerprint_of
from placet.agents.judging import follow_up, judge_call, judged_anew
from placet.agents.situation import next_move, situation
from placet.domain.heritage import ChildEnd
from placet.domain.interaction import InteractionRequest
from placet.domain.resolution import Resolution
from placet.errors import LostLease, TooLarge, ToolError
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
from placet.kernel.asking import Asker, approval, change, intent, own_ask, review
from placet.kernel.call import CallState
from placet.kernel.closing import closed_as, superseded
from placet.kernel.journal import (
    ChildEnded,
    Delegated,
    GrantRevoked,
    InputResolved,
    ToolFinished,
)
from placet.kernel.turns import CallOutcome, CallResult
from placet.messages import EventType
from placet.process import logs
from placet.process.crash import crash_point
from placet_runner.ports import Image, Step
from placet_runner.rules.differences import difference
from placet_runner.rules.runs import MAX_TRIES, is_child, standing_of
from placet_runner.usecases.asking import asker_of
from placet_runner.usecases.ending import end, end_oversized
from placet_runner.usecases.freezing import (
    Held,
    freezing,
    held_back,
    overtakable,
    take_lifted,
    without,
)
from placet_runner.usecases.grip import Grip, Proposal, Row
from placet_runner.usecases.inbox import overtaken, read, withdraw
from placet_runner.usecases.proposing import asking, delegating, presenting
from placet_runner.usecases.thinking import think
from placet_runner.usecases.trust import begin, keep_trust

POISON = Fail("crash_loop", f"the run was taken up {MAX_TRIES} times and got nowhere")

_log = logs.get(__name__)


@dataclass(slots=True)
class Holder:
    """What a replica does with a run that it holds.

    What is proposed (a question, a start, the end) is applied once its write has matched.
    """

    agent: Agent
    grip: Grip
    tasks: dict[str, asyncio.Task[CallResult | Asked]] = field(default_factory=dict)
    """Calls that run now: started by this holder, and not finished."""
    asked: dict[str, InteractionRequest] = field(default_factory=dict)
    """Drafts of questions that tools put, by call, until they are written."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self) -> None:
        """Hold the run until it is let go, lost, or this task is cancelled; nothing of it runs after."""
        moving = asyncio.ensure_future(self._move_on())
        renewing = asyncio.ensure_future(self.grip.keep_renewing())
        try:
            await asyncio.wait({moving, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if moving.done():
                moving.result()
            else:
                renewing.result()
        except (LostLease, asyncio.CancelledError) as error:
            _log.info("run_lost", run_id=self.grip.image.id, reason=str(error))
        finally:
            everything = [moving, renewing, *self.tasks.values()]
            for task in everything:
                task.cancel()
            await asyncio.gather(*everything, return_exceptions=True)

    async def resume(self, resolution: Resolution) -> bool:
        """R9: apply the last answer of a parked run, claim it and write the intents, in one write.

        False: the run has moved since it was read; nothing was written.
        """
        await begin(self.agent, self.grip)
        self._take_back()
        take_lifted(self.grip)
        for entry in self.grip.image.waiting:
            if entry["id"] not in self.grip.used_inputs:
                self._settled(entry, resolution)
        self._judge_anew(self.grip.state.calls.values())
        starts: tuple[CallState, ...] = ()
        match next_move(self.agent, self.grip.state):
            case Act(ask=(), review=(), changed=(), delegate=(), start=starts, close=close) if (
                not any(map(_fingerprinted, starts))
            ):
                self._close(close)
            case _:
                starts = ()  # nothing starts in this write; the moves go on from there
        if await held_back(self.grip, starts):
            starts = ()
        hand = self.grip.hand

        async def row(read: Image, step: Step) -> Image | None:
            return await hand.runs.resume(read, resolution, step, hand.owner, self.grip.op)

        before = hand.clock.monotonic()
        if not await self.grip.commit(row, Proposal(self._intents(starts))):
            return False
        self.grip.renewed = before
        crash_point("resume.done")
        await self._launch(starts)
        return True

    # --- one move after another ---

    async def _move_on(self) -> None:
        while not self.grip.done:
            try:
                await self._move()
            except TooLarge as error:  # again would be no smaller
                await end_oversized(self.grip, error)
        await keep_trust(self.grip)

    async def _move(self) -> None:
        await begin(self.agent, self.grip)
        await keep_trust(self.grip)
        self._collect()
        self._absorb()
        if self.grip.image.document["tries"] > MAX_TRIES:
            await end(self.grip, POISON)
        elif self.stopping.is_set() and not self.tasks and not self.asked:
            await self.grip.hand_back()
        elif not (
            await withdraw(self.agent, self.grip)
            or await read(self.agent, self.grip, busy=bool(self.tasks or self.asked))
            or await self._own_asks()
        ):
            await self._decided()

    async def _decided(self) -> None:
        grip = self.grip
        match next_move(self.agent, grip.state, running=self.tasks):
            case Judge(calls):
                for call in calls:
                    self._note(await judge_call(self.agent, call, grip.state))
            case Act() as act:
                await self._act(act)
            case Record(entries):
                self._note(entries)
            case Present() as present:
                now, asker = grip.hand.clock.now(), self._asker()
                await self._ask(presenting(asker, grip.state, present, now), go_on=False)
            case CallModel():
                if failed := await think(self.agent, grip, self.stopping):
                    await end(grip, failed)
            case Wait():
                await self._wait()
            case Finish() | Fail() | Cancel() as how:
                await end(grip, how)
            case Ended():
                grip.done = True

    def _collect(self) -> None:
        """Calls that ended since: a result is a fact, a question waits to be written."""
        for call_id in [call_id for call_id, task in self.tasks.items() if task.done()]:
            task = self.tasks.pop(call_id)
            if task.cancelled():  # not by us: whoever holds a run cancels its calls only to let go
                self._close([cut_off(self.grip.state.calls[call_id])])
                continue
            match task.result():
                case Asked(draft=draft):
                    self.asked[call_id] = draft
                case CallResult() as result:
                    self._close([result])

    def _take_back(self) -> None:
        """Grants that were taken back end."""
        for grant in standing_of(self.grip.image.revoked, self.grip.state.grants):
            self.grip.note(GrantRevoked(grant_id=grant.id))

    def _absorb(self) -> None:
        """Grants that were taken back, and what was waited for, once each (R10 writes them)."""
        self._take_back()
        take_lifted(self.grip)
        for entry in self.grip.image.settled:
            if entry["id"] not in self.grip.used_inputs:
                self._settled(entry)

    def _settled(self, entry: dict[str, Any], latest: Resolution | None = None) -> None:
        """Take in how a question or a child run ended; `latest` is of the one that has no end yet."""
        grip = self.grip
        if not grip.used_inputs:
            grip.event(EventType.RUN_RESUMED)
        grip.used_inputs.append(entry["id"])
        if is_child(entry):
            ended = ChildEnd.model_validate(entry["resolution"])
            grip.note(ChildEnded(call_id=entry["call"], end=ended))
            return
        value = entry["resolution"]
        resolution = Resolution.model_validate(value) if value else latest
        assert resolution is not None  # noqa: S101 - only what is settled gets here
        grip.note(InputResolved(input_id=entry["id"], resolution=resolution))
        self._note(follow_up(self.agent, grip.state, resolution))
        grip.hand.metrics.resumed(grip.hand.clock.now() - resolution.at)

    # --- questions and calls ---

    async def _own_asks(self) -> bool:
        """Write the questions that tools put, or close their calls if a message overtook them."""
        if not self.asked:
            return False
        state = self.grip.state
        calls = [state.calls[call_id] for call_id in self.asked]
        if overtaken(self.agent, self.grip):
            self.asked.clear()
            self._close([superseded(call) for call in calls])
            return True
        now, asker = self.grip.hand.clock.now(), self._asker()
        pairs = [(own_ask(asker, call, self.asked[call.call.id], now), call) for call in calls]
        busy = [c for c in state.calls.values() if not c.result and not c.waits and c not in calls]
        proposal = asking(pairs)
        if await self._ask(proposal, go_on=bool(busy or self.tasks)):
            self.asked.clear()
        return True

    async def _act(self, act: Act) -> None:
        if act.ask and overtaken(self.agent, self.grip):
            self._close([superseded(call) for call in act.ask])
            return
        self._close(act.close)
        if self._judge_anew([*act.start, *act.delegate]):
            return
        drifted = [entry for call in act.start if (entry := await drift_of(self.agent, call))]
        self._note(drifted)
        if drifted:
            return  # asked again, with what changed
        held = await held_back(self.grip, [*act.start, *act.delegate])
        if self._overtaken(held):
            return
        act = without(act, held)
        delegations = self._delegations(act.delegate)
        proposal = await self._questions(act) + freezing(self.grip, held)
        proposal += delegating(self.agent, self._asker(), self.grip.state, delegations)
        if act.start:
            whole = proposal + Proposal(self._intents(act.start))
            if await self.grip.commit(self._starting(act, proposal), whole):
                await self._launch(act.start)
        elif proposal.asks:
            await self._ask(proposal, go_on=bool(self.tasks))
        elif held:
            await self._wait()

    def _overtaken(self, held: Held) -> bool:
        """Close the frozen calls that a message has overtaken. True: look again."""
        calls = overtakable([self.grip.state.calls[call_id] for call_id in held])
        if not calls or not overtaken(self.agent, self.grip):
            return False
        self._close([superseded(call) for call in calls])
        return True

    async def _questions(self, act: Act) -> Proposal:
        """What these moves ask people."""
        tools = self.agent.toolbox
        seen = {c.call.id: await fingerprint_of(tools.get(c.call.tool), c) for c in act.ask}
        now, asker = self.grip.hand.clock.now(), self._asker()
        pairs: list[tuple[InteractionRequest, CallState]] = [
            (approval(asker, call, now), call) for call in act.ask
        ]
        pairs += [(review(asker, call, now), call) for call in act.review]
        changed = {c.call.id: tools[c.call.tool].facts.schema_digest for c in act.changed}
        for call in act.changed:
            tool = tools[call.call.tool]
            said = difference(await self.grip.hand.schemas.get(call.schema_digest), tool)
            pairs.append((change(asker, call, tool.schema, said, now), call))
        return asking(pairs, seen=seen, changed_to=changed)

    def _delegations(self, calls: Sequence[CallState]) -> list[Delegated]:
        """The child runs of these calls; a call that can't have any is closed."""
        found: list[Delegated] = []
        for call in calls:
            busy = busy_children(self.grip.state) + sum(len(each.children) for each in found)
            try:
                found.append(delegated(self._asker(), call, busy))
            except ToolError as error:
                self._close([closed_as(call, CallOutcome.ERROR, str(error))])
        return found

    def _judge_anew(self, calls: Iterable[CallState]) -> bool:
        """Note where the policy does not allow a call any more that nobody approved. True: look again."""
        state = self.grip.state
        found = [judged_anew(self.agent, call, state) for call in list(calls)]
        stricter = [entry for entry in found if entry is not None]
        self._note(stricter)
        return bool(stricter)

    async def _ask(self, proposal: Proposal, *, go_on: bool) -> bool:
        """R5, or R5b where something goes on meanwhile."""
        runs = self.grip.hand.runs
        if go_on:
            return await self.grip.commit(runs.ask_and_go_on, proposal)
        return await self.grip.let_go(runs.ask_and_park, proposal)

    def _starting(self, act: Act, proposal: Proposal) -> Row:
        """The row that writes these intents."""
        runs = self.grip.hand.runs
        if any(call.in_doubt for call in act.start):
            return runs.take_over
        if proposal.asks:
            return runs.ask_and_go_on
        return runs.apply_answers if self.grip.used_inputs else runs.append

    def _intents(self, starts: Sequence[CallState]) -> list[Entry]:
        asker = self._asker()
        return [intent(asker, call) for call in starts]

    async def _launch(self, starts: Sequence[CallState]) -> None:
        """Start effects whose intent is stored, while the lease is young by our own clock."""
        if starts:
            await self.grip.rejuvenate()
        asker = self._asker()
        for call in starts:
            crash_point("tool.started")
            self.grip.hand.metrics.started(call)
            self.tasks[call.call.id] = asyncio.ensure_future(self._run_tool(call, asker))

    async def _run_tool(self, call: CallState, asker: Asker) -> CallResult | Asked:
        tool = self.agent.toolbox[call.call.tool]
        attended = situation(self.agent, self.grip.state).asks_people(tool.name)
        context = context_for(asker, call, sealer=self.grip.hand.keys.sealer, attended=attended)
        with logs.bound_contextvars(run_id=asker.run_id, call_id=call.call.id):
            result = await execute(tool, call, context)
        crash_point("tool.returned")
        return result

    def _note(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.grip.note(entry)

    def _close(self, results: Sequence[CallResult]) -> None:
        for result in results:
            self.grip.note(ToolFinished(result=result))
            self.grip.hand.metrics.called(result.outcome)

    async def _wait(self) -> None:
        grip = self.grip
        if self.tasks and (grip.pending or grip.used_inputs):
            await grip.flush()  # its image may hold more to do
        elif self.tasks:
            await asyncio.wait(self.tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        elif grip.pending or grip.used_inputs or grip.used_messages:
            await grip.let_go(grip.hand.runs.ask_and_park)
        else:
            await grip.let_go(grip.hand.runs.park)

    def _asker(self) -> Asker:
        return asker_of(self.grip.image.document, self.grip.state, self.agent)


def _fingerprinted(call: CallState) -> bool:
    """Whether what the call acts on must be looked at before it starts."""
    return call.approval is not None and call.approval.fingerprint is not None
