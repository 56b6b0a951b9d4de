"""Who may see an interaction, and who may answer it as whom."""

from placet.domain.interaction import Kind
from placet.domain.naming import RULE, names
from placet.domain.person import Person
from placet.errors import FieldError, Invalid, NotAllowed, NotFound
from placet.process.caller import Caller, Scope
from placet_broker.rules.record import Record


def unknown(id: str) -> NotFound:
    """What everybody hears who may not know more."""
    return NotFound(f"there is no input {id}")


def may_read(record: Record, caller: Caller) -> bool:
    """Whether the caller may see this interaction."""
    if record.namespace != caller.namespace or not record.request_json:
        return False
    return caller.may(Scope.INPUTS_READ) or caller.id == record.publisher


def answerer(record: Record, caller: Caller, named: Person | None) -> Person:
    """The person (or `service:NAME`) who answers, by credential; of `named` only the id is kept.

    Nobody has verified the name that comes with an id, so it goes no further: what is kept is
    shown to people and told to the model as who decided.

    Raises:
        NotFound: the caller can neither read nor answer it.
        NotAllowed: the caller may not answer it, or not as `named`.
        Invalid: a key with `answer:as` does not say who answers where the input names who may, or
            names an id that can't be one.
    """
    refusal = _refusal(record, caller)
    if not may_read(record, caller) and not _may_answer(record, caller, refusal):
        raise unknown(record.id)
    if refusal is not None:
        raise NotAllowed(refusal)
    who = _who(record, caller, named)
    if who.id == record.publisher:
        raise NotAllowed("a requester never answers its own request")
    if not _admits(record, caller, who.id):
        raise NotAllowed(f"{who.id} is not among those who may answer this input")
    return who


def _may_answer(record: Record, caller: Caller, refusal: str | None) -> bool:
    """Whether the caller can answer it at all, as whomever."""
    if refusal is not None or record.namespace != caller.namespace:
        return False
    return _for_others(caller) or _admits(record, caller, caller.id)


def _for_others(caller: Caller) -> bool:
    return not caller.is_person and caller.may(Scope.ANSWER_AS)


def _refusal(record: Record, caller: Caller) -> str | None:
    if record.kind == Kind.REVIEW:
        named = caller.may(Scope.INPUTS_ANSWER) and caller.id in record.audience.approvers
        if not named and not caller.may(Scope.REVIEWS_ANSWER):
            return f"a review is answered with the scope {Scope.REVIEWS_ANSWER} or by its approvers"
    elif not caller.may(Scope.INPUTS_ANSWER):
        return f"this credential lacks the scope {Scope.INPUTS_ANSWER}"
    if caller.id == record.publisher:
        return "a requester never answers its own request"
    return None


def _who(record: Record, caller: Caller, named: Person | None) -> Person:
    if not _for_others(caller):
        if named is not None and named.id != caller.id:
            raise NotAllowed(f"this credential answers as {caller.id}, not as {named.id}")
        return Person(id=caller.id)
    if named is not None:
        return Person(id=_readable(named.id))
    if record.audience.names_somebody:
        detail = "this input names who may answer it: say who answers"
        raise Invalid(detail, [FieldError("/from", detail)])
    return Person(id=caller.id)


def _readable(id: str) -> str:
    if not names(id):
        detail = f"an id {RULE}"
        raise Invalid(f"from: {detail}", [FieldError("/from", detail)])
    return id


def _admits(record: Record, caller: Caller, who: str) -> bool:
    if record.kind == Kind.REVIEW and caller.may(Scope.REVIEWS_ANSWER):
        return True
    return not record.audience.names_somebody or record.audience.admits({who})
