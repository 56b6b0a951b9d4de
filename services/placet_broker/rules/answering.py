"""Who may see an interaction, and who may answer it as whom."""

from collections.abc import Iterable
from dataclasses import dataclass

from placet.domain.interaction import Kind
from placet.domain.naming import RULE, names
from placet.domain.person import Person
from placet.domain.standing import SERVICE, Standing
from placet.errors import FieldError, Invalid, NotAllowed, NotFound
from placet.process.caller import Caller, Scope
from placet_broker.rules.record import Record

LINKED = "link:"
"""How the credential begins of somebody who showed the code of a one-time link."""
OWN_REQUEST = "a requester never answers its own request"
REVIEWERS = f"a review is answered with the scope {Scope.REVIEWS_ANSWER} or by its approvers"


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who answers, and in whose place."""

    standing: Standing
    seat: str
    """The id of whoever the audience names: themselves, or somebody whose delegate they are."""

    @property
    def person(self) -> Person:
        """As who acted."""
        return Person(id=self.standing.id)

    @property
    def on_behalf_of(self) -> str | None:
        """Whose delegate they act as; None: their own."""
        return None if self.seat == self.standing.id else self.seat


def unknown(id: str) -> NotFound:
    """What everybody hears who may not know more."""
    return NotFound(f"there is no input {id}")


def may_read(record: Record, caller: Caller) -> bool:
    """Whether the caller may see this interaction, whoever is named in it."""
    if record.namespace != caller.namespace or not record.request_json:
        return False
    return caller.may(Scope.INPUTS_READ) or caller.id == record.publisher


def for_others(caller: Caller) -> bool:
    """Whether this credential says for whom it answers."""
    return not caller.is_person and caller.may(Scope.ANSWER_AS)


def lacking(record: Record, caller: Caller) -> str | None:
    """Why this credential answers nothing here, whoever is named with it; None if it may."""
    if caller.id == record.publisher:
        return OWN_REQUEST
    if caller.may(Scope.INPUTS_ANSWER):
        return None
    if record.kind == Kind.REVIEW:
        return None if caller.may(Scope.REVIEWS_ANSWER) else REVIEWERS
    return f"this credential lacks the scope {Scope.INPUTS_ANSWER}"


def claimed_id(record: Record, caller: Caller, named: Person | None) -> str:
    """Who is said to answer: by credential; of `named` only the id is kept.

    Nobody has verified the name that comes with an id, so it goes no further: what is kept is
    shown to people and told to the model as who decided.

    Raises:
        NotAllowed: the credential answers as itself, and `named` is somebody else; or `named` is
            another service, which has a credential of its own.
        Invalid: a key with `answer:as` does not say who answers where the input names who may, or
            names an id that can't be one.
    """
    if not for_others(caller):
        if named is not None and named.id != caller.id:
            raise NotAllowed(f"this credential answers as {caller.id}, not as {named.id}")
        return caller.id
    if named is not None:
        if named.id.startswith(SERVICE) and named.id != caller.id:
            raise NotAllowed(
                f"{named.id} answers with a credential of its own; nobody else does for it"
            )
        return _fit(named.id)
    if record.audience.names_somebody:
        detail = "this input names who may answer it: say who answers"
        raise Invalid(detail, [FieldError("/from", detail)])
    return caller.id


def is_plain(record: Record, caller: Caller, id: str) -> bool:
    """Whether nothing needs to be known of this id: one yes is enough, and it is named, or nobody is.

    A person's own key or session is worthless once they are disabled; where others say that it is
    them, that is not known yet.
    """
    proved = caller.id == id and not caller.credential.startswith(LINKED)
    if record.policy.strict or not (proved if ":" not in id else id.startswith(SERVICE)):
        return False
    audience = record.audience
    if record.kind == Kind.REVIEW:
        return id in audience.approvers or caller.may(Scope.REVIEWS_ANSWER)
    return not audience.names_somebody or audience.admits({id})


def refusal(record: Record, caller: Caller, who: Standing) -> str | None:
    """Why they answer nothing here with this credential, which lacks nothing; None if they may."""
    if who.id == record.publisher:
        return OWN_REQUEST
    if record.kind != Kind.REVIEW or caller.may(Scope.REVIEWS_ANSWER):
        return None
    named = set(record.audience.approvers)
    return None if any(seat.names & named for seat in who.seats()) else REVIEWERS


def seat_for(record: Record, caller: Caller, who: Standing) -> str | None:
    """Whose place among those named they take, their own first; None: nobody's."""
    if record.kind == Kind.REVIEW and caller.may(Scope.REVIEWS_ANSWER):
        return who.id
    return _seat(record, who)


def _seat(record: Record, who: Standing) -> str | None:
    if not record.audience.names_somebody:
        return who.id
    # In the place of who asked nobody answers: it would be their own answer.
    seats = (seat for seat in who.seats() if seat.id != record.publisher)
    return next((seat.id for seat in seats if record.audience.admits(seat.names)), None)


def check_may_approve(record: Record, answerer: Answerer, authors: Iterable[Standing]) -> None:
    """Whether their yes counts where it matters which person it is. Raises NotAllowed.

    `authors` are those who asked for the work, or told the run something.
    """
    who = answerer.standing
    if not record.policy.strict:
        return
    if not who.is_person:
        raise NotAllowed(
            f"this takes the yes of people who are known: {who.id} is no person, nor linked to one"
        )
    for author in authors:
        _check_other(record, answerer, author)


def _check_other(record: Record, answerer: Answerer, initiator: Standing) -> None:
    who = answerer.standing
    if record.policy.exclude_initiator and who.id == initiator.id:
        raise NotAllowed(
            f"{who.id} started this and can't approve it (four eyes); they may refuse it",
            code="self_approval",
        )
    if any(principal.id == initiator.id for principal in who.principals):
        raise NotAllowed(
            f"{who.id} stands in for {initiator.id}, who started this, and can't approve it",
            code="self_approval",
        )


def seat_now(record: Record, voter: Standing, authors: Iterable[Standing]) -> str | None:
    """Where the vote of this person counts as things are now; None: nowhere any more.

    Groups, links and delegations change, so it may be another place than the one they voted in.
    """
    seat = _seat(record, voter)
    if seat is None:
        return None
    try:
        check_may_approve(record, Answerer(voter, seat), authors)
    except NotAllowed:
        return None
    return seat


def _fit(id: str) -> str:
    if not names(id):
        detail = f"an id {RULE}"
        raise Invalid(f"from: {detail}", [FieldError("/from", detail)])
    return id
