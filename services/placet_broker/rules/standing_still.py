"""How deadlines stand still: the time under a freeze does not count."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from placet.domain.freeze import Freeze
from placet.domain.interaction import ApprovalRequest, ReviewRequest
from placet.gate.freezing import covers
from placet_broker.rules.record import Record

BREATH = timedelta(seconds=5)
"""What is left at least of a deadline that is moved while it stands still: time to write an answer."""
_MOVED = ("extended", "frozen")
"""History entries after which a deadline is what was said then."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a deadline is now."""

    at: datetime
    """As it would be if time went on from now."""
    still: bool
    """Whether it stands still now."""
    now: datetime
    """When that was so."""


def standing(
    expires_at: datetime, since: datetime, freezes: Iterable[Freeze], now: datetime
) -> Standing:
    """A deadline with the time added under any of these freezes; time under two counts once.

    What was frozen before `since` is in `expires_at` already. A freeze that began only after the
    deadline had passed saves nothing.
    """
    at, counted, still = expires_at, since, False
    for freeze in sorted(freezes, key=lambda each: each.at):
        begins, ends = max(freeze.at, counted), min(freeze.lifted_at or now, now)
        if begins > at:
            break
        if ends > begins:
            at, counted = at + (ends - begins), ends
        still = still or freeze.active
    return Standing(at, still, now)


def since(record: Record) -> datetime:
    """From when on frozen time is not in the deadline yet."""
    moved = [e for e in record.history if e["what"] in _MOVED or e.get("extended_to")]
    return datetime.fromisoformat(moved[-1]["at"]) if moved else record.opened_at


def covering(record: Record, freezes: Iterable[Freeze]) -> list[Freeze]:
    """The freezes that cover what a run asks. What another service asks is none of a runner's calls."""
    if not record.from_runner:
        return []
    request = record.request()
    tool = request.call.tool if isinstance(request, ApprovalRequest | ReviewRequest) else None
    agents = frozenset(record.agents)
    return [each for each in freezes if covers(each, record.namespace, agents, tool)]
