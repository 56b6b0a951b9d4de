"""An answer before it is written: what was submitted, and every check that it must pass."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from placet.domain.answer import Action, reduce
from placet.domain.form import sealed_names
from placet.domain.interaction import FormRequest, InteractionRequest
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.errors import Conflict, Invalid, NotAllowed, NotFound
from placet.ids import new_id
from placet.process.caller import Caller
from placet.sealing import PROCESS_MARKS
from placet_broker.ports import Interactions
from placet_broker.rules import answering, linking, outgoing, voting
from placet_broker.rules.answering import Answerer
from placet_broker.rules.record import Record, Vote
from placet_broker.rules.settling import Settlement, told
from placet_broker.rules.voting import Ballot
from placet_broker.usecases.arrivals import Arrivals
from placet_broker.usecases.people import Known, People

_NOT_OVER_THE_BUS = (
    "sealed fields do not pass through queues; answer this form over REST or on the page"
)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What an answer needs to know, where it was read before its credential had been looked up."""

    record: Record | None = None
    stood: bool = False
    """Whether the question was, when this began to be read, as it is here."""
    known: Known | None = None
    """Whom it is given for."""

    def knowing(self, known: Known | None) -> "Ahead":
        """The same, with who they are who answer, as it was read at the same time.

        That counts only if the question was by then as it is now: otherwise they might answer one that
        at no moment was for them.
        """
        return replace(self, known=known if self.stood else None)


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
    link: str | None = None
    """The id of the one-time link that it came through."""
    ahead: Ahead = Ahead()
    """What of it was read a moment ago."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The interaction after an answer, and whether it was this answer that settled it, or was a new vote."""

    record: Record
    settled_now: bool
    """Whether this answer changed it; it may be pending still, where more people are needed."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer that passed every check: what it amounts to, and who gave it."""

    outcome: Outcome
    answerer: Answerer
    channel: str
    answer_id: str
    link: str | None = None

    @property
    def settlement(self) -> Settlement:
        """How it ends if this answer decides it alone."""
        return Settlement(
            self.outcome,
            self.channel,
            by=self.answerer.person,
            on_behalf_of=self.answerer.on_behalf_of,
            answer_id=self.answer_id,
        )

    def vote(self, at: datetime) -> Vote:
        """The same as one of several."""
        who = self.answerer
        return Vote(who.standing.id, who.seat, self.outcome, at, self.channel, self.answer_id)


