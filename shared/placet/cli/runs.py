"""`placet run`, `ps`, `show`, `msg`, `abort`."""

import os
from typing import Annotated

from cyclopts import Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, out, print_input, print_json, print_run, runs_table, safe
from placet.client import AsyncClient, Run
from placet.domain.run import RunStatus

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON.")]
User = Annotated[str | None, Parameter(help="On whose behalf; PLACET_USER otherwise.")]


def acting_user(user: str | None) -> str | None:
    """Who the command acts for."""
    return user or os.environ.get("PLACET_USER") or None


def _code(run: Run) -> Exit:
    failed = run.status in (RunStatus.FAILED, RunStatus.CANCELLED)
    return Exit.FAILED if failed else Exit.OK


async def run(
    agent: str,
    text: str,
    *,
    user: User = None,
    detach: Annotated[bool, Parameter(negative="", help="Return at once.")] = False,
    json: Json = False,
) -> int:
    """Start a run and wait until it needs somebody or has ended.

    Exits with 1 if it failed, 0 if it completed or waits for an input.
    """
    async with AsyncClient() as client:
        started = await client.agent(agent).start(text, user=acting_user(user))
        if not detach:
            with notes.status(f"{started.id} is running"):
                started = await started.wait()
    if json:
        print_json(started.value.model_dump(mode="json"))
    else:
        print_run(started)
    return _code(started)


async def ps(
    *,
    status: Annotated[RunStatus | None, Parameter(help="Only these.")] = None,
    limit: Annotated[int, Parameter(help="At most so many.")] = 20,
    json: Json = False,
) -> int:
    """List the newest runs."""
    async with AsyncClient() as client:
        runs = await client.runs.list(status=status, limit=limit)
    if json:
        print_json([each.value.model_dump(mode="json") for each in runs])
    elif runs:
        out.print(runs_table(runs))
    else:
        notes.print("no runs")
    return Exit.OK


async def show(
    id: str,
    *,
    journal: Annotated[bool, Parameter(negative="", help="Every finished step.")] = False,
    json: Json = False,
) -> int:
    """Show one run (run_...) or one input (inp_...)."""
    async with AsyncClient() as client:
        if id.startswith("inp_"):
            return await _show_input(client, id, json)
        found = await client.runs.get(id)
        entries = await client.runs.journal(id) if journal else None
    if json:
        print_json(found.value.model_dump(mode="json") | ({"journal": entries} if journal else {}))
        return Exit.OK
    print_run(found)
    for entry in entries or ():
        fields = {k: v for k, v in entry.items() if k not in ("type", "at", "op")}
        out.print(f"[dim]{entry.get('at', '')}[/] {entry['type']} {safe(fields)}")
    return Exit.OK


async def _show_input(client: AsyncClient, id: str, json: bool) -> int:

    found = await client.input(id)
    if json:
        print_json(found.value.model_dump(mode="json"))
    else:
        print_input(found)
    return Exit.OK


async def msg(
    agent: str,
    text: str,
    *,
    queue: Annotated[
        bool, Parameter(negative="", help="Keep waiting inputs; be read after them.")
    ] = False,
    user: User = None,
    json: Json = False,
) -> int:
    """Tell a running agent (agt_...) or run (run_...) something."""
    async with AsyncClient() as client:
        told = await client.agent(agent).message(
            text, mode="queue" if queue else "supersede", user=acting_user(user)
        )
    if json:
        print_json(told.value.model_dump(mode="json"))
    else:
        notes.print(f"{told.id} has the message")
    return Exit.OK


async def abort(agent: str, *, json: Json = False) -> int:
    """End a run (run_...) or an agent's current run (agt_...) at once."""
    async with AsyncClient() as client:
        ended = await client.agent(agent).abort()
    if json:
        print_json(ended.value.model_dump(mode="json"))
    else:
        notes.print(f"{ended.id} is {ended.status.value}")
    return Exit.OK
