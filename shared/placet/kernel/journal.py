"""What a run's journal holds: completed facts, one entry each, never changed."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from placet.domain.audience import ONE_YES, AnswerPolicy
from placet.domain.base import Value
from placet.domain.grant import Grant
from placet.domain.heritage import NO_HERITAGE, ChildEnd, Heritage
from placet.domain.interaction import Kind
from placet.domain.label import Label
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.gate import Facts, Verdict
from placet.kernel.points import Reading
from placet.kernel.turns import CallResult, ModelReply


class _Fact(Value):
    at: datetime | None = None
    """When, by the writer's clock; for people."""
    op: str = ""
    """Of the write that brought it."""


class RunStarted(_Fact):
    """The run goes on with the prompt and the tools that it started with."""

    type: Literal["run.started"] = "run.started"
    instructions: str = ""
    stage_instructions: dict[str, str] = {}
    """What each stage says to the model besides, by its name."""
    tools: dict[str, str] = {}
    """Schema digest by tool name."""
    stage: str = "main"
    """The first."""
    heritage: Heritage = NO_HERITAGE


class StageEntered(_Fact):
    """The stage before it is over."""

    type: Literal["stage.entered"] = "stage.entered"
    stage: str


class MessageReceived(_Fact):
    """A message joined the conversation; the first one is the run's input."""

    type: Literal["message.received"] = "message.received"
    id: str
    text: str
    sender: str | None = None


class ModelReplied(_Fact):
    """One model call and its one reply."""

    type: Literal["model.replied"] = "model.replied"
    reply: ModelReply


class CallJudged(_Fact):
    """The gate looked at one call; again only where a new grant covers a call that waits."""

    type: Literal["call.judged"] = "call.judged"
    call_id: str
    verdict: Verdict
    risk: ToolRisk = ToolRisk.SAFE
    schema_digest: str = ""
    facts: Facts | None = None
    """What the gate went by, so that a later grant is judged on the same."""


class GrantGiven(_Fact):
    """An answer allowed more than one call."""

    type: Literal["grant.given"] = "grant.given"
    grant: Grant


class GrantRevoked(_Fact):
    """Somebody took a grant back; calls that it covered ask again."""

    type: Literal["grant.revoked"] = "grant.revoked"
    grant_id: str


class TrustGiven(_Fact):
    """The initiator trusts a tool as it is now; what was trusted before the run is noted at its start."""

    type: Literal["trust.given"] = "trust.given"
    tool: str
    schema_digest: str = ""
    input_id: str = ""
    """The question whose answer gave it; empty for what was trusted before."""
    person: str | None = None
    """Whose runs it holds for: whoever the run worked for when it was given."""


class AnswerJudged(_Fact):
    """What the agent's own evaluator made of an answer, once."""

    type: Literal["answer.judged"] = "answer.judged"
    input_id: str
    approves: bool


class ResourceDrifted(_Fact):
    """What an approved call acts on has changed since the person was asked: it is asked again."""

    type: Literal["resource.drifted"] = "resource.drifted"
    call_id: str
    was: str
    now: str


class InputOpened(_Fact):
    """A question was put to a person because of a call, or at a point of the stage."""

    type: Literal["input.opened"] = "input.opened"
    input_id: str
    call_id: str = ""
    point: str = ""
    """The interaction point that asks, if no call does."""
    editing: bool = False
    """Whether the point's text was given to be edited."""
    changed_to: str = ""
    """A review of a changed tool: the digest of its schema now."""
    stops: bool = False
    """Whether the run stops if nobody answers."""
    kind: Kind
    digest: str = ""
    message: str = ""
    fingerprint: str | None = None
    """Of what the call acts on, as it was when the question was put."""
    ask: int | None = None
    """A tool's own ask: its number in the call, from 0; a review: the attempt in doubt."""
    policy: AnswerPolicy = Field(default=ONE_YES, exclude_if=lambda policy: policy == ONE_YES)
    """What an approval was given under."""


class InputResolved(_Fact):
    """How that question ended."""

    type: Literal["input.resolved"] = "input.resolved"
    input_id: str
    resolution: Resolution


class PointSettled(_Fact):
    """What a person's answer at a point amounts to, or what became of the point without one."""

    type: Literal["point.settled"] = "point.settled"
    point: str
    reading: Reading
    says: str = ""
    """What joins the conversation as the person's words."""
    text: str | None = None
    """The stage's text as the person edited it."""
    by: str | None = None


class RegionReplaced(_Fact):
    """A pinned part of what the model sees has a new text."""

    type: Literal["region.replaced"] = "region.replaced"
    region: str
    text: str
    edited: bool = False
    """Whether a person wrote it last."""
    label: Label = Label.PUBLIC


class Delegation(Value):
    """One task of a call that delegates."""

    run_id: str
    agent: str
    message: str


class Delegated(_Fact):
    """A call waits for child runs, in this order."""

    type: Literal["call.delegated"] = "call.delegated"
    call_id: str
    children: tuple[Delegation, ...]


class ChildEnded(_Fact):
    """One of them ended."""

    type: Literal["child.ended"] = "child.ended"
    call_id: str
    end: ChildEnd


class ToolChanged(_Fact):
    """A person accepted a call of a tool that was deployed with another schema since the model wanted it.

    What was allowed to the tool as it was has ended; the call is judged anew.
    """

    type: Literal["tool.changed"] = "tool.changed"
    call_id: str
    was: str
    now: str
    args: dict[str, Any] | None = None
    """The arguments as the person made them fit."""


class Frozen(_Fact):
    """Calls wait because an operator froze their tools; with `lifted`, that freeze is over."""

    type: Literal["calls.frozen"] = "calls.frozen"
    freeze_id: str
    by: str
    reason: str = ""
    lifted: bool = False


class ToolStarted(_Fact):
    """The intent: written, and seen to be written, before the tool runs."""

    type: Literal["tool.started"] = "tool.started"
    call_id: str
    key: str
    """The idempotency key, the same on every try of this call."""
    attempt: int


class ToolFinished(_Fact):
    """The one result of a call."""

    type: Literal["tool.finished"] = "tool.finished"
    result: CallResult


class RunCompleted(_Fact):
    """The model answered without a call."""

    type: Literal["run.completed"] = "run.completed"
    text: str


class RunFailed(_Fact):
    """The run can't go on."""

    type: Literal["run.failed"] = "run.failed"
    code: str
    message: str


class RunCancelled(_Fact):
    """Somebody aborted it."""

    type: Literal["run.cancelled"] = "run.cancelled"
    by: str | None = None


Entry = Annotated[
    RunStarted
    | StageEntered
    | MessageReceived
    | ModelReplied
    | CallJudged
    | GrantGiven
    | GrantRevoked
    | TrustGiven
    | AnswerJudged
    | ResourceDrifted
    | InputOpened
    | InputResolved
    | PointSettled
    | RegionReplaced
    | Delegated
    | ChildEnded
    | ToolChanged
    | Frozen
    | ToolStarted
    | ToolFinished
    | RunCompleted
    | RunFailed
    | RunCancelled,
    Field(discriminator="type"),
]

_ADAPTER: TypeAdapter[Entry] = TypeAdapter(Entry)


def read_entry(document: dict[str, Any]) -> Entry:
    """An entry from its stored form."""
    return _ADAPTER.validate_python(document)


def write_entry(entry: Entry) -> dict[str, Any]:
    """The stored form of an entry: JSON types only."""
    return entry.model_dump(mode="json", exclude_defaults=True) | {"type": entry.type}
