"""Other people, or more urgent: what an escalation step or an operator makes of a question."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from placet import audit
from placet.audit import Entry
from placet.domain.audience import Audience
from placet_broker.rules.record import Record, Vote
from placet_broker.rules.timing import Climb


def climbed(record: Record, turn: Climb) -> Record:
    """The record after an escalation step: more people, more urgent, another deadline."""
    after = replace(
        record,
        climbed=record.climbed + 1,
        priority=record.priority.raised_to(turn.step.priority),
        expires_at=turn.expires_at,
    )
    # Where nobody is named anybody may answer: to name somebody would be to exclude the others.
    added = turn.step.add if record.audience.names_somebody else ()
    return _asking(after, record.audience.with_approvers(added))


def with_audience(
    record: Record, add: Iterable[str], remove: Collection[str], votes: Iterable[Vote]
) -> Record:
    """The record with other approvers, and with those votes that still count."""
    after = replace(record, votes=tuple(votes))
    return _asking(after, record.audience.with_approvers(add, remove))


def noted(record: Record, after: Record, at: datetime) -> Entry:
    """The history entry of an escalation step."""
    step = record.policy.escalation[record.climbed]
    moved = after.expires_at if after.expires_at != record.expires_at else None
    return audit.entry(
        record.head,
        "escalated",
        at,
        number=str(after.climbed),
        added=",".join(step.add) or None,
        notify=",".join(step.notify) or None,
        priority=str(after.priority),
        extended_to=moved.isoformat() if moved else None,
        request=audit.digest(after.request_json),
    )


def edited(record: Record, after: Record, at: datetime, by: str) -> Entry:
    """The history entry of an audience that an operator edited."""
    return audit.entry(
        record.head,
        "audience edited",
        at,
        by=by,
        was=",".join(record.audience.approvers),
        approvers=",".join(after.audience.approvers),
        voided=str(len(record.votes) - len(after.votes)),
        request=audit.digest(after.request_json),
    )


def _asking(after: Record, audience: Audience) -> Record:
    """With this audience, and all of it in the request as people see it; the digest covers none of it."""
    changes = {
        "audience": audience,
        "priority": after.priority,
        "expires_at": after.expires_at,
    }
    request_json = after.request().model_copy(update=changes).model_dump_json()
    return replace(after, audience=audience, request_json=request_json)
