"""What a run asks, and what it starts: from what is known about it and one of its calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from placet.domain.audience import ONE_YES, AnswerPolicy, Audience
from placet.domain.base import DEFAULT_NAMESPACE, JsonObject
from placet.domain.consent import ConsentRules, rule_for
from placet.domain.interaction import (
    Accepts,
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FreeTextRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    OnExpiry,
    Request,
    ReviewRequest,
)
from placet.domain.risk import ToolRisk
from placet.domain.showing import question
from placet.gate import Offer, offer
from placet.gate.names import same_tool
from placet.ids import derived_id
from placet.kernel.call import CallState
from placet.kernel.journal import Entry, InputOpened, ToolStarted
from placet.kernel.staging import Present, Staging, pinned
from placet.kernel.state import State

R = TypeVar("R", bound=Request)
LONGEST_MESSAGE = 4000
"""Of what the user said, beside each question; the run itself has all of it."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The run that asks."""

    agent_id: str
    agent: str
    run_id: str
    root_run_id: str = ""
    namespace: str = DEFAULT_NAMESPACE
    path: tuple[str, ...] = ()
    initiator: str | None = None
    spoke: tuple[str, ...] = ()
    """Everybody who told it something."""
    root_agent_id: str = ""
    stage: str = "main"
    consent: tuple[ConsentRules, ...] = ()
    """Whom the runs above ask about which call, and last whom this one asks."""
    user_message: str = ""
    expires_in: timedelta | None = None
    on_expiry: OnExpiry = "deny"
    """What follows where nobody answers anything but a review, unless a tool declared an answer."""
    accepts: Accepts = "decision"
    """What an approval may be answered with."""
    trusts: bool = False
    """Whether an answer may trust a tool."""
    editable: Mapping[str, JsonObject] = field(default_factory=dict)
    """Schemas of the tools whose arguments the approver may change."""

    def key(self, call_id: str) -> str:
        """The idempotency key of a call: the same on every try."""
        return derived_id("key", self.namespace, self.run_id, call_id)

    def fields(self, call: CallState, what: str, now: datetime) -> dict[str, Any]:
        """What every request for a call carries; `what` tells the questions of one call apart."""
        reason = {"reason": call.verdict.reason.sentence} if call.verdict else {}
        own = self.common((call.call.id, what), now, **reason)
        key = {"idempotency_key": self.key(call.call.id)}
        return own | key | self.of_whom(call.call.tool, call.risk)

    def of_whom(
        self,
        tool: str = "",
        risk: ToolRisk = ToolRisk.SAFE,
        *,
        approval: bool = False,
        on_expiry: OnExpiry = "deny",
    ) -> dict[str, Any]:
        """Who may answer, how many it takes, and what time does about it.

        Several people approve the same call; anything else each would answer in their own way, so a
        quorum and four eyes are for approvals.
        """
        rule = rule_for(self.consent, same_tool(tool), risk, self.initiator)
        timed = tuple(s for s in rule.escalation if s.after_seconds is not None)
        steps = rule.escalation if on_expiry == "escalate" else timed
        policy = AnswerPolicy(reminders=rule.reminders, escalation=steps)
        return {
            "audience": Audience(
                initiator=self.initiator,
                approvers=rule.approvers,
                spoke=tuple(each for each in self.spoke if each != self.initiator),
            ),
            "policy": policy.stricter_by(rule.policy) if approval else policy,
            "priority": rule.priority,
            "labels": rule.labels,
        }

    def common(self, parts: tuple[str, ...], now: datetime, **context: Any) -> dict[str, Any]:
        """What every request of this run carries; `parts` tell its questions apart."""
        message = self.user_message[:LONGEST_MESSAGE]
        said = {"user_message": message, "initiator": self.initiator}
        return {
            "id": derived_id("inp", self.namespace, self.run_id, *parts),
            "namespace": self.namespace,
            "agent_id": self.agent_id,
            "run_id": self.run_id,
            "root_run_id": self.root_run_id or self.run_id,
            "root_agent_id": self.root_agent_id,
            "path": self.path or (self.agent,),
            "stage": self.stage,
            "context": said | context,
            "requested_at": now,
            "expires_at": now + self.expires_in if self.expires_in else None,
            **self.of_whom(),
        }


def approval(asker: Asker, call: CallState, now: datetime) -> ApprovalRequest:
    """May this call run, and what may be granted with a yes?

    It has a copy of the call: what a handler does to the one it is shown is not what runs.
    """
    offered = offer(call.facts, call.verdict) if call.facts and call.verdict else Offer()
    what = f"approval:{call.approvals}" if call.approvals else "approval"
    whom = asker.of_whom(call.call.tool, call.risk, approval=True, on_expiry=asker.on_expiry)
    # Where a number of people must say yes, it is no evaluator's to say what a yes is.
    words = asker.accepts == "anything" and whom["policy"].strict
    return ApprovalRequest(
        call=call.call.model_copy(deep=True),
        risk=call.risk,
        schema_digest=call.schema_digest,
        scopes=offered.scopes,
        options=offered.options(call.call.tool),
        grants=offered.keys,
        exact=offered.exact,
        accepts="words" if words else asker.accepts,
        on_expiry=asker.on_expiry,
        args_schema=asker.editable.get(call.call.tool),
        trust=asker.trusts and offered.trustable and not whom["policy"].strict,
        message=f"{question(call.call)}{_drift(call)}"[:4000],
        **asker.fields(call, what, now) | whom,
    ).with_digest()


