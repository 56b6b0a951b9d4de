"""Several people's yes: what a vote is, which of them stand together, and what they amount to."""

from collections.abc import Sequence
from dataclasses import dataclass

from placet.domain.answerable import YES_OR_NO
from placet.domain.digest import same_json
from placet.domain.interaction import ApprovalDecision, InputState
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet_broker.rules.record import Link, Record, Vote
from placet_broker.rules.settling import Settlement

_WIDTH = ("once", "stage", "run")


@dataclass(frozen=True, slots=True)
class Ballot:
    """The votes as they stand with a new one, which did not decide it: the last of them."""

    votes: tuple[Vote, ...]
    voided: int = 0
    """How many earlier ones do not count any more."""
    links: tuple[Link, ...] = ()
    """The input's links; one that it came through is used up."""

    @property
    def latest(self) -> Vote:
        """The new one."""
        return self.votes[-1]


def is_yes(record: Record, outcome: Outcome) -> bool:
    """Whether this outcome consents to what is asked."""
    if record.kind not in YES_OR_NO or outcome.state is not InputState.ANSWERED:
        return False
    return outcome.decision in (None, ApprovalDecision.APPROVED)


def with_vote(votes: Sequence[Vote], vote: Vote) -> tuple[Vote, ...]:
    """The votes that stand with this one, last: no person and no seat twice, all for the same arguments.

    A vote for other arguments voids the earlier ones: they were for something else.
    """
    kept = (
        each
        for each in votes
        # Whoever stood in for this person, or is stood in for by them, is the same yes.
        if not {each.by, each.seat} & {vote.by, vote.seat}
        and same_json(each.outcome.args, vote.outcome.args)
    )
    return (*kept, vote)


def is_repeated(votes: Sequence[Vote], vote: Vote) -> bool:
    """Whether this very vote stands already: the same person, for the same."""
    return any(each.by == vote.by and each.outcome.same_as(vote.outcome) for each in votes)


def decided(record: Record, votes: Sequence[Vote]) -> Settlement | None:
    """How it ends if these votes are enough; None while more are needed."""
    if len(votes) < record.policy.quorum:
        return None
    last = votes[-1]
    return Settlement(
        _together([vote.outcome for vote in votes]),
        last.channel,
        by=Person(id=last.by),
        on_behalf_of=last.on_behalf_of,
        answer_id=last.answer_id,
        votes=tuple(votes),
    )


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome of several yeses: the narrowest of what each allows."""
    last = outcomes[-1]
    if last.scope is None:
        return last
    scope = min((each.scope or "once" for each in outcomes), key=_WIDTH.index)
    grants = [each.grant for each in outcomes]
    # Nothing said is what the prompt offered; only when all said `named` is it that.
    grant = "exact" if "exact" in grants else (grants[0] if len(set(grants)) == 1 else None)
    reason = next((each.reason for each in reversed(outcomes) if each.reason), None)
    trust = all(each.trust for each in outcomes)
    return last.model_copy(
        update={"scope": scope, "grant": grant, "reason": reason, "trust": trust}
    )
