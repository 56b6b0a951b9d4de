"""What a run's document says, and what is sent about it."""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from placet.domain.grant import Grant
from placet.domain.heritage import Birth
from placet.domain.interaction import InputState, Kind, Request
from placet.domain.resolution import Resolution
from placet.domain.run import RunStatus
from placet.gate import Decision
from placet.ids import derived_id
from placet.kernel import Entry
from placet.kernel.call import CallState
from placet.kernel.journal import TrustGiven
from placet.messages import Close, CommandName, Event, EventType, RunCommand
from placet.messages.wire import encode, name_of

CHUNK = 16
"""Journal entries in one chunk; its bounds are fixed, so that two holders store the same."""
LONG_TAIL = 48
"""A tail longer than this gives its oldest entries to a chunk."""
MOST_UNREAD = 32
"""Messages that a run holds unread; what comes then is refused, so that its document stays small."""
MAX_TRIES = 5
"""Claims in a row that ended with their holder; then the run fails with `crash_loop`."""

CHILD, NEXT = "child", "next"
"""The kinds of the entries of `waiting` that are runs: one below this one, or its agent's next turn."""
FROZEN = "frozen"
"""The kind of those that are freezes: nobody is asked, and nothing has to be closed."""

Document = dict[str, Any]


def new_run(run_id: str, namespace: str, birth: Birth, now: datetime) -> Document:
    """A queued run. Its input is the first message of its inbox; its start is in its outbox."""
    start = command_entry(
        RunCommand(command=CommandName.START, run_id=run_id, namespace=namespace),
        derived_id("evt", run_id, "start"),
    )
    parent = {"run_id": birth.parent_run_id, "call_id": birth.call_id}
    return {
        "_id": run_id,
        "namespace": namespace,
        "agent_id": birth.agent_id,
        "agent": birth.agent,
        "root_run_id": birth.root_run_id or run_id,
        "root_agent_id": birth.root_agent_id,
        "path": list(birth.path) or [birth.agent],
        "parent": parent if birth.parent_run_id else None,
        "heritage": birth.heritage.model_dump(mode="json", exclude_defaults=True),
        "initiator": birth.initiator,
        "after_run_id": birth.after_run_id,
        "status": RunStatus.QUEUED.value,
        "epoch": 0,
        "seq": 0,
        "lease": None,
        "wake": False,
        "tries": 0,
        "base": 0,
        "journal": [],
        "waiting": [],
        "inbox": [message.model_dump(mode="json") for message in birth.messages],
        "seen": [message.id for message in birth.messages],
        "revoked": [],
        "outbox": [start],
        "due": now,
        "order": f"{now.isoformat(timespec='milliseconds')}|{run_id}",
        "created_at": now,
        "updated_at": now,
        "text": None,
        "error": None,
    }


def held(document: Document, owner: str, op: str, until: datetime) -> Document:
    """A new run as a claim would leave it: for the replica that creates it and works on it at once."""
    lease = {"owner": owner, "op": op, "until": until}
    claimed = {"status": RunStatus.RUNNING.value, "epoch": 1, "tries": 1, "lease": lease}
    return document | claimed | {"outbox": [], "due": until}


def outbox_entry(
    message: BaseModel, *, exchange: str, key: str, event_id: str, run_id: str
) -> Document:
    """A message to publish, as the outbox keeps it."""
    return {
        "id": event_id,
        "exchange": exchange,
        "key": key,
        "type": name_of(message),
        "body": encode(message).decode(),
        "correlation_id": run_id,
    }


def command_entry(command: RunCommand, event_id: str) -> Document:
    """A command to a runner."""
    return outbox_entry(
        command,
        exchange="placet.runs",
        key=command.command.value,
        event_id=event_id,
        run_id=command.run_id,
    )


def request_entry(request: Request) -> Document:
    """A question to the broker; asking again has the same id."""
    kind = str(getattr(request, "kind", ""))
    return outbox_entry(
        request,
        exchange="placet.requests",
        key=kind,
        event_id=f"{request.id}.asked",
        run_id=request.run_id,
    )


