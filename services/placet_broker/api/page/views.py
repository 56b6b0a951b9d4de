"""What the templates show of an interaction."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup

from placet.domain.audience import Priority
from placet.domain.form import choices
from placet.domain.interaction import (
    ApprovalRequest,
    EditTextRequest,
    InteractionRequest,
    Kind,
    ReviewRequest,
    UrlRequest,
)
from placet.domain.showing import ODD, looks_odd, telling
from placet.errors import FieldError, Invalid
from placet_broker.api.page import appearance
from placet_broker.rules.record import Record

KIND_WORDS = {
    Kind.TOOL_APPROVAL: "Approval",
    Kind.CONFIRM: "Yes or no",
    Kind.FREE_TEXT: "Text",
    Kind.MULTIPLE_CHOICE: "Choice",
    Kind.QUESTIONS: "Questions",
    Kind.FORM: "Form",
    Kind.URL: "To do elsewhere",
    Kind.EDIT_TEXT: "Edit",
    Kind.REVIEW: "Review",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list."""

    id: str
    kind: str
    title: Markup
    telling: Markup
    priority: str
    labels: tuple[str, ...]
    votes: str
    claimed_by: str
    asked_by: str
    risk: str
    age: str
    opened_at: str
    deadline: str
    state: str
    how: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, in full."""

    name: Markup
    kind: str
    value: Markup


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form as it is drawn: `control` is select, checks, or an input's type."""

    name: str
    label: Markup
    description: Markup
    required: bool
    control: str
    options: tuple[tuple[str, str], ...]
    """What is sent, and what is shown."""
    given: tuple[str, ...]
    error: str


def fields(
    schema: dict[str, Any], typed: dict[str, list[str]], errors: dict[str, str]
) -> list[Field]:
    """The fields of a form, with what was typed, or their defaults before anything was."""
    required = schema.get("required", [])
    return [
        Field(
            name=f"f_{name}",
            label=appearance.visible(str(field.get("title") or name)),
            description=appearance.visible(str(field.get("description") or "")),
            required=name in required,
            control=_control(field),
            options=_options(field),
            given=tuple(typed.get(f"f_{name}", []) if typed else _default(field)),
            error=errors.get(name, ""),
        )
        for name, field in schema["properties"].items()
    ]


def _control(field: dict[str, Any]) -> str:
    kind = field.get("type", "string")
    if field.get("sealed") is True:
        return "password"
    if kind == "array":
        return "checks"
    if choices(field) is not None or kind == "boolean":
        return "select"
    inputs = {"email": "email", "date": "date", "uri": "url"}
    return "text" if kind != "string" else inputs.get(field.get("format", ""), "text")


