"""`placet dead`: what could not be handled, with the reason."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from cyclopts import App, Parameter

from placet.bus import open_bus
from placet.bus.port import Bus, DeadLetter
from placet.cli.exits import Exit
from placet.cli.output import notes, out, print_json, safe
from placet.cli.runs import Json
from placet.errors import NotFound, SettingsError

dead = App(name="dead", help="Dead letters on RabbitMQ (for the operator).")


@asynccontextmanager
async def _bus() -> AsyncIterator[Bus]:
    url = os.environ.get("PLACET_AMQP_URL")
    if not url:
        raise SettingsError("PLACET_AMQP_URL is missing: RabbitMQ, as the user placet-operator")
    bus = await open_bus(url.replace("{user}", "placet-operator"))
    try:
        yield bus
    finally:
        await bus.close()


def _shown(letter: DeadLetter, *, whole: bool = False) -> dict[str, Any]:
    delivery = letter.delivery
    shown = {
        "id": letter.id,
        "queue": letter.queue,
        "reason": letter.reason,
        "dead_at": letter.dead_at,
        "type": delivery.type,
        "user_id": delivery.user_id,
    }
    return shown | {"body": delivery.body.decode(errors="replace")} if whole else shown


@dead.command(name="list")
async def list_(
    *, limit: Annotated[int, Parameter(help="At most so many.")] = 100, json: Json = False
) -> int:
    """List dead letters, the oldest first; they stay where they are."""
    async with _bus() as bus:
        found = await bus.dead(limit)
    if json:
        print_json([_shown(letter) for letter in found])
        return Exit.OK
    for letter in found:
        out.print(f"{letter.id}  {letter.queue}  {letter.delivery.type}  {safe(letter.reason)}")
    if not found:
        notes.print("no dead letters")
    return Exit.OK


@dead.command
async def show(id: str, *, json: Json = False) -> int:
    """Show one dead letter with its body."""
    async with _bus() as bus:
        found = next((letter for letter in await bus.dead(10_000) if letter.id == id), None)
    if found is None:
        raise NotFound(f"no dead letter {id!r}")
    shown = _shown(found, whole=True)
    if json:
        print_json(shown)
    else:
        for name, value in shown.items():
            out.print(f"[bold]{name}[/]: {safe(value)}")
    return Exit.OK


@dead.command
async def retry(id: str) -> int:
    """Publish one of Placet's own messages again, and take it off the queue."""
    async with _bus() as bus:
        await bus.retry_dead(id)
    notes.print(f"{id} was published again")
    return Exit.OK


@dead.command
async def drop(id: str) -> int:
    """Take a dead letter off the queue for good."""
    async with _bus() as bus:
        await bus.drop_dead(id)
    notes.print(f"{id} is gone")
    return Exit.OK
