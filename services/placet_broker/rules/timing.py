"""What time does to a question: reminders, escalation, the deadline. Nothing here approves."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from placet.domain.audience import EscalationStep
from placet_broker.rules.record import Record


@dataclass(frozen=True, slots=True)
class Reminder:
    """Those who may answer are told again."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Climb:
    """The next escalation step is taken, by its time or because the deadline passed."""

    at: datetime
    step: EscalationStep
    expires_at: datetime | None
    """The deadline from then on."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """Nobody answered: the deadline passed, or a step says that it ends."""

    at: datetime


Turn = Reminder | Climb | Expiry


def next_turn(record: Record) -> Turn | None:
    """What time does next to a question that is pending, and when; None: it waits for ever."""
    return min(_turns(record), key=lambda turn: turn.at, default=None)


def next_at(record: Record) -> datetime | None:
    """When the clockwork must look at it next."""
    turn = next_turn(record)
    return turn.at if turn is not None else None


def reminders_by(record: Record, now: datetime) -> int:
    """How many reminders are due by then, at least one more than were given: missed ones are one."""
    past = sum(_since(record, seconds) <= now for seconds in record.policy.reminders)
    return max(record.reminded + 1, past)


def _turns(record: Record) -> Iterator[Turn]:
    """Where two come at once the first counts: an end before anything that only tells."""
    policy, steps = record.policy, record.policy.escalation[record.climbed :]
    if record.expires_at is not None:
        yield _at_deadline(record, record.expires_at)
    if steps and steps[0].after_seconds is not None:
        at = _since(record, steps[0].after_seconds)
        yield Expiry(at) if steps[0].deny else Climb(at, steps[0], record.expires_at)
    if record.reminded < len(policy.reminders):
        yield Reminder(_since(record, policy.reminders[record.reminded]))


def _since(record: Record, seconds: int) -> datetime:
    return record.opened_at + timedelta(seconds=seconds)


def _at_deadline(record: Record, passed: datetime) -> Turn:
    """It ends there, unless it escalates and a step is left: that has as long again."""
    steps = record.policy.escalation[record.climbed :]
    if record.life is None or not steps or steps[0].deny:
        return Expiry(passed)
    return Climb(passed, steps[0], passed + record.life)