def _options(field: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    offered = choices(field) or choices(field.get("items", {}))
    if field.get("type") == "boolean" and offered is None:
        return (("true", "yes"), ("false", "no"))
    return tuple((str(value), title) for value, title in offered or ())


def _default(field: dict[str, Any]) -> list[str]:
    default = field.get("default")
    if isinstance(default, list):
        return [str(item) for item in default]
    if isinstance(default, bool):
        return [str(default).lower()]
    return [] if default is None else [str(default)]


def row(record: Record, now: datetime) -> Row:
    """A line of the list."""
    request = record.request()
    return Row(
        id=record.id,
        kind=KIND_WORDS[request.kind],
        title=_title(request),
        telling=appearance.one_line(_telling(record, request)),
        priority="" if record.priority is Priority.NORMAL else str(record.priority),
        labels=record.labels,
        votes=f"{len(record.votes)} of {record.policy.quorum}" if record.policy.quorum > 1 else "",
        claimed_by=record.claim.by if record.claim and record.claim.until > now else "",
        asked_by=asker(record, request),
        risk=str(getattr(request, "risk", "")),
        age=span(now - record.opened_at) + " ago",
        opened_at=record.opened_at.isoformat(),
        deadline=deadline(record, now),
        state=str(record.state),
        how=how(record),
    )


def arguments(record: Record, request: InteractionRequest) -> list[Argument]:
    """Every argument that would run, in the order in which it was made; [] where there is no call."""
    if not isinstance(request, ApprovalRequest | ReviewRequest):
        return []
    proposed = record.proposed_args
    return [
        Argument(appearance.visible(name), appearance.kind_of(content), appearance.value(content))
        for name, content in (request.call.args if proposed is None else proposed).items()
    ]


def asker(record: Record, request: InteractionRequest) -> str:
    """Who asked: an agent's path where the runner asked, else the verified identity."""
    if record.from_runner:
        return " / ".join(request.path) or request.agent_id or "an agent"
    return record.publisher


def how(record: Record) -> str:
    """Who settled it and how; empty while it waits."""
    resolution = record.resolution
    if resolution is None:
        return ""
    word = str(resolution.outcome.decision or record.state)
    if resolution.voters:
        return f"{word} by {', '.join(resolution.voters)}"
    if resolution.by is not None:
        stands_in = f" for {resolution.on_behalf_of}" if resolution.on_behalf_of else ""
        return f"{word} by {resolution.by.id}{stands_in}"
    return f"{word}: nobody answered" if word == "expired" else word


def deadline(record: Record, now: datetime) -> str:
    """When it expires, from now."""
    if record.expires_at is None:
        return "no deadline"
    left = record.expires_at - now
    return f"in {span(left)}" if left > timedelta(0) else "over"


def span(length: timedelta) -> str:
    """A length of time in the largest unit of which there are about two."""
    seconds = int(length.total_seconds())
    for size, word in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {word}"
    return f"{max(seconds, 0)} s"


def context(record: Record, request: InteractionRequest) -> list[tuple[str, Markup]]:
    """The asker's context, named; what is empty is left out."""
    named = ((name.replace("_", " "), content) for name, content in _told(record, request).items())
    return [
        (name, appearance.value(content)) for name, content in named if content not in (None, "")
    ]


def _told(record: Record, request: InteractionRequest) -> dict[str, Any]:
    """The context in the asker's own words: a runner's reason is the gate's, see `why`."""
    left_out = {"reason"} if record.from_runner else set()
    return {name: told for name, told in request.context.items() if name not in left_out}


def why(record: Record, request: InteractionRequest) -> str:
    """Why the gate asks, in Placet's own words; empty for what another service asks."""
    gated = record.from_runner and isinstance(request, ApprovalRequest)
    return str(request.context.get("reason") or "") if gated else ""


def unanswered(request: InteractionRequest) -> Markup:
    """What becomes of it if nobody answers, where the asker said so; empty otherwise."""
    if request.on_expiry == "default":
        return Markup("this answer is taken, ") + appearance.value(request.default)
    return Markup("the run stops.") if request.on_expiry == "stop" else Markup("")


def problems(error: Invalid) -> tuple[str, list[FieldError]]:
    """What does not fit, each thing said once: a sentence, and the fields that it does not name."""
    said = str(error)
    for found in error.errors:
        if found.pointer:
            said = said.removesuffix(f"; {found.detail}")
    rest = [e for e in error.errors if e.detail not in said or e.pointer not in said]
    return said, rest


def _title(request: InteractionRequest) -> Markup:
    if isinstance(request, ApprovalRequest | ReviewRequest):
        odd = f"  ({ODD})" if looks_odd(request.call.tool) else ""
        return appearance.one_line(request.call.tool + odd)
    return appearance.one_line(request.message or KIND_WORDS[request.kind])


def _telling(record: Record, request: InteractionRequest) -> str:
    match request:
        case ApprovalRequest() | ReviewRequest():
            return telling(request.call)
        case UrlRequest():
            return request.url
        case EditTextRequest():
            return request.text
        case _:
            told = _told(record, request)
            return str(told.get("reason") or told.get("user_message") or "")