def _drift(call: CallState) -> str:
    """What is asked again says what changed."""
    return f" What it acts on has changed: {call.drift}." if call.drift else ""


def review(asker: Asker, call: CallState, now: datetime) -> ReviewRequest:
    """Did this call happen?"""
    return ReviewRequest(
        call=call.call,
        message=(
            f"{call.call.tool} was started (attempt {call.attempt}) and its end was never recorded. "
            "Did it happen? It may still happen if the process that started it is only paused."
        ),
        **asker.fields(call, f"review:{call.attempt}", now),
    ).with_digest()


def change(
    asker: Asker, call: CallState, schema: JsonObject, difference: str, now: datetime
) -> ReviewRequest:
    """Should this call go on with its tool as it is now?"""
    return ReviewRequest(
        call=call.call,
        outcomes=("accept", "fail"),
        difference=difference,
        args_schema=schema,
        message=(
            f"{call.call.tool} was deployed with another schema after the model wanted this call. Accept "
            "the call as it is, or with other arguments, or end the run. What was approved before does "
            "not count any more."
        ),
        **asker.fields(call, f"changed:{call.changes}", now),
    ).with_digest()


def at_point(asker: Asker, staging: Staging, present: Present, now: datetime) -> InteractionRequest:
    """The question that an interaction point puts: the same id for the same presentation of it."""
    point, number = present.point, staging.shown.get(present.point.name, 0)
    rounds = staging.rounds.get(point.name, 0)
    fields = asker.common(
        ("point", staging.name, point.name, str(number)), now, point=point.name, round=rounds
    )
    fields |= {"message": point.prompt, "on_expiry": asker.on_expiry}
    fields |= asker.of_whom(on_expiry=asker.on_expiry)
    if present.editing:
        return EditTextRequest(text=staging.text, **fields).with_digest()
    fields["body"] = staging.text or None
    match point.style:
        case "free_text":
            return FreeTextRequest(required=point.required, **fields).with_digest()
        case "multiple_choice":
            return MultipleChoiceRequest(options=point.options, **fields).with_digest()
        case "confirm":
            return ConfirmRequest(**fields).with_digest()


def presented(request: Request, present: Present, state: State) -> list[Entry]:
    """The journal's entries for a point that asks: its region holds the text that it is about."""
    at = state.stage
    shown = [] if present.editing else pinned(present.point, at.text, state.taint, edited=at.edited)
    asked = InputOpened(
        input_id=request.id,
        point=present.point.name,
        editing=present.editing,
        kind=getattr(request, "kind"),  # noqa: B009 - every concrete request has one
        digest=request.digest,
        message=request.message,
        stops=request.on_expiry == "stop",
    )
    return [*shown, asked]


def own_ask(asker: Asker, call: CallState, draft: R, now: datetime) -> R:
    """A tool's own question, drafted by its context, as a request of this run."""
    fields = asker.fields(call, f"ask:{len(call.asks)}", now)
    if draft.on_expiry == "deny":
        fields["on_expiry"] = asker.on_expiry
        fields |= asker.of_whom(call.call.tool, call.risk, on_expiry=asker.on_expiry)
    if draft.audience.approvers:
        named = {"approvers": draft.audience.approvers}
        fields["audience"] = fields["audience"].model_copy(update=named)
    return draft.model_copy(update=fields).with_digest()


def opened(
    request: Request,
    call: CallState,
    fingerprint: str | None = None,
    *,
    changed_to: str = "",
) -> InputOpened:
    """The journal's entry for a question that is put in the same write."""
    number: int | None = len(call.asks)
    if isinstance(request, ApprovalRequest):
        number = None
    elif isinstance(request, ReviewRequest):
        number = call.attempt
    return InputOpened(
        changed_to=changed_to,
        stops=request.on_expiry == "stop",
        input_id=request.id,
        call_id=call.call.id,
        kind=getattr(request, "kind"),  # noqa: B009 - every concrete request has one
        digest=request.digest,
        message=request.message,
        fingerprint=fingerprint,
        ask=number,
        policy=ONE_YES.stricter_by(request.policy),
    )


def intent(asker: Asker, call: CallState) -> ToolStarted:
    """The journal's entry for the next try of a call, under the key that all its tries have."""
    return ToolStarted(call_id=call.call.id, key=asker.key(call.call.id), attempt=call.attempt + 1)
