"""What the command prints: lines for people, JSON for programs."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from placet.cli import asked
from placet.cli.asked import safe
from placet.cli.howto import how_to_answer
from placet.client import Input, Run
from placet.domain.run import Run as RunValue
from placet.domain.run import WaitReason

__all__ = ["how_to_answer", "notes", "out", "print_input", "print_json", "print_run", "safe"]

out = Console(highlight=False, soft_wrap=True)
notes = Console(stderr=True, highlight=False, soft_wrap=True)

_WORDS = {WaitReason.INTERACTION_POINT: "checkpoint"}
_COLOURS = {"completed": "green", "failed": "red", "cancelled": "dim", "input_required": "yellow"}


def print_json(value: Any) -> None:
    """One JSON value on stdout, a line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")


def status_of(run: Run) -> str:
    """A run's status, with what it waits for."""
    reason = run.value.wait_reason
    shown = f"waiting: {_WORDS.get(reason, reason)}" if reason else run.status.value
    return f"[{_COLOURS.get(run.status.value, 'default')}]{shown}[/]"


def print_input(each: Input) -> None:
    """One input in full: the real call first, the asker's words labelled below it, how it ended."""
    request = each.value.request
    out.print(f"[bold]{each.id}[/]  {each.kind.value}  {each.state}")
    if len(request.path) > 1:
        out.print(f"  [dim]from:[/] {safe(' / '.join(request.path))}")
    for line in asked.lines(request):
        out.print(f"  {line}")
    if each.state == "pending":
        for line in asked.attended(each.value):
            out.print(f"  {line}")
    if request.expires_at and each.state == "pending":
        out.print(f"  [dim]until {request.expires_at:%Y-%m-%d %H:%M} UTC[/]")
    if each.resolution:
        for line in asked.ended(each.resolution):
            out.print(f"  {line}")


def _place(run: RunValue) -> Iterator[str]:
    """Where it stands among other runs and in its stages, and what nobody approved on the way."""
    if len(run.path) > 1:
        yield f"path: {safe(' / '.join(run.path))}, below {run.parent_run_id}"
    if run.stage != "main":
        yield f"stage: {safe(run.stage)}"
    if run.unattended:
        yield f"unattended: {run.unattended}"
    for child in run.children:
        yield f"child: {child.run_id}  {safe(child.agent)}"
    for freeze in run.frozen_by:
        yield f"frozen: {freeze.id} by {safe(freeze.by)}: {safe(freeze.reason)}"
    for point in run.passed:
        yield f"passed: {safe(point.stage)} / {safe(point.point)}  {point.how}"


def print_run(run: Run) -> None:
    """One run: where it stands, what it said, what it waits for and how to answer."""
    out.print(f"[bold]{run.id}[/]  {safe(run.value.agent)}  {status_of(run)}")
    for line in _place(run.value):
        out.print(f"  [dim]{line}[/]")
    if run.text:
        out.print(safe(run.text, keep_newlines=True))
    if run.error:
        out.print(f"[red]{run.error.code}[/]: {safe(run.error.message)}")
    for each in run.inputs:
        print_input(each)
        notes.print(f"  [dim]{how_to_answer(each)}[/]")
    for message in run.undelivered:
        out.print(f"[dim]undelivered:[/] {safe(message.text)}")
