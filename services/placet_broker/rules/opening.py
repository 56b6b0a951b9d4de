"""What a request must be before it becomes an interaction, and the record it opens as."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from placet import audit
from placet.domain.answerable import check_policy
from placet.domain.audience import MOST_NAMES
from placet.domain.expiry import check_on_expiry
from placet.domain.interaction import ApprovalRequest, InputState, InteractionRequest, ReviewRequest
from placet.domain.naming import RULE, names
from placet.errors import NotAllowed
from placet.ids import derived_id
from placet_broker.rules import outgoing
from placet_broker.rules.deadlines import LONGEST, SHORTEST, aware, unfit
from placet_broker.rules.record import RUNNER, Address, Record

_ID = re.compile(r"inp_[0-9a-f]{32}")
_OWN_IDS = ("run_", "agt_")
"""How the ids begin that Placet gives to its runs and agents."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who publishes a request: the verified identity and the namespace that goes with it."""

    publisher: str
    namespace: str | None
    """None: the runner, whose requests say their namespace themselves."""

    @property
    def is_runner(self) -> bool:
        """Whether this is Placet's runner."""
        return self.publisher == RUNNER


def prepared(
    request: InteractionRequest, asker: Asker, *, now: datetime, default_life: timedelta | None
) -> InteractionRequest:
    """The request as it will be kept: namespace, id, digest and deadline filled in.

    The same request gives the same id and digest each time. The runner's ids are kept as they are.
    An id that a service gives is that service's own name for its question: the id that is kept is
    derived from it, from the namespace and from the publisher. So no service can take the id with
    which a run will ask, and an id belongs to the publisher who first used it by construction.

    Raises:
        Invalid: an id, digest, deadline or `on_expiry` that can't be.
        NotAllowed: another service names a run or an agent of Placet, or raises a review.
    """
    _check_run(request, asker)
    check_on_expiry(request)
    check_policy(request)
    _check_audience(request, asker)
    namespace = request.namespace if asker.namespace is None else asker.namespace
    full = request.with_digest()
    if request.digest and request.digest != full.digest:
        raise unfit("/digest", "is not the digest of what is asked")
    requested_at = aware(request.requested_at, "/requested_at")
    changes = {
        "namespace": namespace,
        "requested_at": requested_at,
        "expires_at": _deadline(request, asker, now=now, default_life=default_life),
    }
    full = full.model_copy(update=changes)
    return full.model_copy(update={"id": _id(full, namespace, asker)})


def own_id(namespace: str, publisher: str, given: str) -> str:
    """The id that is kept for the one that a service gave.

    Its parts are fewer than those of a run's question (namespace, run, call, what), so the two never meet.
    """
    return derived_id("inp", namespace, publisher, given)


def is_id(text: str) -> bool:
    """Whether this has the form of an id."""
    return _ID.fullmatch(text) is not None


def check_deadline(request: InteractionRequest, asker: Asker, now: datetime) -> None:
    """Bounds of a new request's deadline; the runner's come from its definitions. Raises Invalid."""
    if asker.is_runner or request.expires_at is None:
        return
    if not now + SHORTEST <= request.expires_at <= now + LONGEST:
        raise unfit("/expires_at", "must be 60 seconds to 30 days from now")


def opened(
    request: InteractionRequest, asker: Asker, address: Address | None, now: datetime
) -> Record:
    """The record of a new interaction, its first history entry and outbox included.

    Raises TooLarge for a request that no message could hold.
    """
    request_json = request.model_dump_json()
    outgoing.check_size(request_json, "the request")
    shown = {"digest": request.digest, "request": audit.digest(request_json)}
    first = audit.entry("", "opened", now, by=asker.publisher, **shown)
    return Record(
        id=request.id,
        namespace=request.namespace,
        kind=str(request.kind),
        state=InputState.PENDING,
        rev=0,
        digest=request.digest,
        publisher=asker.publisher,
        run_id=request.run_id,
        root_run_id=request.root_run_id or request.run_id,
        audience=request.audience,
        opened_at=now,
        expires_at=request.expires_at,
        request_json=request_json,
        resolution=None,
        address=address,
        agents=_listed_for(request),
        applied=False,
        outbox=(outgoing.requested(request.id),),
        history=(first,),
        policy=request.policy,
        priority=request.priority,
        labels=request.labels,
        life=_life(request, now),
    )


def _listed_for(request: InteractionRequest) -> tuple[str, ...]:
    """Whose lists show it: the agent's, the definitions' on its path, and the root agent's."""
    names = (request.agent_id, *request.path, request.root_agent_id)
    return tuple(dict.fromkeys(name for name in names if name))


def _check_run(request: InteractionRequest, asker: Asker) -> None:
    if asker.is_runner:
        return
    if isinstance(request, ReviewRequest):
        raise NotAllowed("only the runner asks for a review: of a call that it started")
    for name in (request.run_id, request.root_run_id, *_listed_for(request)):
        if name.startswith(_OWN_IDS):
            raise NotAllowed(
                f"only the runner asks for a run or an agent that Placet holds ({name})"
            )


def _life(request: InteractionRequest, now: datetime) -> timedelta | None:
    """How long a deadline that escalates gives each step: as long as it gave at first."""
    if request.on_expiry != "escalate" or request.expires_at is None:
        return None
    return max(request.expires_at - now, SHORTEST)


def _check_audience(request: InteractionRequest, asker: Asker) -> None:
    """What a service names is read by people, and looked up for each answer. Raises Invalid."""
    audience = request.audience
    if len(audience.approvers) > MOST_NAMES:
        raise unfit("/audience/approvers", f"takes at most {MOST_NAMES} names")
    if asker.is_runner:
        return
    for number, name in enumerate(audience.approvers):
        if not names(name):
            raise unfit(f"/audience/approvers/{number}", RULE)
    if audience.initiator is not None and not names(audience.initiator):
        raise unfit("/audience/initiator", RULE)


def _id(request: InteractionRequest, namespace: str, asker: Asker) -> str:
    if not request.id:
        occasion = _occasion(request)
        # Five parts: a run's question has four, so that the two never meet.
        return derived_id("inp", "asked", namespace, asker.publisher, request.run_id, occasion)
    if not is_id(request.id):
        raise unfit("/id", "must be inp_ and 32 hex digits, or left out")
    return request.id if asker.is_runner else own_id(namespace, asker.publisher, request.id)


def _occasion(request: InteractionRequest) -> str:
    if isinstance(request, ApprovalRequest | ReviewRequest):
        return request.call.id
    if request.idempotency_key:
        return request.idempotency_key
    return f"{request.digest} {request.requested_at.isoformat()}"


def _deadline(
    request: InteractionRequest, asker: Asker, *, now: datetime, default_life: timedelta | None
) -> datetime | None:
    """The runner knows the operator's word: where it gives none, the question waits for ever."""
    if request.expires_at is not None:
        return aware(request.expires_at, "/expires_at")
    return None if default_life is None or asker.is_runner else now + default_life
