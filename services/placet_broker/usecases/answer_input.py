"""A person or a service answers: the one way in for REST, the bus, the page and every channel."""

from dataclasses import dataclass
from typing import Any

from placet.domain.answer import Action, reduce
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.errors import Conflict, NotAllowed, PlacetError, Unavailable
from placet.ids import new_id
from placet.process.caller import Caller
from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer, Outbox
from placet_broker.rules import answering, outgoing
from placet_broker.rules.record import Record
from placet_broker.rules.settling import Settlement
from placet_broker.usecases.arrivals import Arrivals

TRIES = 8


@dataclass(frozen=True, slots=True)
class Submission:
    """What was submitted, on which surface, by which credential."""

    input_id: str
    caller: Caller
    channel: str
    action: Action = Action.ACCEPT
    content: Any = None
    named: Person | None = None
    """`from`, where the surface has it."""
    digest: str | None = None
    """Of what was shown."""
    agent: str | None = None
    """The agent or definition that the path names."""
    answer_id: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """The settled interaction, and whether it was this answer that settled it."""

    record: Record
    settled_now: bool


class AnswerInput:
    """B3: the first valid answer settles; the same again is fine; another learns how it ended."""

    def __init__(
        self, interactions: Interactions, outbox: Outbox, metrics: Observer, arrivals: Arrivals
    ) -> None:
        self._interactions = interactions
        self._arrivals = arrivals
        self._outbox = outbox
        self._metrics = metrics

    async def __call__(self, submission: Submission) -> Answered:
        """Settle, durably.

        Raises, in this order of checks:
            NotFound: there is none, or none that the caller may know of.
            NotAllowed: the caller may not answer it; the try is kept with the interaction.
            Invalid: the content does not fit; it stays pending.
            TooLarge: no message could hold the outcome; it stays pending.
            Conflict: `shown_differs`, or `settled` another way; `body["input"]` is the input.
            Unavailable: nothing is certain; the same answer may be sent again.
        """
        try:
            answered = await self._answer(submission)
        except PlacetError as error:
            self._metrics.answered(submission.channel, error.code)
            raise
        self._metrics.answered(submission.channel, "settled" if answered.settled_now else "same")
        return answered

    async def _answer(self, submission: Submission) -> Answered:
        record = await self._find(submission)
        who = await self._who(record, submission)
        outcome = reduce(record.request(), submission.action, submission.content)
        outgoing.check_size(outcome.model_dump_json(), "the answer")
        if submission.digest is not None and submission.digest != record.digest:
            detail = "what was shown is not what is asked; look at it again"
            raise Conflict(detail, code="shown_differs", body={"input": record.as_fragment()})
        settlement = Settlement(
            outcome, submission.channel, by=who, answer_id=submission.answer_id or new_id("ans")
        )
        return await self._settle(record, settlement)

    async def _find(self, submission: Submission) -> Record:
        record = await self._arrivals.get(submission.input_id)
        if record is None or not record.request_json:
            raise answering.unknown(submission.input_id)
        if submission.agent is not None and submission.agent not in record.agents:
            raise answering.unknown(submission.input_id)
        return record

    async def _who(self, record: Record, submission: Submission) -> Person:
        try:
            return answering.answerer(record, submission.caller, submission.named)
        except NotAllowed as error:
            await self._interactions.refuse(record, submission.caller.id, str(error))
            raise

    async def _settle(self, record: Record, settlement: Settlement) -> Answered:
        for _ in range(TRIES):
            if not record.pending:
                return _late(record, settlement)
            settled = await self._interactions.settle(record, settlement)
            if settled is not None:
                crash_point("settle.done")
                self._metrics.ended(settled)
                self._outbox.post(settled)
                return Answered(settled, settled_now=True)
            record = await self._after_miss(record)
        raise Unavailable(f"{record.id} changes all the time; try again")

    async def _after_miss(self, record: Record) -> Record:
        """The record as it is now; expired here if its deadline is why nothing matched."""
        current = await self._interactions.get(record.id) or record
        if current.pending and current.rev == record.rev:
            expired = await self._interactions.expire(current)
            if expired is not None:
                self._metrics.ended(expired)
                self._outbox.post(expired)
                return expired
        return current


def _late(record: Record, settlement: Settlement) -> Answered:
    resolution = record.resolution
    if resolution is None or not resolution.outcome.same_as(settlement.outcome):
        raise _settled(record)
    return Answered(record, settled_now=False)


def _settled(record: Record) -> Conflict:
    return Conflict(
        f"this input has settled already: {told(record)}",
        code="settled",
        body={"input": record.as_fragment()},
    )


def told(record: Record) -> str:
    """How it ended, in a sentence for people."""
    resolution = record.resolution
    if resolution is None:
        return str(record.state)
    outcome: Outcome = resolution.outcome
    how = str(outcome.decision or record.state)
    by = f" by {resolution.by.id}" if resolution.by else ", nobody answered" * (how == "expired")
    return f"{how}{by}, {resolution.at:%Y-%m-%d %H:%M:%S} UTC, through {resolution.channel}"
