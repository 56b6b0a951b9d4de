"""All of Placet for one example, the people around it, and what goes wrong there."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import timedelta
from typing import Any

from placet.client import AsyncClient, Run
from placet.domain.interaction import InteractionRequest
from placet.errors import Conflict, NotFound, PlacetError, Unavailable
from tests.support.stateful.answers import fitting
from tests.support.stateful.evidence import Evidence, record, story
from tests.support.stateful.fleet import Fleet
from tests.support.stateful.freezing import Operators
from tests.support.stateful.plans import Ledger, Plan, agents, as_input
from tests.support.stateful.virtual import VirtualLoop
from tests.support.stateful.watching import CRASHES, Watching

LONG = timedelta(hours=7)
ROUNDS = 60
STILL = 0.3
"""Seconds after which what followed from a step has happened, if nobody waits for longer."""


class World(Operators):
    """Two or three processes of each service, and everybody who talks to them."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.watching = Watching()
        self.fleet = Fleet(
            self.loop, lambda member: agents(self.ledger, member), self.watching, seed
        )
        self.watching.fleet = self.fleet
        self.ledger = Ledger(self.fleet.clock)
        self.watching.effects = self.ledger.effects.__len__
        self.runs: list[str] = []
        self.said: list[str] = []
        self.lost = False
        self.turn = 0
        self.do(self._open())

    def do(self, work: Awaitable[Any]) -> Any:
        """Do this in the loop; what is under way goes on meanwhile."""
        return self.fleet.run(work)

    async def _open(self) -> None:
        for service in ("broker", "broker", "runner", "runner"):
            await self.fleet.start(service)
        await self.arrive()

    async def start(
        self, agent: str, plan: Plan, who: str, own: bool, unattended: str | None, pick: int
    ) -> None:
        """A run, on this person's behalf."""
        client = self.client("runner", who if own else "app", pick)
        if client is None:
            return
        self.turn += 1
        body = {"input": as_input(plan, f"start {self.turn}")}
        body |= ({} if own else {"user": who}) | ({"unattended": unattended} if unattended else {})
        key = {"Idempotency-Key": f"start-{self.turn}"}
        for _ in range(3):
            try:
                path = f"/v1/agents/{agent}/runs"
                run = client.run_from(await client.transport.post(path, body, headers=key))
            except Unavailable:
                client = self.client("runner", who if own else "app")
                if client is None:
                    return
            else:
                self.runs.append(run.id)
                return

    def run_at(self, pick: int) -> str | None:
        """One of the runs, the newest for 0."""
        return self.runs[-1 - pick % len(self.runs)] if self.runs else None

    async def extend(self, pick: int, minutes: int) -> None:
        """More time for one."""
        request, client = await self.question(pick), self.client("broker", "app", pick)
        if request is not None and client is not None and request.expires_at is not None:
            until = request.expires_at + timedelta(minutes=minutes)
            await _mildly(_extended(client, request, until))

    async def tell(self, pick: int, who: str, mode: str, plan: Plan | None) -> None:
        """A message, from whoever may start runs of the agent."""
        run, client = self.run_at(pick), self.client("runner", who, pick)
        if run is None or client is None:
            return
        self.turn += 1
        text = as_input(plan, f"told {self.turn}") if plan else f"told {self.turn}"
        body = {"text": text, "mode": mode, "id": f"m{self.turn}"}
        for _ in range(2):
            try:
                await client.transport.post(f"/v1/runs/{run}/messages", body)
            except Unavailable:
                client = self.client("runner", who)
                if client is None:
                    return
            except PlacetError:
                return
            else:
                self.said.append(text)
                return

    async def abort(self, pick: int) -> None:
        """The end of a run, at once."""
        run, client = self.run_at(pick), self.client("runner", "app", pick)
        if run is not None and client is not None:
            await _mildly(client.transport.post(f"/v1/runs/{run}/abort"))

    async def revoke(self, pick: int) -> None:
        """Take back the first grant of a run that stands."""
        run, client = self.run_at(pick), self.client("runner", "app", pick)
        if run is None or client is None:
            return
        try:
            for grant in await client.runs.grants(run):
                if grant.revoked_at is None:
                    await client.runs.revoke_grant(run, grant.id)
                    return
        except (Unavailable, Conflict, NotFound):
            return

    # --- what goes wrong ---

    async def kill(self, service: str, pick: int, writes: int | None, before: bool) -> None:
        """Kill a process now, or at one of its next writes."""
        living = self.fleet.living(service)
        if living and writes is None:
            living[pick % len(living)].kill()
        elif living:
            member = living[pick % len(living)]
            member.writes_left, member.before = writes, before

    async def turn_the_clock(self, minutes: int) -> None:
        """All of it at one stroke, as if every machine had slept."""
        self.fleet.clock.turn(timedelta(minutes=minutes))

    async def double(self, kind: str) -> None:
        """From now on messages of this type come twice, or once again."""
        self.fleet.network.twice.symmetric_difference_update({kind})

    async def swallow(self, kind: str) -> None:
        """From now on messages of this type are confirmed and lost, or not any more."""
        self.fleet.network.lossy.symmetric_difference_update({kind})
        self.lost = True

    async def launch(self, service: str) -> None:
        """One more, up to three that live."""
        if len(self.fleet.living(service)) < 3 and not self.fleet.hub.server.away:
            await self.fleet.start(service)

    async def stop(self, service: str, pick: int) -> None:
        """SIGTERM."""
        living = self.fleet.living(service)
        if living:
            await self.fleet.stop(living[pick % len(living)])

    async def restart(self) -> None:
        """Everything dies, and is there again."""
        for member in self.fleet.members:
            member.kill()
        self.fleet.hub.mend()
        for service in ("broker", "runner", "broker", "runner"):
            await self.fleet.start(service)

    async def cut(self) -> None:
        """The bus is away."""
        self.fleet.hub.cut()

    async def mend(self) -> None:
        """It is there again."""
        self.fleet.hub.mend()

    async def lose(self) -> None:
        """What waits in queues is gone."""
        if self.fleet.hub.lose():
            self.lost = True

    async def replay(self, pick: int) -> None:
        """Something that was published before comes again, late."""
        old = self.watching.published_so_far
        if old and not self.fleet.hub.server.away:
            message, user = old[-1 - pick % len(old)]
            self.fleet.hub.server.publish(message, user)

    # --- the end ---

    async def breathe(self, steps: int | None) -> None:
        """Let everything go on: so many steps, or until hardly anything moves."""
        if steps is None:
            await asyncio.sleep(STILL)
        else:
            for _ in range(steps):
                await asyncio.sleep(0)

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def heal(self) -> None:
        """No more faults: every service lives, and the bus is there."""
        self.fleet.hub.mend()
        self.fleet.network.twice.clear()
        self.fleet.network.lossy.clear()
        for member in self.fleet.members:
            member.writes_left = None
        for service in ("broker", "runner"):
            if not self.fleet.living(service):
                await self.fleet.start(service)
        await self.lift_all()

    async def finish(self) -> None:
        """Answer what is open until every run has ended, and everything is said."""
        await self.heal()
        for number in range(ROUNDS):
            await asyncio.sleep(3)
            for each in await self.open_inputs():
                request = record(each).request()
                content = fitting(request)[0]
                await self.answer(request, "accept", content, "named", number)
            await asyncio.sleep(3)
            if await self._over():
                return
            if number % 3 == 2:
                self.fleet.clock.turn(timedelta(minutes=2) if number < 15 else LONG)

    async def _over(self) -> bool:
        runs = await self._documents("placet_runs", "runs")
        live = any(run["status"] in ("queued", "running", "input_required") for run in runs)
        waiting = any(e["resolution"] is None for run in runs for e in run["waiting"])
        inputs = await self._documents("placet_interactions", "interactions")
        return not live and not waiting and not any(d["outbox"] for d in [*runs, *inputs])

    async def _documents(self, database: str, table: str) -> Sequence[dict[str, Any]]:
        return await self.fleet.databases[database].collection(table).find({}, limit=100_000)

    async def look_at_suspended(self) -> None:
        """What is held of runs that wait for people, and go on being held."""
        before = self.watching.held_of(await self._documents("placet_runs", "runs"))
        if before:
            await asyncio.sleep(STILL)
            after = self.watching.held_of(await self._documents("placet_runs", "runs"))
            self.watching.holding += sorted(before & after)

    async def evidence(self) -> Evidence:
        """Everything that the checks go by."""
        chunks = await self._documents("placet_runs", "journal")
        runs = [story(run, chunks) for run in await self._documents("placet_runs", "runs")]
        inputs = map(record, await self._documents("placet_interactions", "interactions"))
        dead = await self.desk.dead(1000)
        return Evidence(
            runs={run.id: run for run in runs},
            records={each.id: each for each in inputs},
            effects=self.ledger.effects,
            attempts=self.attempts,
            unheard=self.watching.unheard,
            finished=self.watching.finished,
            landed=self.watching.landed,
            zombies=self.watching.zombies,
            holding=self.watching.holding,
            said=self.said,
            dead=[f"{letter.queue}: {letter.reason}" for letter in dead],
            frozen=self.stopped.spans,
            crashes=list(CRASHES),
            unanswered=[] if self.lost else list(self.posted.values()),
        )

    def close(self) -> None:
        """Nothing is left of it."""
        self.fleet.close()


async def _extended(client: AsyncClient, request: InteractionRequest, until: Any) -> None:
    found = await client.input(request.id)
    await found.extend(until, from_=request.audience.initiator)


async def _mildly(work: Awaitable[Any]) -> Run | None:
    try:
        await work
    except PlacetError:
        return None
    return None
