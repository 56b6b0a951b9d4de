"""What the command prints: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from placet.client import Input, Run
from placet.domain.interaction import (
    ApprovalRequest,
    FormRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    QuestionsRequest,
    ReviewRequest,
    UrlRequest,
)
from placet.domain.visible import visible

out = Console(highlight=False, soft_wrap=True)
notes = Console(stderr=True, highlight=False, soft_wrap=True)

_COLOURS = {"completed": "green", "failed": "red", "cancelled": "dim", "input_required": "yellow"}


def print_json(value: Any) -> None:
    """One JSON value on stdout, a line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")


def safe(text: object, *, keep_newlines: bool = False) -> str:
    """Text from a model or a stranger, ready for a terminal: nothing in it is obeyed."""
    return escape(visible(str(text), keep_newlines=keep_newlines))


def status_of(run: Run) -> str:
    """A run's status, with what it waits for."""
    reason = run.value.wait_reason
    shown = f"waiting: {reason}" if reason else run.status.value
    return f"[{_COLOURS.get(run.status.value, 'default')}]{shown}[/]"


def age(at: datetime) -> str:
    """How long ago, in one unit."""
    seconds = max(0, int((datetime.now(UTC) - at).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def telling(request: InteractionRequest) -> str:
    """One line that tells what is asked: the call itself for an approval."""
    if isinstance(request, ApprovalRequest | ReviewRequest):
        args = json.dumps(request.call.args, ensure_ascii=False)
        return f"{request.call.tool} {args}"
    return request.message


def runs_table(runs: Sequence[Run]) -> Table:
    """Runs, a line each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("RUN", "AGENT", "STATUS", "STEPS", "AGE", "TEXT"):
        table.add_column(
            column, overflow="fold" if column == "RUN" else "ellipsis", no_wrap=column != "TEXT"
        )
    for run in runs:
        value = run.value
        said = value.text or (value.error.message if value.error else "")
        cells = (run.id, safe(value.agent), status_of(run), str(value.steps), age(value.created_at))
        table.add_row(*cells, safe(said.split("\n")[0][:60]))
    return table


def inputs_table(inputs: Sequence[Input]) -> Table:
    """Inputs, a line each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("INPUT", "KIND", "AGE", "ASKS"):
        table.add_column(column, overflow="fold", no_wrap=column != "ASKS")
    for each in inputs:
        request = each.value.request
        first, _, rest = telling(request).partition("\n")
        line = safe(first[:120]) + ("…" if rest or len(first) > 120 else "")
        table.add_row(each.id, each.kind.value, age(request.requested_at), line)
    return table


def print_input(each: Input) -> None:
    """One input in full: the real call first, the asker's words labelled below it."""
    request = each.value.request
    out.print(f"[bold]{each.id}[/]  {each.kind.value}  {each.state}")
    if isinstance(request, ApprovalRequest | ReviewRequest):
        out.print(f"  [bold]{safe(request.call.tool)}[/]")
        args = json.dumps(request.call.args, ensure_ascii=False, indent=2)
        out.print("  " + safe(args, keep_newlines=True).replace("\n", "\n  "))
    if isinstance(request, ApprovalRequest):
        out.print(
            f"  risk: {request.risk}   why: {safe(request.context.get('reason', 'not said'))}"
        )
    out.print(f"  [dim]asks:[/] {safe(request.message)}")
    for line in _choices(request):
        out.print(f"  {line}")
    if request.expires_at:
        out.print(f"  [dim]until {request.expires_at:%Y-%m-%d %H:%M} UTC[/]")
    resolution = each.value.resolution
    if resolution:
        by = resolution.by.id if resolution.by else "nobody"
        when = f"{resolution.at:%Y-%m-%d %H:%M:%S} UTC ({resolution.channel})"
        out.print(f"  {resolution.state} by {safe(by)} at {when}")


def _choices(request: InteractionRequest) -> list[str]:
    match request:
        case MultipleChoiceRequest():
            return [f"{n}: {safe(option)}" for n, option in enumerate(request.options)]
        case QuestionsRequest():
            return [
                f"{safe(q.question)}: " + ", ".join(safe(o.label) for o in q.options)
                for q in request.questions
            ]
        case FormRequest():
            return [f"fields: {safe(', '.join(request.form['properties']))}"]
        case UrlRequest():
            return [f"page: {safe(request.url)}"]
        case ReviewRequest():
            return ["outcomes: " + ", ".join(request.outcomes)]
        case _:
            return []


def how_to_answer(each: Input) -> str:
    """The command that answers this kind."""
    start = f"placet respond {each.id}"
    match each.kind:
        case "tool_approval" | "confirm":
            return f"{start} --approve   (or --deny)"
        case "multiple_choice":
            return f"{start} --choice N"
        case "url":
            return f"{start} --approve   (once it is done)"
        case "form" | "questions" | "review":
            return f"{start} --content '{{...}}'"
        case _:
            return f'{start} "text"'


def print_run(run: Run) -> None:
    """One run: where it stands, what it said, what it waits for and how to answer."""
    out.print(f"[bold]{run.id}[/]  {safe(run.value.agent)}  {status_of(run)}")
    if run.text:
        out.print(safe(run.text, keep_newlines=True))
    if run.error:
        out.print(f"[red]{run.error.code}[/]: {safe(run.error.message)}")
    for each in run.inputs:
        print_input(each)
        notes.print(f"  [dim]{how_to_answer(each)}[/]")
    for message in run.undelivered:
        out.print(f"[dim]undelivered:[/] {safe(message.text)}")
