"""How an interaction ends: what is written when a person, the clock or the run settles it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from placet import audit
from placet.domain.audience import Audience
from placet.domain.expiry import outcome_of_expiry
from placet.domain.interaction import InputState
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.messages import Close
from placet_broker.rules import outgoing
from placet_broker.rules.record import RUNNER, Link, Record, Vote


@dataclass(frozen=True, slots=True)
class Settlement:
    """One way to end an interaction; the database adds when."""

    outcome: Outcome
    channel: str
    by: Person | None = None
    """None: nobody decided."""
    answer_id: str = ""
    on_behalf_of: str | None = None
    """In whose place, as a delegate."""
    votes: tuple[Vote, ...] = ()
    """What it took, where one yes is not enough; the last is this one."""
    links: tuple[Link, ...] = ()
    """The input's links, where it came through one of them."""

    @property
    def state(self) -> InputState:
        """The state it leads to."""
        return self.outcome.state


def expiry(record: Record) -> Settlement:
    """Nobody answered in time. It has no decider and is nobody's refusal.

    Its content is the answer that the asker declared for this case, if it did.
    """
    return Settlement(outcome_of_expiry(record.request()), channel="timer")


def closing(reason: str, because: str | None = None) -> Settlement:
    """The asker no longer asks: superseded, withdrawn or cancelled."""
    return Settlement(Outcome(state=InputState(reason), reason=because), channel="run")


def told(record: Record) -> str:
    """How it ended, in a sentence for people."""
    resolution = record.resolution
    if resolution is None:
        return str(record.state)
    how = str(resolution.outcome.decision or record.state)
    by = f" by {resolution.by.id}" if resolution.by else ", nobody answered" * (how == "expired")
    return f"{how}{by}, {resolution.at:%Y-%m-%d %H:%M:%S} UTC, through {resolution.channel}"


def noted(record: Record, settlement: Settlement, at: datetime) -> dict[str, Any]:
    """The history entry of a settlement; of the answer it holds a digest."""
    return audit.entry(
        record.head,
        "settled",
        at,
        by=settlement.by.id if settlement.by else None,
        state=str(settlement.state),
        channel=settlement.channel,
        outcome=_digest(settlement.outcome),
        answer_id=settlement.answer_id,
        on_behalf_of=settlement.on_behalf_of,
        voters=",".join(vote.by for vote in settlement.votes) or None,
        shown=record.shown_digest,
    )


def noted_vote(record: Record, vote: Vote, at: datetime, voided: int) -> dict[str, Any]:
    """The history entry of a vote that does not decide it."""
    return audit.entry(
        record.head,
        "voted",
        at,
        by=vote.by,
        on_behalf_of=vote.on_behalf_of,
        channel=vote.channel,
        outcome=_digest(vote.outcome),
        answer_id=vote.answer_id,
        voided=str(voided) if voided else None,
        shown=record.shown_digest,
    )


def _digest(outcome: Outcome) -> str:
    return audit.digest(outcome.model_dump_json())


def tombstone(close: Close, now: datetime) -> Record:
    """The record of a question that was closed before it arrived: it is never put to anybody."""
    settlement = closing(close.reason, close.because)
    resolution = Resolution(
        input_id=close.input_id,
        namespace=close.namespace,
        run_id=close.run_id,
        digest=close.digest,
        outcome=settlement.outcome,
        at=now,
        channel=settlement.channel,
    )
    first = audit.entry("", "closed unseen", now, by=RUNNER, state=close.reason)
    return Record(
        id=close.input_id,
        namespace=close.namespace,
        kind="",
        state=settlement.state,
        rev=0,
        digest=close.digest,
        publisher=RUNNER,
        run_id=close.run_id,
        root_run_id=close.run_id,
        audience=Audience(),
        opened_at=now,
        expires_at=None,
        request_json="",
        resolution=resolution,
        address=None,
        agents=(),
        applied=False,
        outbox=(outgoing.closed_unseen(close.input_id),),
        history=(first,),
    )