class Checks:
    """Who may answer what; a refused try is kept with the interaction."""

    def __init__(self, interactions: Interactions, arrivals: Arrivals, people: People) -> None:
        self._interactions = interactions
        self._arrivals = arrivals
        self.people = people
        self.marks = PROCESS_MARKS
        """Tells sealed answers apart; the same on every replica once the broker has started."""

    async def find(
        self, input_id: str, agent: str | None = None, ahead: Record | None = None
    ) -> Record:
        """The interaction, one of this agent's if the path names one. Raises NotFound.

        `ahead` is what was read a moment ago; whatever it decides is written only if it is so still.
        """
        record = ahead or await self._arrivals.get(input_id)
        if record is None or not record.request_json:
            raise answering.unknown(input_id)
        if agent is not None and agent not in record.agents:
            raise answering.unknown(input_id)
        return record

    async def who(
        self, record: Record, caller: Caller, named: Person | None, known: Known | None = None
    ) -> Answerer:
        """Who answers. Raises NotFound, NotAllowed, Invalid; a refusal is kept."""
        try:
            return await self.people.answerer(record, caller, named, known)
        except (NotAllowed, NotFound) as error:
            await self._refused(record, caller, error)
            raise

    async def known(self, record: Record, caller: Caller) -> Record:
        """The same interaction. Raises NotFound where the caller may not know of it; that is kept."""
        if not await self.people.may_know(record, caller):
            error = answering.unknown(record.id)
            await self._refused(record, caller, error)
            raise error
        return record

    async def said(self, record: Record, submission: Submission, who: Answerer) -> Said:
        """What the answer amounts to.

        Raises:
            Invalid: the content does not fit.
            NotAllowed: a yes of somebody whose yes does not count here.
            TooLarge: no message, or not the run that asks, could hold the outcome.
            Conflict: `shown_differs`: another question was shown than the one that is asked.
        """
        request = record.request()
        if submission.channel == "bus" and takes_secrets(request):
            raise Invalid(_NOT_OVER_THE_BUS)
        outcome = reduce(request, submission.action, submission.content, marks=self.marks)
        outgoing.check_size(
            outcome.model_dump_json(), "the answer", outgoing.longest_answer(record)
        )
        if voting.is_yes(record, outcome):
            try:
                await self.people.check_may_approve(record, who)
            except NotAllowed as error:
                await self._refused(record, submission.caller, error)
                raise
        outcome = _as_shown(record, submission, outcome)
        answer_id = submission.answer_id or new_id("ans")
        return Said(outcome, who, submission.channel, answer_id, submission.link)

    async def decide(self, record: Record, said: Said, now: datetime) -> Settlement | Ballot | None:
        """What an answer does to a pending interaction: ends it, or is one vote of several.

        None: this very vote stands already. Raises Conflict for one through a link that is dead by now.
        """
        links = linking.used(record.links, said.link, now)
        if record.policy.quorum == 1 or not voting.is_yes(record, said.outcome):
            _check_link(record, said, now)
            return replace(said.settlement, links=links if said.link else ())
        vote = said.vote(now)
        standing = await self.people.standing_votes(record)
        if voting.is_repeated(standing, vote):
            return None
        _check_link(record, said, now)
        votes = voting.with_vote(standing, vote)
        decided = voting.decided(record, votes)
        if decided is not None:
            return replace(decided, links=links if said.link else ())
        record.check_room(vote.by)
        return Ballot(votes, voided=len(record.votes) + 1 - len(votes), links=links)

    async def keep_refused(self, record: Record, who: Caller | str, why: str) -> None:
        """Keep a refused try, with who tried: of another namespace, that is said."""
        if isinstance(who, Caller):
            foreign = who.namespace != record.namespace
            who = f"{who.id} of {who.namespace}" if foreign else who.id
        await self._interactions.refuse(record, who, why)

    async def _refused(self, record: Record, caller: Caller, error: Exception) -> None:
        why = "may neither read nor answer it" if isinstance(error, NotFound) else str(error)
        await self.keep_refused(record, caller, why)


def _as_shown(record: Record, submission: Submission, outcome: Outcome) -> Outcome:
    """The outcome, of what was shown. Raises Conflict if that is not what is asked.

    Once an approver has changed arguments, a bare yes may mean either call: it must say which, by its
    arguments or by the digest of what was shown, and is then a yes to those arguments.
    """
    proposed = record.proposed_args
    bare = proposed is not None and voting.is_yes(record, outcome) and not _names_args(submission)
    if submission.digest not in (None, record.shown_digest) or (bare and submission.digest is None):
        detail = "what was shown is not what is asked; look at it again"
        raise Conflict(detail, code="shown_differs", body={"input": record.as_fragment()})
    return outcome.model_copy(update={"args": proposed}) if bare else outcome


def _check_link(record: Record, said: Said, now: datetime) -> None:
    """Whether the link that it came through is still good, as the write's own read has it."""
    if said.link is not None:
        linking.check_alive(record, linking.named(record, said.link), now)


def _names_args(submission: Submission) -> bool:
    content = submission.content
    return isinstance(content, dict) and content.get("args") is not None


def takes_secrets(request: InteractionRequest) -> bool:
    """Whether an answer to it may hold what nobody but the tool may read."""
    return isinstance(request, FormRequest) and bool(sealed_names(request.form))


def fits_what_stands(record: Record, said: Said) -> bool:
    """Whether a settled interaction ended just as this answer would have it."""
    resolution = record.resolution
    if resolution is None:
        return False
    own = next((v for v in record.votes if v.by == said.answerer.standing.id), None)
    return resolution.outcome.same_as(said.outcome) or (
        own is not None and own.outcome.same_as(said.outcome)
    )


def settled_otherwise(record: Record) -> Conflict:
    """The error for an answer that came too late."""
    return Conflict(
        f"this input has settled already: {told(record)}",
        code="settled",
        body={"input": record.as_fragment()},
    )
