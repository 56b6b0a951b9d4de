"""`placet audit`: what happened to inputs, proved by chains of hashes."""

import contextlib
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, BinaryIO

from cyclopts import App, Parameter

from placet import audit as trail
from placet.cli.exits import Exit
from placet.cli.output import notes, out, print_json, safe
from placet.cli.runs import Json, client
from placet.errors import Invalid

audit = App(name="audit", help="What happened to inputs, proved by chains of hashes.")


@audit.command
async def show(id: str, *, json: Json = False) -> int:
    """Show the history of one input, and whether its chain is whole. Exits with 1 if it is not."""
    async with client() as placet:
        found = await placet.transport.get(f"/v1/audit/{id}")
    if json:
        print_json(found)
        return Exit.OK if found["intact"] else Exit.FAILED
    for entry in found["history"]:
        facts = {k: v for k, v in entry.items() if v and k not in _STRUCTURE}
        told = "  ".join(f"{name}={_short(value)}" for name, value in facts.items())
        out.print(f"{entry['at'][:19]}  {safe(entry['what']):16} {safe(told)}")
    for tried in found["refused"]:
        out.print(
            f"{tried['at'][:19]}  [yellow]refused[/]          {safe(tried['by'])}: {safe(tried['why'])}"
        )
    return _verdict(found["flaws"], "the chain is whole")


@audit.command
async def export(
    file: Annotated[Path | None, Parameter(help="Where to; the terminal otherwise.")] = None,
    *,
    since: Annotated[datetime | None, Parameter(help="Opened at or after this.")] = None,
    until: Annotated[datetime | None, Parameter(help="Opened before this.")] = None,
) -> int:
    """Export the audit trail of the namespace as JSON lines; the last line is signed.

    Needs the scope `operate`.
    """
    span = {k: v.isoformat() for k, v in (("since", since), ("until", until)) if v is not None}
    written = 0
    with contextlib.nullcontext(sys.stdout.buffer) if file is None else _opened(file) as sink:
        async with client() as placet:
            async for piece in placet.transport.stream("/v1/audit", **span):
                written += piece.count(b"\n")
                sink.write(piece)
    notes.print(f"{max(written - 1, 0)} inputs")
    return Exit.OK


@audit.command
async def key(*, json: Json = False) -> int:
    """Print the public key that exports are signed with. Keep it apart from them."""
    async with client() as placet:
        found = await placet.transport.get("/v1/audit/key")
    if json:
        print_json(found)
    else:
        out.print(found["key"])
    return Exit.OK


@audit.command
async def verify(
    what: Annotated[str, Parameter(help="A file that was exported, or an input (inp_...).")],
    *,
    key: Annotated[
        str | None, Parameter(help="The public key, kept apart; asked of the server otherwise.")
    ] = None,
    json: Json = False,
) -> int:
    """Check an export, or one input's chain: no byte was changed, removed or added.

    Exits with 1 if something does not hold. With --key, no server is asked.
    """
    if what.startswith("inp_"):
        async with client() as placet:
            flaws = (await placet.transport.get(f"/v1/audit/{what}"))["flaws"]
    else:
        flaws = trail.verified(_read(what), key or await _servers_key())
    if json:
        print_json({"intact": not flaws, "flaws": flaws})
        return Exit.OK if not flaws else Exit.FAILED
    return _verdict(flaws, f"{what} is whole")


async def _servers_key() -> str:
    async with client() as placet:
        return str((await placet.transport.get("/v1/audit/key"))["key"])


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise Invalid(f"{path} can't be written: {error}") from error


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise Invalid(f"{path} can't be read: {error}") from error


def _verdict(flaws: list[str], fine: str) -> int:
    for flaw in flaws[:20]:
        notes.print(f"[red]{safe(flaw)}[/]")
    if len(flaws) > 20:
        notes.print(f"and {len(flaws) - 20} more")
    if not flaws:
        notes.print(f"[green]{safe(fine)}[/]")
    return Exit.FAILED if flaws else Exit.OK


_STRUCTURE = frozenset({"what", "at", "prev", "hash", "request", "shown", "outcome"})


def _short(value: str) -> str:
    return value if len(value) <= 60 else value[:57] + "..."
