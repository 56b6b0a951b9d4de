"""Holding one run: one move after another, until it is parked, ended, handed back or lost."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from placet.agents.agent import Agent
from placet.agents.asking_model import ask_model
from placet.agents.context import Asked
from placet.agents.executor import context_for, cut_off, execute
from placet.agents.fingerprints import drift_of, fingerprint_of
from placet.agents.judging import follow_up, judge_call, judged_anew
from placet.domain.interaction import InteractionRequest
from placet.domain.resolution import Resolution
from placet.domain.run import Message, RunStatus
from placet.errors import LostLease, ModelError
from placet.kernel import Act, CallModel, Ended, Entry, Fail, Finish, Judge, Wait, decide
from placet.kernel.asking import Asker, approval, own_ask, review
from placet.kernel.call import CallState
from placet.kernel.closing import superseded
from placet.kernel.journal import (
    GrantRevoked,
    InputResolved,
    MessageReceived,
    RunCompleted,
    RunFailed,
    ToolFinished,
    ToolStarted,
)
from placet.kernel.turns import CallResult
from placet.messages import EventType
from placet.process import logs
from placet.process.backoff import full_jitter
from placet.process.crash import crash_point
from placet_runner.ports import Image, Step
from placet_runner.rules.runs import (
    MAX_TRIES,
    close_entry,
    covered_asks,
    event_entry,
    gone_asks,
    standing_of,
    supersedable,
)
from placet_runner.usecases.asking import asker_of
from placet_runner.usecases.grip import Grip, Proposal, Row
from placet_runner.usecases.trust import begin, keep_trust

MODEL_TRIES = 5
MODEL_BACKOFF = (timedelta(seconds=1), timedelta(seconds=30))
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
        for entry in self.grip.image.waiting:
            self._resolved(entry["id"], _resolution(entry) or resolution)
        self._judge_anew(self.grip.state.calls.values())
        starts: tuple[CallState, ...] = ()
        match decide(self.grip.state, self.agent.facts, max_steps=self.agent.max_steps):
            case Act(ask=(), review=(), start=starts, close=close) if not any(
                map(_fingerprinted, starts)
            ):
                self._close(close)
            case _:
                starts = ()  # nothing starts in this write; the moves go on from there
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
            await begin(self.agent, self.grip)
            await keep_trust(self.grip)
            self._collect()
            self._absorb()
            if self.grip.image.document["tries"] > MAX_TRIES:
                await self._end(POISON)
            elif self.stopping.is_set() and not self.tasks and not self.asked:
                await self.grip.hand_back()
            elif not (await self._withdraw() or await self._mail() or await self._own_asks()):
                await self._decided()
        await keep_trust(self.grip)

    async def _decided(self) -> None:
        following = decide(
            self.grip.state, self.agent.facts, running=self.tasks, max_steps=self.agent.max_steps
        )
        match following:
            case Judge(calls):
                for call in calls:
                    for entry in await judge_call(self.agent, call, self.grip.state):
                        self.grip.note(entry)
            case Act() as act:
                await self._act(act)
            case CallModel():
                await self._call_model()
            case Wait():
                await self._wait()
            case Finish() | Fail():
                await self._end(following)
            case Ended():
                self.grip.done = True

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

    def _absorb(self) -> None:
        """Grants that were taken back, and settled questions, once each (R10 writes them)."""
        for grant in standing_of(self.grip.image.revoked, self.grip.state.grants):
            self.grip.note(GrantRevoked(grant_id=grant.id))
        for entry in self.grip.image.settled:
            resolution = _resolution(entry)
            if resolution and entry["id"] not in self.grip.used_inputs:
                self._resolved(entry["id"], resolution)

    def _resolved(self, input_id: str, resolution: Resolution) -> None:
        grip = self.grip
        if not grip.used_inputs:
            grip.event(EventType.RUN_RESUMED)
        grip.note(InputResolved(input_id=input_id, resolution=resolution))
        grip.used_inputs.append(input_id)
        for entry in follow_up(self.agent, grip.state, resolution):
            grip.note(entry)
        grip.hand.metrics.resumed(grip.hand.clock.now() - resolution.at)

    # --- messages, and questions that need no answer any more ---

    def _unread(self) -> list[Message]:
        return [
            Message(**m) for m in self.grip.image.inbox if m["id"] not in self.grip.used_messages
        ]

    def _overtaken(self) -> bool:
        """Whether a message is there that open questions must not keep waiting."""
        return any(message.mode != "queue" for message in self._unread())

    async def _mail(self) -> bool:
        """Take messages in, or have the questions that they overtake closed (R16). True: look again."""
        grip, unread = self.grip, self._unread()
        if not unread or self.tasks or self.asked:
            return False
        if not grip.state.calls:
            for message in unread:
                grip.note(MessageReceived(id=message.id, text=message.text, sender=message.sender))
                grip.used_messages.append(message.id)
            return True
        overtaken = supersedable(self._open())
        if not overtaken or not self._overtaken():
            return False
        if await grip.flush():
            closes = {e["id"]: close_entry(grip.image.document, e, "superseded") for e in overtaken}

            async def row(image: Image, step: Step) -> Image | None:
                return await grip.hand.runs.supersede(image, closes, step)

            if await grip.let_go(row):
                grip.hand.relay.post(grip.image.id, list(closes.values()))
        return True

    async def _withdraw(self) -> bool:
        """R17: take back what need not be asked: its tool is gone, or a grant covers it. True: look again."""
        grip = self.grip
        needless = gone_asks(self._open(), self.agent.toolbox)
        needless += covered_asks(self._open(), grip.state.calls)
        if not needless:
            return False
        closes = {e["id"]: close_entry(grip.image.document, e, "withdrawn") for e in needless}

        async def row(image: Image, step: Step) -> Image | None:
            return await grip.hand.runs.withdraw(image, closes, step)

        if await grip.flush() and await grip.commit(row):
            grip.hand.relay.post(grip.image.id, list(closes.values()))
        return True

    def _open(self) -> list[dict[str, Any]]:
        return [e for e in self.grip.image.open if e["id"] not in self.grip.used_inputs]

    # --- questions and calls ---

    async def _own_asks(self) -> bool:
        """Write the questions that tools put, or close their calls if a message overtook them."""
        if not self.asked:
            return False
        state = self.grip.state
        calls = [state.calls[call_id] for call_id in self.asked]
        if self._overtaken():
            self.asked.clear()
            self._close([superseded(call) for call in calls])
            return True
        now, asker = self.grip.hand.clock.now(), self._asker()
        requests = [own_ask(asker, call, self.asked[call.call.id], now) for call in calls]
        busy = [
            c for c in state.calls.values() if not c.result and not c.open_ask and c not in calls
        ]
        if await self._ask(Proposal.asking(requests, calls), go_on=bool(busy or self.tasks)):
            self.asked.clear()
        return True

    async def _act(self, act: Act) -> None:
        if act.ask and self._overtaken():
            self._close([superseded(call) for call in act.ask])
            return
        self._close(act.close)
        if self._judge_anew(act.start):
            return
        drifted = [entry for call in act.start if (entry := await drift_of(self.agent, call))]
        for entry in drifted:
            self.grip.note(entry)
        if drifted:
            return  # asked again, with what changed
        tools = self.agent.toolbox
        seen = {c.call.id: await fingerprint_of(tools.get(c.call.tool), c) for c in act.ask}
        now, asker = self.grip.hand.clock.now(), self._asker()
        requests: list[InteractionRequest] = [approval(asker, call, now) for call in act.ask]
        requests += [review(asker, call, now) for call in act.review]
        proposal = Proposal.asking(
            requests, [*act.ask, *act.review], *self._intents(act.start), seen=seen
        )
        if act.start:
            if await self.grip.commit(self._starting(act), proposal):
                await self._launch(act.start)
        elif requests:
            await self._ask(proposal, go_on=bool(self.tasks))

    def _judge_anew(self, calls: Iterable[CallState]) -> bool:
        """Note where the policy does not allow a call any more that nobody approved. True: look again."""
        state = self.grip.state
        found = [judged_anew(self.agent, call, state.standing) for call in list(calls)]
        stricter = [entry for entry in found if entry is not None]
        for entry in stricter:
            self.grip.note(entry)
        return bool(stricter)

    async def _ask(self, proposal: Proposal, *, go_on: bool) -> bool:
        """R5, or R5b where something goes on meanwhile."""
        runs = self.grip.hand.runs
        if go_on:
            return await self.grip.commit(runs.ask_and_go_on, proposal)
        return await self.grip.let_go(runs.ask_and_park, proposal)

    def _starting(self, act: Act) -> Row:
        """The row that writes these intents."""
        runs = self.grip.hand.runs
        if any(call.in_doubt for call in act.start):
            return runs.take_over
        if act.ask or act.review:
            return runs.ask_and_go_on
        return runs.apply_answers if self.grip.used_inputs else runs.append

    def _intents(self, starts: Sequence[CallState]) -> list[Entry]:
        asker = self._asker()
        return [
            ToolStarted(call_id=c.call.id, key=asker.key(c.call.id), attempt=c.attempt + 1)
            for c in starts
        ]

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
        with logs.bound_contextvars(run_id=asker.run_id, call_id=call.call.id):
            result = await execute(tool, call, context_for(asker, call))
        crash_point("tool.returned")
        return result

    def _close(self, results: Sequence[CallResult]) -> None:
        for result in results:
            self.grip.note(ToolFinished(result=result))
            self.grip.hand.metrics.called(result.outcome)

    # --- the model, waiting, the end ---

    async def _call_model(self) -> None:
        """Ask the model. What the first call is made from needs no write of its own: nothing ran yet."""
        if self.grip.state.steps and not await self.grip.flush():
            return
        for attempt in range(1, MODEL_TRIES + 1):
            try:
                await self._one_model_call()
            except ModelError as error:
                self.grip.hand.metrics.replied("failed")
                if not error.transient or attempt == MODEL_TRIES:
                    await self._end(Fail(error.code, str(error)))
                    return
                _log.warning(
                    "model_failed", run_id=self.grip.image.id, attempt=attempt, reason=str(error)
                )
                if await self._stopped_within(full_jitter(attempt, *MODEL_BACKOFF).total_seconds()):
                    return
            else:
                return

    async def _stopped_within(self, seconds: float) -> bool:
        """Wait before the next try; True if this replica is told to stop meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        return self.stopping.is_set()

    async def _one_model_call(self) -> None:
        """A reply is noted; a deploy cuts the call off: another replica can ask again."""
        asking = asyncio.ensure_future(ask_model(self.agent, self.grip.state))
        stopping = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                self.grip.note(asking.result())
                self.grip.hand.metrics.replied("ok")
        finally:
            asking.cancel()
            stopping.cancel()

    async def _wait(self) -> None:
        grip = self.grip
        if self.tasks and (grip.pending or grip.used_inputs):
            await grip.flush()  # its image may hold more to do
        elif self.tasks:
            await asyncio.wait(self.tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        elif grip.pending or grip.used_inputs:
            await grip.let_go(grip.hand.runs.ask_and_park)
        else:
            await grip.let_go(grip.hand.runs.park)

    async def _end(self, how: Finish | Fail) -> None:
        grip = self.grip
        data: dict[str, Any] = {"applied": list(grip.state.applied)}
        fields: dict[str, Any] = {}
        sent = []
        if isinstance(how, Finish):
            status, kind, fields["text"] = RunStatus.COMPLETED, EventType.RUN_COMPLETED, how.text
            entry: Entry = RunCompleted(text=how.text)
        else:
            status, kind = RunStatus.FAILED, EventType.RUN_FAILED
            entry = RunFailed(code=how.code, message=how.message)
            fields["error"] = {"code": how.code, "message": how.message}
            data |= fields | {"undelivered": [message.id for message in self._unread()]}
            sent = [close_entry(grip.image.document, e, "cancelled") for e in self._open()]
        event = event_entry(grip.image.document, kind, number=0, at=grip.hand.clock.now(), **data)
        proposal = Proposal([entry], sent=[*sent, event], fields=fields)

        async def row(image: Image, step: Step) -> Image | None:
            return await grip.hand.runs.end(image, status, step)

        if await grip.commit(row, proposal, letting_go=True):
            crash_point("end.done")
            grip.done = True
            grip.hand.metrics.ended(status)

    def _asker(self) -> Asker:
        return asker_of(self.grip.image.document, self.grip.state, self.agent)


def _fingerprinted(call: CallState) -> bool:
    """Whether what the call acts on must be looked at before it starts."""
    return call.approval is not None and call.approval.fingerprint is not None


def _resolution(entry: dict[str, Any]) -> Resolution | None:
    value = entry["resolution"]
    return Resolution.model_validate(value) if value else None
