"""A question as lines for a terminal: what is asked, by kind, and how it ended."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.markup import escape

from placet.domain.audience import Priority
from placet.domain.form import choices
from placet.domain.interaction import (
    ApprovalRequest,
    EditTextRequest,
    FormRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    Question,
    QuestionsRequest,
    ReviewRequest,
    UrlRequest,
)
from placet.domain.resolution import Input, Resolution, VoteShown
from placet.domain.showing import ODD, TRUSTING, looks_odd
from placet.domain.visible import visible


def safe(text: object, *, keep_newlines: bool = False) -> str:
    """Text from a model or a stranger, ready for a terminal: nothing in it is obeyed."""
    return escape(visible(str(text), keep_newlines=keep_newlines))


def lines(request: InteractionRequest) -> Iterator[str]:
    """What is asked: the call, if a call waits for the answer; the asker's words; what to choose from."""
    if isinstance(request, ApprovalRequest | ReviewRequest):
        odd = f"  [yellow]({ODD})[/]" if looks_odd(request.call.tool) else ""
        yield f"[bold]{safe(request.call.tool)}[/]{odd}"
        yield from _block(request.call.args)
    if isinstance(request, ApprovalRequest):
        yield f"risk: {request.risk}   why: {safe(request.context.get('reason') or 'not said')}"
    if request.message:
        yield f"[dim]asks:[/] {safe(request.message)}"
    if request.body:
        yield from _block(request.body, "[dim]says:[/] ")
    yield from _choices(request)
    if isinstance(request, ApprovalRequest) and request.trust:
        yield f"trust: {TRUSTING}"
    if request.on_expiry == "default":
        yield from _block(request.default, "[dim]if nobody answers:[/] ")
    elif request.on_expiry == "stop":
        yield "[dim]if nobody answers:[/] the run stops"


def attended(found: Input) -> Iterator[str]:
    """What people have done with it so far, and how many it takes; nothing where one yes is enough."""
    request, policy = found.request, found.request.policy
    if found.proposed_args is not None:
        changed = f"[yellow]{safe(found.votes[0].by)} changed the arguments; these would run:[/] "
        yield from _block(found.proposed_args, changed)
    if policy.quorum > 1 or found.votes:
        said = [_vote(vote) for vote in found.votes]
        yield f"takes {policy.quorum} people: {len(said)} said yes" + _listed(said)
    if policy.exclude_initiator and request.audience.initiator:
        yield f"{safe(request.audience.initiator)} can't approve it, and may refuse it"
    if request.priority is not Priority.NORMAL or request.labels:
        yield f"[dim]{request.priority}{_listed([safe(each) for each in request.labels])}[/]"
    if found.claimed is not None and found.claimed.until > datetime.now(UTC):
        yield f"[dim]{safe(found.claimed.by)} is looking at it[/]"
    if found.unanswerable:
        yield "[red]fewer people may answer it than it takes[/]"


def _vote(vote: VoteShown) -> str:
    stands_in = "" if vote.on_behalf_of == vote.by else f" for {vote.on_behalf_of}"
    return safe(vote.by + stands_in)


def _listed(words: Sequence[str]) -> str:
    return f" ({', '.join(words)})" if words else ""


def ended(resolution: Resolution) -> Iterator[str]:
    """How it ended: what was answered and why, by whom, when, and through what."""
    outcome = resolution.outcome
    by = f"by {safe(resolution.by.id)}" if resolution.by else "by nobody"
    if resolution.voters:
        by = f"by {safe(', '.join(resolution.voters))}"
    elif resolution.on_behalf_of:
        by += f" for {safe(resolution.on_behalf_of)}"
    at = f"{resolution.at:%Y-%m-%d %H:%M:%S} UTC"
    through = f", through {safe(resolution.channel)}" if resolution.channel else ""
    yield f"[bold]{outcome.decision or outcome.state}[/] {by}, {at}{through}"
    if outcome.content is not None and outcome.decision is None:
        yield from _block(outcome.content, "answer: ")
    if outcome.scope not in (None, "once"):
        yield f"granted for this {outcome.scope}"
    if outcome.trust:
        yield "trusted from now on, in this person's runs"
    if outcome.reason:
        yield from _block(outcome.reason, "reason: ")


def _choices(request: InteractionRequest) -> Iterator[str]:
    match request:
        case MultipleChoiceRequest() | ApprovalRequest():
            yield from (f"{n}: {safe(option)}" for n, option in enumerate(request.options))
        case QuestionsRequest():
            for question in request.questions:
                yield from _question(question)
        case FormRequest():
            required = request.form.get("required", [])
            for name, field in request.form["properties"].items():
                yield _field(name, field, needed=name in required)
        case UrlRequest():
            yield f"page: {safe(request.url)}"
            if request.warning:
                yield f"[yellow]{safe(request.warning)}[/]"
        case EditTextRequest():
            yield from _block(request.text, "text: ")
        case ReviewRequest():
            if request.difference:
                yield from _block(request.difference, "changed:\n  ")
            yield "outcomes: " + ", ".join(request.outcomes)
        case _:
            return


def _question(question: Question) -> Iterator[str]:
    also = [
        word
        for word, so in (("several", question.multi_select), ("or a text", question.allow_other))
        if so
    ]
    yield f"{safe(question.question)}" + (f" [dim]({', '.join(also)})[/]" if also else "")
    for option in question.options:
        more = f" [dim]{safe(option.description)}[/]" if option.description else ""
        yield f"  - {safe(option.label)}{more}"


def _field(name: str, field: dict[str, Any], *, needed: bool) -> str:
    """A field of a form: its name, what fits, and whether it must be there."""
    offered = choices(field["items"] if field.get("type") == "array" else field)
    fits = " | ".join(map(_offered, offered)) if offered else str(field.get("type", "any"))
    notes = [fits, *(["required"] if needed else [])]
    if field.get("sealed") is True:
        notes.append("sealed: only the tool reads it")
    if "default" in field:
        notes.append(f"default {json.dumps(field['default'], ensure_ascii=False)}")
    told = field.get("description") or field.get("title")
    return f"{safe(name)} [dim]({safe(', '.join(notes))})[/]" + (f" {safe(told)}" if told else "")


def _offered(option: tuple[Any, str]) -> str:
    """A value that may be chosen, with its title where that is another word."""
    value, title = option
    return str(value) if title == str(value) else f"{value} ({title})"


def _block(content: Any, label: str = "") -> Iterator[str]:
    """A text as it is, anything else as JSON; a second line stands below the first."""
    text = (
        content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    )
    first, *rest = safe(text, keep_newlines=True).split("\n")
    yield label + first
    yield from (f"  {line}" if label else line for line in rest)