def close_entry(
    run: Document, waiting: Document, reason: str, because: str | None = None
) -> Document:
    """Please close this question."""
    close = Close(
        input_id=waiting["id"],
        run_id=run["_id"],
        namespace=run["namespace"],
        reason=reason,
        digest=waiting["request"]["digest"],
        because=because,
    )
    event_id = f"{waiting['id']}.close"
    return outbox_entry(
        close, exchange="placet.requests", key="close", event_id=event_id, run_id=run["_id"]
    )


def event_entry(
    run: Document, kind: EventType, *, number: int, at: datetime, **data: Any
) -> Document:
    """A fact for everybody; `number` tells the events of one run and type apart."""
    event = Event(
        id=derived_id("evt", run["_id"], kind.value, str(number)),
        type=kind,
        namespace=run["namespace"],
        at=at,
        agent_id=run["agent_id"],
        run_id=run["_id"],
        root_run_id=run["root_run_id"],
        data=data,
    )
    key = f"{event.namespace}.{kind.value}"
    return outbox_entry(
        event, exchange="placet.events", key=key, event_id=event.id, run_id=event.run_id
    )


def waiting_entry(
    request: Request, call_id: str, point: str = "", *, tainted: bool = False
) -> Document:
    """A question as the run keeps it while it waits; whole, so that it can be asked again.

    `tainted`: the taint gate alone asks.
    """
    return {
        "id": request.id,
        "kind": str(getattr(request, "kind", "")),
        "call": call_id,
        "request": request.model_dump(mode="json"),
        "resolution": None,
        "closing": None,
        **({"point": point} if point else {}),
        **({"tainted": True} if tainted else {}),
    }


def supersedable(waiting: Sequence[Document]) -> list[Document]:
    """The open questions that a message overtakes: not reviews, and not those that close already."""
    return [
        entry
        for entry in waiting
        if entry["resolution"] is None
        and entry["closing"] is None
        and entry["kind"] not in (Kind.REVIEW, CHILD, FROZEN)
    ]


def is_child(entry: Document) -> bool:
    """Whether this is a run that is waited for, not a question."""
    return bool(entry["kind"] == CHILD)


def gone_points(waiting: Sequence[Document], points: Container[str]) -> list[Document]:
    """The open questions of points that the stage does not have any more."""
    return [e for e in supersedable(waiting) if e.get("point", "") and e["point"] not in points]


def gone_asks(waiting: Sequence[Document], tools: Container[str]) -> list[Document]:
    """The open approvals of tools that do not exist any more."""
    return [
        entry
        for entry in supersedable(waiting)
        if entry["kind"] == Kind.TOOL_APPROVAL and entry["request"]["call"]["tool"] not in tools
    ]


def covered_asks(waiting: Sequence[Document], calls: Mapping[str, CallState]) -> list[Document]:
    """The open approvals of calls that a grant covers by now."""
    return [
        entry
        for entry in supersedable(waiting)
        if entry["kind"] == Kind.TOOL_APPROVAL
        and (call := calls.get(entry["call"])) is not None
        and call.verdict is not None
        and call.verdict.decision is Decision.ALLOW
    ]


def standing_of(revoked: Sequence[Document], grants: Sequence[Grant]) -> list[Grant]:
    """Those of the taken-back grants that the run still goes by."""
    ids = {each["id"] for each in revoked}
    return [grant for grant in grants if grant.id in ids]


def stirs(resolution: Resolution) -> bool:
    """Whether somebody must look at the run although other questions are open.

    A grant may cover their calls, or trust; and what was taken back may be a call that is covered.
    """
    outcome = resolution.outcome
    wider = outcome.scope not in (None, "once") or outcome.trust
    return wider or outcome.state is InputState.WITHDRAWN


def may_trust(resolution: Resolution, waiting: Document) -> bool:
    """Whether an answer that only the agent's own evaluator can read may be one that trusts."""
    return resolution.outcome.decision is None and waiting["request"].get("trust", False)


def lasting_trust(entries: Iterable[Entry]) -> list[TrustGiven]:
    """The trust that answers gave in this run, and that holds for a person's later runs too."""
    given = [entry for entry in entries if isinstance(entry, TrustGiven)]
    return [entry for entry in given if entry.input_id and entry.person is not None]


def is_for(resolution: Resolution, waiting: Document) -> bool:
    """Whether a resolution is of the very question that the run asked."""
    return resolution.input_id == waiting["id"] and resolution.digest in (
        "",
        waiting["request"]["digest"],
    )
