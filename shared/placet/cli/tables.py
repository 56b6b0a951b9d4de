"""Tables for people: whole in a pipe, as wide as the terminal on one, and no id is ever cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.text import Text

from placet.cli.output import notes, out, safe, status_of
from placet.client import Input, Run
from placet.domain import showing
from placet.domain.interaction import ApprovalRequest, InteractionRequest, ReviewRequest

GAP = 2
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Column:
    """A column: what gives way on a narrow terminal, the last one first."""

    name: str
    least: int | None = None
    """Characters that it may shrink to before it is left out; None: it is always whole."""
    wraps: bool = False
    """Whether it goes on in the next line instead of ending in an ellipsis."""


RUNS = (
    Column("RUN"), Column("AGENT", 16), Column("STATUS"), Column("AGE", 3), Column("STEPS", 5),
    Column("TEXT", 8),
)  # fmt: skip
INPUTS = (Column("INPUT"), Column("KIND"), Column("AGE", 3), Column("ASKS", 12, wraps=True))


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, nothing: str = ""
) -> None:
    """Print rows of cells (markup) below the columns' names; or, if there are none, note `nothing`."""
    if nothing and not rows:
        notes.print(nothing)
        return
    head = [Text(column.name, "bold") for column in columns]
    cells = [head, *([Text.from_markup(cell) for cell in row] for row in rows)]
    natural = [max(row[n].cell_len for row in cells) for n in range(len(columns))]
    widths = fitted(columns, natural, out.width) if out.is_terminal else natural
    for row in cells:
        for line in _lines(columns, row, widths):
            out.print(line)


def fitted(columns: Sequence[Column], natural: Sequence[int], room: int) -> list[int]:
    """A width for each column, 0 for one that is left out; the first columns get theirs first."""
    least = [
        width if c.least is None else min(width, c.least)
        for c, width in zip(columns, natural, strict=True)
    ]
    shown = len(columns)
    while shown > 1 and columns[shown - 1].least is not None and _total(least[:shown]) > room:
        shown -= 1
    widths = list(least[:shown])
    for n in range(shown):
        widths[n] += max(0, min(natural[n] - widths[n], room - _total(widths)))
    return widths + [0] * (len(columns) - shown)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _lines(columns: Sequence[Column], row: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    shown = [
        cell.wrap(out, width) if column.wraps else [_cut(cell, width)]
        for column, cell, width in zip(columns, row, widths, strict=True)
        if width
    ]
    used = [width for width in widths if width]
    return [
        _joined([cell[n] if n < len(cell) else Text() for cell in shown], used)
        for n in range(max(len(cell) for cell in shown))
    ]


def _cut(cell: Text, width: int) -> Text:
    cell.truncate(width, overflow="ellipsis")
    return cell


def _joined(cells: Sequence[Text], widths: Sequence[int]) -> Text:
    line = Text()
    for cell, width in zip(cells, widths, strict=True):
        line.append_text(cell)
        line.append(" " * (width - cell.cell_len + GAP))
    line.rstrip()
    return line


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
        return f"{request.call.tool}  {showing.telling(request.call)}"
    return request.message


def runs_rows(runs: Sequence[Run]) -> list[list[str]]:
    """Runs, a row each."""
    return [
        [
            run.id, safe(run.value.agent), status_of(run), age(run.value.created_at),
            str(run.value.steps), _short(_said(run)),
        ]
        for run in runs
    ]  # fmt: skip


def inputs_rows(inputs: Sequence[Input]) -> list[list[str]]:
    """Inputs, a row each."""
    return [
        [
            each.id,
            each.kind.value,
            age(each.value.request.requested_at),
            _short(telling(each.value.request)),
        ]
        for each in inputs
    ]


def _said(run: Run) -> str:
    return run.value.text or (run.value.error.message if run.value.error else "")


def _short(text: str) -> str:
    """The first line; a long one is cut where a person reads it, and not in a pipe."""
    first, _, rest = text.partition("\n")
    shown = first[:_LONGEST] if out.is_terminal else first
    return safe(shown) + ("…" if rest or len(shown) < len(first) else "")
