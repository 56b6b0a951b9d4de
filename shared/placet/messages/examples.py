"""One example of every message and case: what `contracts/examples` is written from."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from placet.domain.answer import Action, reduce
from placet.domain.audience import AnswerPolicy, Audience, EscalationStep, Priority
from placet.domain.heritage import Birth, Bound, ChildEnd, Heritage
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InputState,
    InteractionRequest,
    MultipleChoiceRequest,
    Option,
    Question,
    QuestionsRequest,
    Request,
    ReviewRequest,
    ToolCall,
    UrlRequest,
)
from placet.domain.label import Label
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.domain.run import Message, RunStatus
from placet.messages.command import CommandName, RunCommand
from placet.messages.event import Event, EventType
from placet.messages.request import AnswerMessage, Close

RUN = "run_0123456789abcdef0123456789abcdef"
INPUT = "inp_00112233445566778899aabbccddeeff"
AT = datetime(2026, 3, 14, 9, 26, 53, 589_000, UTC)
UNTIL = datetime(2026, 3, 21, 9, 26, 53, 589_000, UTC)
CALL = ToolCall(id="call_1", tool="drop_database", args={"name": "staging", "force": True})

_ASKED: dict[str, Any] = {
    "id": INPUT,
    "agent_id": "ops",
    "run_id": RUN,
    "root_run_id": RUN,
    "path": ("ops",),
    "requested_at": AT,
    "expires_at": UNTIL,
    "context": {"user_message": "Delete the staging database", "initiator": "alice"},
    "audience": Audience(initiator="alice", approvers=("bob", "group:dba")),
}


def approvals() -> dict[str, ApprovalRequest]:
    """`approval_request`, by case."""
    full = ApprovalRequest(
        **_ASKED,
        call=CALL,
        risk=ToolRisk.CRITICAL,
        message="May drop_database run?",
        body="Drops **staging** for good.",
        schema_digest="sha256:" + "ab" * 32,
        scopes=("once", "stage", "run"),
        idempotency_key="idk_0123456789abcdef0123456789abcdef",
    )
    unicode_args = {
        "text": "Grüße, 世界 🚀 \u202egnp.exe",
        "quotes": '"\\/\b\f\n\r\t\u0000\u2028',
        "numbers": [0, -1, 1.5, 1e21, 9_007_199_254_740_991],
        "nothing": None,
        "deep": {"": [[], {}, [True, False]]},
    }
    return {
        "full": full.with_digest(),
        "unicode": ApprovalRequest(
            call=ToolCall(id="appel-é", tool="écrire", args=unicode_args),
            risk=ToolRisk.HIGH,
            agent_id="агент",
            run_id="billing/2026-03/№7",
            namespace="team-a",
            context={"reason": "测试"},
            requested_at=AT,
        ).with_digest(),
        "service": ApprovalRequest(
            call=ToolCall(id="refund-7", tool="refund", args={"cents": 12_00}),
            risk=ToolRisk.HIGH,
            agent_id="billing",
            run_id="order-4711",
            requested_at=AT,
            idempotency_key="order-4711/refund-7",
        ),
        "two_people": full.model_copy(update=_TWO_PEOPLE).with_digest(),
    }


_TWO_PEOPLE: dict[str, Any] = {
    "audience": Audience(initiator="alice", approvers=("group:treasury", "slack:U024BE7LH")),
    "policy": AnswerPolicy(
        quorum=2,
        exclude_initiator=True,
        reminders=(3600,),
        escalation=(
            EscalationStep(after_seconds=7200, add=("group:board",), priority=Priority.HIGH),
            EscalationStep(notify=("group:board",)),
        ),
    ),
    "priority": Priority.URGENT,
    "labels": ("billing", "q3"),
    "on_expiry": "escalate",
}


def requests() -> dict[str, Request]:
    """The request of each kind but `tool_approval`, by the kind."""
    asked: list[InteractionRequest] = [
        ConfirmRequest(**_ASKED, message="Restart the cluster now?"),
        FreeTextRequest(**_ASKED, message="Which name should it get? 名前は", required=True),
        MultipleChoiceRequest(**_ASKED, message="Where to?", options=("staging", "production")),
        QuestionsRequest(**_ASKED, message="Two things first", questions=_questions()),
        FormRequest(**_ASKED, message="Fill this in", form=_FORM),
        UrlRequest(**_ASKED, message="Log in there", url="https://login.example.com/device?c=1"),
        EditTextRequest(**_ASKED, message="Better words?", text="Dear all,\n\nit is done.\n"),
        ReviewRequest(**_ASKED, message="Did this happen?", call=CALL),
    ]
    defaulted = MultipleChoiceRequest(
        **_ASKED,
        message="Wait for the late ones?",
        options=("wait", "go on"),
        on_expiry="default",
        default="go on",
    )
    named = {str(request.kind): request for request in asked} | {"default": defaulted}
    return {name: request.with_digest() for name, request in named.items()}


_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "email": {"type": "string", "format": "email"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 50},
        "plan": {"type": "string", "enum": ["free", "team"]},
        "days": {"type": "array", "items": {"enum": ["mon", "tue"]}},
    },
    "required": ["email"],
}


def _questions() -> tuple[Question, ...]:
    return (
        Question(
            question="Which region?",
            header="Region",
            options=(
                Option(label="eu", description="Frankfurt"),
                Option(label="us", description="Ohio"),
            ),
        ),
        Question(
            question="Which features?",
            header="Features",
            options=(Option(label="search"), Option(label="export")),
            multi_select=True,
            allow_other=True,
        ),
    )


def commands() -> dict[str, RunCommand]:
    """`run_command`, by the command."""
    message = Message(id="msg_1", text="Use the replica instead", sender="alice", mode="queue")
    return {
        "start": RunCommand(command=CommandName.START, run_id=RUN),
        "wake": RunCommand(command=CommandName.WAKE, run_id=RUN, namespace="team-a"),
        "message": RunCommand(command=CommandName.MESSAGE, run_id=RUN, message=message),
        "abort": RunCommand(command=CommandName.ABORT, run_id=RUN, by="alice"),
        "born": RunCommand(command=CommandName.START, run_id=RUN, birth=_birth()),
        "child": RunCommand(
            command=CommandName.CHILD,
            run_id="run_" + "1" * 32,
            child=ChildEnd(
                run_id=RUN, status=RunStatus.COMPLETED, text="Tested.", label=Label.INTERNAL
            ),
        ),
    }


def _birth() -> Birth:
    """A child run that nobody watches."""
    task = Message(id="msg_2", text="Test it", sender="alice")
    bound = Bound(denies=("drop_database",), always_ask=("wire_money",))
    return Birth(
        agent="tester",
        agent_id=RUN.replace("run_", "agt_"),
        messages=(task,),
        initiator="alice",
        parent_run_id="run_" + "1" * 32,
        call_id="call_1_1",
        root_run_id="run_" + "1" * 32,
        root_agent_id="agt_" + "1" * 32,
        path=("coder", "tester"),
        heritage=Heritage(unattended="deny", bounds=(bound,), taint=Label.INTERNAL),
    )


def answers() -> dict[str, AnswerMessage]:
    """`answer`, by case."""
    approval = {"decision": "approved", "scope": "run", "reason": "fine by me ✅"}
    return {
        "yes": AnswerMessage(input_id=INPUT, content=True, id="billing-1"),
        "approved": AnswerMessage(
            input_id=INPUT, content=approval, digest="sha256:" + "ab" * 32, id="billing-2"
        ),
        "skipped": AnswerMessage(input_id=INPUT, content={"decision": "skipped"}),
        "choice": AnswerMessage(input_id=INPUT, content=1),
        "form": AnswerMessage(input_id=INPUT, content={"email": "a@example.com", "seats": 3}),
        "declined": AnswerMessage(
            input_id=INPUT, action=Action.DECLINE, content={"reason": "not on a Friday"}
        ),
        "cancelled": AnswerMessage(input_id=INPUT, action=Action.CANCEL),
        "for_somebody": AnswerMessage(input_id=INPUT, content=True, named="slack:U024BE7LH"),
    }


def closes() -> dict[str, Close]:
    """`close`, by its reason."""
    return {
        "superseded": Close(input_id=INPUT, run_id=RUN, reason="superseded"),
        "withdrawn": Close(input_id=INPUT, run_id="order-4711", reason="withdrawn"),
        "cancelled": Close(
            input_id=INPUT, run_id=RUN, reason="cancelled", digest="sha256:" + "ab" * 32
        ),
    }


def resolutions() -> dict[str, Resolution]:
    """`resolution`: every final state, and every decision on a call."""
    asked = approvals()["full"]
    yes = {"decision": "approved", "scope": "stage", "grant": "named", "reason": "go"}
    bob = Person(id="bob", name="Боб")
    outcomes = {
        "answered": reduce(requests()["multiple_choice"], Action.ACCEPT, 1),  # type: ignore[arg-type]
        "approved": reduce(asked, Action.ACCEPT, yes),
        "denied": reduce(asked, Action.ACCEPT, False),
        "skipped": reduce(asked, Action.ACCEPT, {"decision": "skipped"}),
        "declined": reduce(asked, Action.DECLINE, {"reason": "not on a Friday"}),
        "cancelled": reduce(asked, Action.CANCEL),
    }
    return {
        **{case: _resolution(outcome, bob, "web") for case, outcome in outcomes.items()},
        "voted": _resolution(outcomes["approved"], bob, "web").model_copy(
            update={"on_behalf_of": "carol", "voters": ("ann", "bob")}
        ),
        "expired": _resolution(Outcome(state=InputState.EXPIRED), None, "timer"),
        "superseded": _resolution(Outcome(state=InputState.SUPERSEDED), None, "run"),
        "withdrawn": _resolution(Outcome(state=InputState.WITHDRAWN), None, "run"),
    }


def _resolution(outcome: Outcome, by: Person | None, channel: str) -> Resolution:
    return Resolution(
        input_id=INPUT,
        run_id=RUN,
        digest=approvals()["full"].digest,
        outcome=outcome,
        by=by,
        at=AT,
        channel=channel,
        answer_id="ans_0123456789abcdef0123456789abcdef" if by else "",
    )


_FACTS: dict[EventType, dict[str, Any]] = {
    EventType.INPUT_REQUESTED: {
        "kind": "tool_approval",
        "asked_by": "service:placet-runner",
        "expires_at": "2026-03-21T09:26:53.589000+00:00",
        "state": "pending",
    },
    EventType.INPUT_ESCALATED: {
        "number": 1,
        "added": ["group:board"],
        "notify": [],
        "priority": "high",
    },
    EventType.INPUT_RESOLVED: {"kind": "tool_approval", "state": "answered", "by": "bob"},
    EventType.RUN_COMPLETED: {"status": "completed", "applied": [INPUT], "undelivered": []},
    EventType.RUN_FAILED: {
        "status": "failed",
        "error": {"code": "model_failed", "message": "the provider said: 限流"},
    },
    EventType.RUN_CANCELLED: {"status": "cancelled"},
}


def events() -> dict[str, Event]:
    """`event`, by its type."""
    return {
        kind.replace(".", "_"): Event(
            id="evt_0123456789abcdef0123456789abcdef",
            type=kind,
            at=AT,
            agent_id="ops",
            run_id=RUN,
            root_run_id=RUN,
            input_id=INPUT if kind.startswith("input.") else None,
            data=_FACTS.get(kind, {}),
        )
        for kind in EventType
    }


def all_examples() -> dict[str, dict[str, BaseModel]]:
    """Every example, by the message's contract name and the case."""
    return {
        "approval_request": {**approvals()},
        "interaction_request": {**requests()},
        "run_command": {**commands()},
        "answer": {**answers()},
        "close": {**closes()},
        "resolution": {**resolutions()},
        "event": {**events()},
    }


MINIMAL: dict[str, dict[str, Any]] = {
    "approval_request": {
        "call": {"id": "refund-7", "tool": "refund", "args": {"cents": 1200}},
        "risk": "high",
        "agent_id": "billing",
        "run_id": "order-4711",
        "context": {},
        "requested_at": "2026-03-14T09:26:53Z",
    },
    "run_command": {"command": "wake", "run_id": RUN},
    "answer": {"input_id": INPUT, "content": True},
    "close": {"input_id": INPUT, "run_id": RUN, "reason": "superseded"},
}
"""The least that a sender may write, by contract name."""
