"""`placet run`, `ps`, `show`, `msg`, `abort`."""

import os
from typing import Annotated

from cyclopts import Group, Parameter, validators

from placet.cli.exits import Exit
from placet.cli.output import how_to_answer, notes, out, print_input, print_json, print_run, safe
from placet.cli.tables import RUNS, print_table, runs_rows
from placet.client import AsyncClient, Run
from placet.domain.run import RunStatus
from placet.errors import NotFound

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON.")]
_NOBODY = Group("Unattended", validator=validators.MutuallyExclusive())  # type: ignore[no-untyped-call]
User = Annotated[str | None, Parameter(help="On whose behalf; PLACET_USER otherwise.")]


def acting_user(user: str | None) -> str | None:
    """Who the command acts for."""
    return user or os.environ.get("PLACET_USER") or None


def client() -> AsyncClient:
    """The SDK, whose answers are recorded as the command's."""
    return AsyncClient(channel="cli")


def _code(run: Run) -> Exit:
    failed = run.status in (RunStatus.FAILED, RunStatus.CANCELLED)
    return Exit.FAILED if failed else Exit.OK


async def run(
    agent: str,
    text: str,
    *,
    user: User = None,
    detach: Annotated[bool, Parameter(negative="", help="Return at once.")] = False,
    unattended: Annotated[
        bool, Parameter(group=_NOBODY, negative="", help="Nobody is there: deny what would ask.")
    ] = False,
    yolo: Annotated[
        bool,
        Parameter(
            group=_NOBODY,
            negative="",
            help="Nobody is there: run what would ask, where the operator lets you.",
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Start a run and wait until it needs somebody or has ended.

    Exits with 1 if it failed, 0 if it completed or waits for an input.
    """
    async with client() as placet:
        started = await placet.agent(agent).start(
            text,
            user=acting_user(user),
            unattended="allow" if yolo else "deny" if unattended else None,
        )
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
    async with client() as placet:
        runs = await placet.runs.list(status=status, limit=limit)
    if json:
        print_json([each.value.model_dump(mode="json") for each in runs])
    else:
        print_table(RUNS, runs_rows(runs), nothing="no runs")
    return Exit.OK


async def show(
    id: str,
    *,
    journal: Annotated[bool, Parameter(negative="", help="Every finished step.")] = False,
    json: Json = False,
) -> int:
    """Show one run (run_...) or one input (inp_...)."""
    async with client() as placet:
        if id.startswith("inp_"):
            return await _show_input(placet, id, json)
        found = await placet.runs.get(id)
        entries = await placet.runs.journal(id) if journal else None
    if json:
        print_json(found.value.model_dump(mode="json") | ({"journal": entries} if journal else {}))
        return Exit.OK
    print_run(found)
    for entry in entries or ():
        fields = {k: v for k, v in entry.items() if k not in ("type", "at", "op")}
        out.print(f"[dim]{entry.get('at', '')}[/] {entry['type']} {safe(fields)}")
    return Exit.OK


async def _show_input(placet: AsyncClient, id: str, json: bool) -> int:
    found = await placet.input(id)
    if json:
        print_json(found.value.model_dump(mode="json"))
    else:
        print_input(found)
        if found.state == "pending":
            notes.print(f"  [dim]{how_to_answer(found)}[/]")
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
    mode = "queue" if queue else "supersede"
    async with client() as placet:
        try:
            told = await placet.agent(agent).message(text, mode=mode, user=acting_user(user))
        except NotFound as error:
            raise _no_agent(agent, error) from error
    if json:
        print_json(told.value.model_dump(mode="json"))
    else:
        notes.print(f"{told.id} has the message")
    return Exit.OK


def _no_agent(given: str, error: NotFound) -> NotFound:
    """A definition has any number of agents: its name does not say which one is meant."""
    if given.startswith(("agt_", "run_")):
        return error
    return NotFound(
        f"{given!r} is no agent (agt_...) and no run (run_...): give the id of one, `placet ps` "
        f"lists them. A new one: placet run {given} TEXT"
    )


async def abort(agent: str, *, json: Json = False) -> int:
    """End a run (run_...) or an agent's current run (agt_...) at once."""
    async with client() as placet:
        try:
            ended = await placet.agent(agent).abort()
        except NotFound as error:
            raise _no_agent(agent, error) from error
    if json:
        print_json(ended.value.model_dump(mode="json"))
    else:
        notes.print(f"{ended.id} is {ended.status.value}")
    return Exit.OK
