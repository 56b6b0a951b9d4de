"""Holding one run: from a claim until it is parked, ended, handed back or lost."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from placet.agents.agent import Agent
from placet.agents.asking_model import ask_model
from placet.agents.context import Asked
from placet.agents.executor import context_for, execute
from placet.agents.judging import judge_call
from placet.clock import Clock
from placet.domain.interaction import InteractionRequest
from placet.domain.resolution import Resolution
from placet.domain.run import Message, RunStatus
from placet.errors import LostLease, ModelError, Unavailable
from placet.ids import new_id
from placet.kernel import Act, CallModel, Ended, Entry, Fail, Finish, Judge, State, Wait, decide
from placet.kernel.asking import Asker, approval, opened, own_ask, review
from placet.kernel.decide import SUPERSEDED
from placet.kernel.journal import (
    InputResolved,
    MessageReceived,
    RunCompleted,
    RunFailed,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from placet.kernel.state import CallState
from placet.kernel.turns import CallOutcome, CallResult
from placet.messages import EventType
from placet.process import logs
from placet.process.backoff import full_jitter, waits
from placet.process.crash import crash_point
from placet_runner.metrics import RunnerMetrics
from placet_runner.ports import Document, Image, Runs, Step
from placet_runner.rules import (
    LONG_TAIL,
    MAX_TRIES,
    close_entry,
    event_entry,
    request_entry,
    supersedable,
    waiting_entry,
)

MODEL_TRIES = 5
MODEL_BACKOFF = (timedelta(seconds=1), timedelta(seconds=30))
Row = Callable[[Image, Step], Awaitable[Image | None]]
Post = Callable[[str, Sequence[Document]], None]

_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Hand:
    """What every holder of one replica shares."""

    runs: Runs
    post: Post
    """Publishes outbox entries that a write has stored."""
    clock: Clock
    metrics: RunnerMetrics
    owner: str
    lease: timedelta


@dataclass(slots=True)
class Holder:
    """One run in the hands of this replica.

    Only facts that happened are in `pending` and `state`; what is proposed (a question, a start,
    the end) is applied once its write has matched.
    """

    hand: Hand
    agent: Agent
    image: Image
    state: State
    op: str
    pending: list[Entry] = field(default_factory=list)
    outbox: list[Document] = field(default_factory=list)
    used_inputs: list[str] = field(default_factory=list)
    used_messages: list[str] = field(default_factory=list)
    tasks: dict[str, asyncio.Task[CallResult | Asked]] = field(default_factory=dict)
    asked: dict[str, InteractionRequest] = field(default_factory=dict)
    """Drafts of questions that tools put, by call, until they are written."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    renewed: float = 0.0
    done: bool = False

    async def work(self) -> None:
        """Hold the run until it is let go. Returns when it is; never raises LostLease."""
        loop = asyncio.ensure_future(self._loop())
        renewing = asyncio.ensure_future(self._keep_renewing())
        try:
            await asyncio.wait({loop, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if not loop.done():
                loop.cancel()
            await loop
        except (LostLease, asyncio.CancelledError):
            _log.info("run_lost", run_id=self.image.id)
        finally:
            renewing.cancel()
            for task in self.tasks.values():
                task.cancel()
            await asyncio.gather(renewing, *self.tasks.values(), return_exceptions=True)

    async def resume(self, resolution: Resolution) -> bool:
        """R9: apply the last answer of a parked run, claim it and write the intents, in one write.

        False: the run has moved since it was read, or it can't be resumed so; nothing was written.
        """
        self._started()
        for entry in self.image.waiting:
            self._resolved(entry["id"], _resolution(entry) or resolution)
        starts: tuple[CallState, ...] = ()
        match decide(self.state, self.agent.facts, max_steps=self.agent.max_steps):
            case Act(ask=(), review=(), start=starts, close=close):
                self._close(close)
            case _:
                pass  # nothing starts in this write; the loop goes on from there
        row: Row = lambda read, step: self.hand.runs.resume(  # noqa: E731
            read, resolution, step, self.hand.owner, self.op
        )
        before = self.hand.clock.monotonic()
        if not await self._commit(row, extra=self._intents(starts)):
            return False
        self.renewed = before
        crash_point("resume.done")
        await self._launch(starts)
        return True

    # --- one move after another ---

    async def _loop(self) -> None:
        poison = Fail("crash_loop", f"the run was taken up {MAX_TRIES} times and got nowhere")
        while not self.done:
            if self.image.document["tries"] > MAX_TRIES:
                await self._end(poison)
                continue
            self._collect()
            self._absorb()
            if self.stopping.is_set() and not self.tasks:
                await self._hand_back()
            elif not await self._mail() and not await self._own_asks():
                await self._move()

    async def _move(self) -> None:
        following = decide(
            self.state, self.agent.facts, running=self.tasks, max_steps=self.agent.max_steps
        )
        match following:
            case Judge(calls):
                for call in calls:
                    self._note(judge_call(self.agent, call))
            case Act() as act:
                await self._act(act)
            case CallModel():
                await self._call_model()
            case Wait():
                await self._wait()
            case Finish() | Fail():
                await self._end(following)
            case Ended():
                self.done = True

    def _started(self) -> None:
        """The first holder writes down what the run goes on with."""
        if self.state.started is None:
            tools = {name: facts.schema_digest for name, facts in self.agent.facts.items()}
            self._note(RunStarted(instructions=self.agent.instructions, tools=tools))
            self._event(EventType.RUN_STARTED, number=0)

    def _collect(self) -> None:
        """Calls that ended since: a result is a fact, a question waits to be written."""
        for call_id in [call_id for call_id, task in self.tasks.items() if task.done()]:
            match self.tasks.pop(call_id).result():
                case Asked(draft=draft):
                    self.asked[call_id] = draft
                case CallResult() as result:
                    self._note(ToolFinished(result=result))
                    self.hand.metrics.called(result.outcome)
        self._started()

    def _absorb(self) -> None:
        """Settled questions of the image, once each (R10 writes them)."""
        for entry in self.image.settled:
            resolution = _resolution(entry)
            if resolution and entry["id"] not in self.used_inputs:
                self._resolved(entry["id"], resolution)

    def _resolved(self, input_id: str, resolution: Resolution) -> None:
        if input_id not in self.used_inputs:
            if not self.used_inputs:
                self._event(EventType.RUN_RESUMED, number=self.state.journaled)
            self._note(InputResolved(input_id=input_id, resolution=resolution))
            self.used_inputs.append(input_id)
            self.hand.metrics.resumed(self.hand.clock.now() - resolution.at)

    # --- messages ---

    def _unread(self) -> list[Message]:
        return [Message(**m) for m in self.image.inbox if m["id"] not in self.used_messages]

    def _overtaken(self) -> bool:
        """Whether a message is there that open questions must not keep waiting."""
        return any(message.mode != "queue" for message in self._unread())

    async def _mail(self) -> bool:
        """Take messages in, or have the questions that they overtake closed (R16). True: look again."""
        unread = self._unread()
        if not unread or self.tasks or self.asked:
            return False
        if not self.state.calls:
            for message in unread:
                self._note(MessageReceived(id=message.id, text=message.text, sender=message.sender))
                self.used_messages.append(message.id)
            return True
        overtaken = supersedable([e for e in self.image.open if e["id"] not in self.used_inputs])
        if not overtaken or not self._overtaken():
            return False
        if self.pending and not await self._commit(self.hand.runs.append):
            return True
        closes = {e["id"]: close_entry(self.image.document, e, "superseded") for e in overtaken}
        await self._let_go(
            lambda image, _: self.hand.runs.supersede(image, closes), sent=list(closes.values())
        )
        return True

    # --- questions and calls ---

    async def _own_asks(self) -> bool:
        """Write the questions that tools put themselves, or close their calls if a message overtook them."""
        if not self.asked:
            return False
        calls = [self.state.calls[call_id] for call_id in self.asked]
        if self._overtaken():
            self.asked.clear()
            self._supersede(calls)
            return True
        now, asker = self.hand.clock.now(), self._asker()
        requests = [own_ask(asker, call, self.asked[call.call.id], now) for call in calls]
        busy = [
            c
            for c in self.state.calls.values()
            if not c.result and not c.open_ask and c not in calls
        ]
        if await self._ask(requests, calls, go_on=bool(busy or self.tasks)):
            self.asked.clear()
        return True

    async def _act(self, act: Act) -> None:
        asking = [*act.ask, *act.review]
        if act.ask and self._overtaken():
            self._supersede(act.ask)
            return
        self._close(act.close)
        now, asker = self.hand.clock.now(), self._asker()
        requests: list[InteractionRequest] = [approval(asker, call, now) for call in act.ask]
        requests += [review(asker, call, now) for call in act.review]
        if act.start or self.tasks:
            await self._start(act.start, requests, asking)
        elif asking:
            await self._ask(requests, asking, go_on=False)

    async def _ask(
        self, requests: Sequence[InteractionRequest], calls: Sequence[CallState], *, go_on: bool
    ) -> bool:
        """R5, or R5b where something goes on meanwhile."""
        runs = self.hand.runs
        extra = [opened(request, call) for request, call in zip(requests, calls, strict=True)]
        asks = [waiting_entry(r, c.call.id) for r, c in zip(requests, calls, strict=True)]
        sent = [request_entry(request) for request in requests]
        if go_on:
            return await self._commit(runs.ask_and_go_on, extra=extra, asks=asks, sent=sent)
        return await self._let_go(runs.ask_and_park, extra=extra, asks=asks, sent=sent)

    async def _start(
        self,
        starts: Sequence[CallState],
        requests: Sequence[InteractionRequest],
        asking: Sequence[CallState],
    ) -> None:
        """The intents, with the questions of the same turn, in one write; then the effects."""
        runs = self.hand.runs
        extra: list[Entry] = [opened(r, c) for r, c in zip(requests, asking, strict=True)]
        extra += self._intents(starts)
        row: Row = runs.append
        if any(call.in_doubt for call in starts):
            row = runs.take_over
        elif requests:
            row = runs.ask_and_go_on
        elif self.used_inputs:
            row = runs.apply_answers
        asks = [waiting_entry(r, c.call.id) for r, c in zip(requests, asking, strict=True)]
        sent = [request_entry(request) for request in requests]
        if await self._commit(row, extra=extra, asks=asks, sent=sent):
            await self._launch(starts)

    def _intents(self, starts: Sequence[CallState]) -> list[Entry]:
        asker = self._asker()
        return [
            ToolStarted(call_id=c.call.id, key=asker.key(c.call.id), attempt=c.attempt + 1)
            for c in starts
        ]

    async def _launch(self, starts: Sequence[CallState]) -> None:
        """Start effects whose intent is stored, while the lease is young by our own clock."""
        while (
            starts
            and self.hand.clock.monotonic() - self.renewed > self.hand.lease.total_seconds() / 2
        ):
            await self._renew()
        asker = self._asker()
        for call in starts:
            crash_point("tool.started")
            self.hand.metrics.started(call)
            running = self._run_tool(call, asker)
            self.tasks[call.call.id] = asyncio.ensure_future(running)

    async def _run_tool(self, call: CallState, asker: Asker) -> CallResult | Asked:
        tool = self.agent.toolbox[call.call.tool]
        with logs.bound_contextvars(run_id=self.image.id, call_id=call.call.id):
            result = await execute(tool, call, context_for(asker, call))
        crash_point("tool.returned")
        return result

    def _close(self, results: Sequence[CallResult]) -> None:
        for result in results:
            self._note(ToolFinished(result=result))
            self.hand.metrics.called(result.outcome)

    def _supersede(self, calls: Sequence[CallState]) -> None:
        """Close calls unasked: the user has sent a message instead."""
        self._close(
            [
                CallResult(
                    call_id=c.call.id,
                    tool=c.call.tool,
                    outcome=CallOutcome.SUPERSEDED,
                    content=SUPERSEDED,
                )
                for c in calls
            ]
        )

    # --- the model, waiting, the end ---

    async def _call_model(self) -> None:
        if self.pending and self.state.steps and not await self._commit(self._finishing()):
            return
        for attempt in range(1, MODEL_TRIES + 1):
            asking = asyncio.ensure_future(ask_model(self.agent, self.state))
            stopping = asyncio.ensure_future(self.stopping.wait())
            try:
                await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not asking.done():
                    return  # a deploy: the model can be asked again by another replica
                self._note(await asking)
                self.hand.metrics.replied("ok")
                return
            except ModelError as error:
                self.hand.metrics.replied("failed")
                if not error.transient or attempt == MODEL_TRIES:
                    await self._end(Fail(error.code, str(error)))
                    return
                _log.warning(
                    "model_failed", run_id=self.image.id, attempt=attempt, reason=str(error)
                )
                await self.hand.clock.sleep(full_jitter(attempt, *MODEL_BACKOFF).total_seconds())
            finally:
                asking.cancel()
                stopping.cancel()

    def _finishing(self) -> Row:
        finished = any(isinstance(entry, ToolFinished) for entry in self.pending)
        return self.hand.runs.finish_call if finished else self.hand.runs.append

    async def _wait(self) -> None:
        if self.tasks:
            if self.pending:
                await self._commit(self._finishing())
            await asyncio.wait(self.tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        elif self.pending or self.used_inputs:
            await self._let_go(self.hand.runs.ask_and_park)
        else:
            await self._let_go(lambda image, step: self.hand.runs.park(image, step.outbox))

    async def _end(self, how: Finish | Fail) -> None:
        entry: Entry
        if isinstance(how, Finish):
            status, kind = RunStatus.COMPLETED, EventType.RUN_COMPLETED
            entry, fields = RunCompleted(text=how.text), {"text": how.text}
            data: dict[str, Any] = {}
        else:
            status, kind = RunStatus.FAILED, EventType.RUN_FAILED
            entry = RunFailed(code=how.code, message=how.message)
            data = {"error": {"code": how.code, "message": how.message}}
            fields = dict(data)
        data["applied"] = list(self.state.applied)
        if status is RunStatus.FAILED:
            data["undelivered"] = [message.id for message in self._unread()]
        event = event_entry(self.image.document, kind, number=0, at=self.hand.clock.now(), **data)
        sent = [event]
        if status is RunStatus.FAILED:
            gone = [e for e in self.image.open if e["id"] not in self.used_inputs]
            sent += [close_entry(self.image.document, e, "cancelled") for e in gone]
        row: Row = lambda image, step: self.hand.runs.end(image, status, step)  # noqa: E731
        if await self._commit(row, extra=[entry], sent=sent, fields=fields, letting_go=True):
            crash_point("end.done")
            self.done = True
            self.hand.metrics.ended(status)

    async def _hand_back(self) -> None:
        if self.pending and not await self._commit(self._finishing()):
            return
        image = await self.hand.runs.hand_back(self.image)
        if image:
            self.hand.post(image.id, image.document["outbox"])
        self.done = True

    # --- writing ---

    async def _let_go(self, row: Row, **parts: Any) -> bool:
        """A write that gives the lease back, with the event that says so."""
        document, number = self.image.document, self.state.journaled
        event = event_entry(
            document, EventType.RUN_SUSPENDED, number=number, at=self.hand.clock.now()
        )
        self.done = await self._commit(
            row, **{**parts, "sent": [*parts.get("sent", ()), event]}, letting_go=True
        )
        return self.done

    async def _commit(
        self,
        row: Row,
        *,
        extra: Sequence[Entry] = (),
        asks: Sequence[Document] = (),
        sent: Sequence[Document] = (),
        fields: dict[str, Any] | None = None,
        letting_go: bool = False,
    ) -> bool:
        """One write: the facts so far and what is proposed. False: something arrived first; look again.

        Raises LostLease when the run is not ours any more.
        """
        now, write = self.hand.clock.now(), new_id("op")
        entries = [e.model_copy(update={"at": now, "op": write}) for e in (*self.pending, *extra)]
        outbox = [*self.outbox, *sent]
        step = Step(
            entries=entries,
            asks=asks,
            used_inputs=self.used_inputs,
            used_messages=self.used_messages,
            outbox=outbox,
            fields={"steps": self.state.steps} | (fields or {}),
        )
        if asks:
            crash_point("ask.writing")
        image = await self._write(row, step, write)
        if image is None:
            return await self._missed()
        if image.lease_op != self.op and not letting_go:
            raise LostLease(f"{self.image.id} was taken over or aborted right after a write")
        for entry in extra:
            self.state.apply(entry)
        self.pending, self.outbox, self.used_inputs, self.used_messages = [], [], [], []
        crash_point("journal.inserted")
        self.hand.post(image.id, outbox)
        self.image = image
        await self._trim()
        return True

    async def _write(self, row: Row, step: Step, write: str) -> Image | None:
        """Write until it is known whether the write matched; while the database is away, wait."""
        in_doubt = False
        for wait in waits(timedelta(seconds=0.2), timedelta(seconds=5)):
            try:
                image = await row(self.image, step)
                if image is not None or not in_doubt:
                    return image
                read = await self.hand.runs.get(self.image.id)
                tail = read.document["journal"] if read else []
                return read if tail and tail[-1].get("op") == write else None
            except Unavailable as error:
                in_doubt = True
                _log.warning("write_waits", run_id=self.image.id, reason=str(error))
                await self.hand.clock.sleep(wait)
        raise AssertionError

    async def _missed(self) -> bool:
        """R6: something was written that we have not looked at; or the run is lost."""
        if self.image.lease_op != self.op:
            return False  # R9 on a run that has moved: nothing is held
        image = await self.hand.runs.take(self.image)
        if image is None or image.lease_op != self.op or image.seq != self.image.seq:
            raise LostLease(f"{self.image.id} is held by another, or was aborted")
        self.image = image
        return False

    async def _trim(self) -> None:
        if len(self.image.document["journal"]) > LONG_TAIL and self.image.lease_op == self.op:
            self.image = await self.hand.runs.store_chunk(self.image) or self.image

    async def _keep_renewing(self) -> None:
        while True:
            await self.hand.clock.sleep(self.hand.lease.total_seconds() / 3)
            await self._renew()

    async def _renew(self) -> None:
        before = self.hand.clock.monotonic()
        try:
            renewed = await self.hand.runs.renew(self.image)
        except Unavailable as error:
            _log.warning("renewal_waits", run_id=self.image.id, reason=str(error))
            return
        if renewed is None and not self.done:
            raise LostLease(self.image.id)
        self.renewed = before

    def _note(self, entry: Entry) -> None:
        self.state.apply(entry)
        self.pending.append(entry)

    def _event(self, kind: EventType, *, number: int) -> None:
        self.outbox.append(
            event_entry(self.image.document, kind, number=number, at=self.hand.clock.now())
        )

    def _asker(self) -> Asker:
        """The run as it asks: for whoever spoke last."""
        document = self.image.document
        heard = [turn for turn in (*self.state.turns, *self.state.unread) if turn.role == "user"]
        last = heard[-1] if heard else None
        return Asker(
            agent_id=document["agent_id"],
            agent=document["agent"],
            run_id=document["_id"],
            root_run_id=document["root_run_id"],
            namespace=document["namespace"],
            path=tuple(document["path"]),
            initiator=(last.sender if last else None) or document["initiator"],
            approvers=self.agent.human_input.approvers,
            user_message=last.text if last else "",
            expires_in=timedelta(seconds=self.agent.human_input.expires_in_seconds),
        )


def _resolution(entry: Document) -> Resolution | None:
    value = entry["resolution"]
    return Resolution.model_validate(value) if value else None
