"""What the fault tests do as a caller and as a person: patient, and never in doubt about ids."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from placet.client import AsyncClient, Input, Run
from placet.domain.run import RunStatus
from placet.errors import Conflict, NotFound, PlacetError, Unavailable
from tests.support.cluster import Member

T = TypeVar("T")
PATIENCE = 120.0


async def patiently(do: Callable[[], Awaitable[T]], *, also: type[PlacetError] = Unavailable) -> T:
    """Try again while servers are away, as a caller with an idempotency key may."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await do()
            except (Unavailable, also):
                await asyncio.sleep(0.1)


async def started(client: AsyncClient, text: str, key: str, agent: str = "worker") -> Run:
    return await patiently(lambda: client.agent(agent).start(text, user="alice", key=key))


async def answered(each: Input) -> None:
    """Say yes until it is known that it was taken; a question on its way to the broker is waited for."""

    async def say() -> Input:
        try:
            if each.kind == "review":
                return await each.settle("accept", {"outcome": "happened"}, from_="alice")
            return await each.settle("accept", True, from_="alice")
        except Conflict:
            return each

    await patiently(say, also=NotFound)


async def finished(client: AsyncClient, run: Run) -> Run:
    """Answer everything that the run asks, until it has ended."""
    done: set[str] = set()
    async with asyncio.timeout(PATIENCE):
        while run.status not in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED):
            for each in run.inputs:
                if each.id not in done:
                    await answered(each)
                    done.add(each.id)
            current = run
            run = await patiently(current.refresh)
            if not any(each.id not in done for each in run.inputs):
                await asyncio.sleep(0.05)
    return run


def effects(ledger: Path, name: str) -> int:
    """Effects by key: each counted once, however often it was tried."""
    return len(list(ledger.glob(f"effect.{name}.*")))


def executions(ledger: Path, name: str) -> int:
    return len(list(ledger.glob(f"run.{name}.*")))


async def wait_for_end(member: Member) -> None:
    while member.alive:  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(0.02)


async def with_reviver(revive: Callable[[], Awaitable[None]], work: Awaitable[T]) -> T:
    """Do the work while `revive` starts again what dies."""
    reviving = asyncio.ensure_future(revive())
    try:
        return await work
    finally:
        reviving.cancel()
        await asyncio.gather(reviving, return_exceptions=True)
