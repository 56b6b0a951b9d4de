"""All of Placet for one example, the people around it, and what goes wrong there."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import timedelta
from typing import Any

from placet.bus.port import Ack, Delivery, Outgoing
from placet.client import AsyncClient, Run
from placet.client.batches import Answer
from placet.domain.interaction import InteractionRequest
from placet.domain.resolution import Input
from placet.errors import Conflict, NotFound, PlacetError, Unavailable
from placet.ids import new_id
from placet.messages import AnswerMessage
from placet.messages.wire import encode, name_of
from placet.process.auth import ALL_SCOPES, PERSON_SCOPES
from tests.support.stateful.answers import WRONG, fitting
from tests.support.stateful.evidence import Attempt, Evidence, record, story
from tests.support.stateful.fleet import Fleet
from tests.support.stateful.plans import Ledger, Plan, agents, as_input
from tests.support.stateful.virtual import VirtualLoop
from tests.support.stateful.watching import CRASHES, Watching

PEOPLE = ("alice", "carol", "bob", "mallory")
DESK = "service:desk"
LONG = timedelta(hours=7)
ROUNDS = 60
STILL = 0.3
"""Seconds after which what followed from a step has happened, if nobody waits for longer."""


class World:
    """Two or three processes of each service, and everybody who talks to them."""

    def __init__(self, seed: int) -> None:
        self.loop = VirtualLoop()
        self.watching = Watching()
        self.fleet = Fleet(
            self.loop, lambda member: agents(self.ledger, member), self.watching, seed
        )
        self.watching.fleet = self.fleet
        self.ledger = Ledger(self.fleet.clock)
        self.watching.effects = self.ledger.effects.__len__
        self.keys: dict[str, str] = {}
        self.runs: list[str] = []
        self.attempts: list[Attempt] = []
        self.said: list[str] = []
        self.posted: dict[str, str] = {}
        """Answers over the bus that nobody has replied to yet: what was asked, by event id."""
        self.lost = False
        self.turn = 0
        self.do(self._open())

    def do(self, work: Awaitable[Any]) -> Any:
        """Do this in the loop; what is under way goes on meanwhile."""
        return self.fleet.run(work)

    async def _open(self) -> None:
        for service in ("broker", "broker", "runner", "runner"):
            await self.fleet.start(service)
        auth = self.fleet.members[0].platform.auth
        for person in PEOPLE:
            self.keys[person], _ = await auth.create_key(
                namespace="default", name=person, person=person, scopes=PERSON_SCOPES
            )
        self.keys["app"], _ = await auth.create_key(
            namespace="default", name="app", service="app", scopes=ALL_SCOPES
        )
        await auth.map_amqp_user("desk", namespace="default", service="desk", scopes=ALL_SCOPES)
        self.desk = self.fleet.hub.bus("desk")
        await self.desk.open()
        await self.desk.consume("placet.reply.desk.1", self._replied, prefetch=10)

    async def _replied(self, delivery: Delivery) -> Ack:
        self.posted.pop(delivery.correlation_id or "", None)
        return Ack()

    # --- who talks to whom ---

    def client(self, service: str, who: str, pick: int = 0) -> AsyncClient | None:
        """A client of this person's, or the application's, at one of the living."""
        living = self.fleet.living(service)
        return self.fleet.client(living[pick % len(living)], self.keys[who]) if living else None

    async def start(self, agent: str, plan: Plan, who: str, own: bool, pick: int) -> None:
        """A run, on this person's behalf."""
        client = self.client("runner", who if own else "app", pick)
        if client is None:
            return
        self.turn += 1
        text, key = as_input(plan, f"start {self.turn}"), f"start-{self.turn}"
        for _ in range(3):
            try:
                run = await client.agent(agent).start(text, user=None if own else who, key=key)
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

    async def open_inputs(self) -> list[dict[str, Any]]:
        """What is pending at the broker, the oldest first."""
        table = self.fleet.databases["placet_interactions"].collection("interactions")
        found = await table.find({"state": "pending"}, limit=1000)
        return sorted(found, key=lambda each: (each["opened_at"], each["_id"]))

    async def question(self, pick: int) -> InteractionRequest | None:
        """One that is open, or None."""
        found = await self.open_inputs()
        return record(found[pick % len(found)]).request() if found else None

    # --- answering ---

    async def answer(
        self, request: InteractionRequest, action: str, content: Any, surface: str, pick: int
    ) -> None:
        """One answer over one surface."""
        if surface == "bus":
            await self._answer_over_the_bus(request, action, content)
            return
        initiator = request.audience.initiator or "alice"
        who = {"own": initiator, "named": initiator, "all": initiator, "each": initiator}
        name = who.get(surface, surface)
        as_app = surface in ("named", "all", "each")
        client = self.client("broker", "app" if as_app else name, pick)
        if client is None:
            return
        attempt = Attempt(request.id, name, "sdk")
        self.attempts.append(attempt)
        named = name if as_app else None
        try:
            if surface in ("all", "each"):
                await self._in_a_batch(client, Answer(request.id, content, action, named), attempt)
            else:
                found = await client.input(request.id)
                settled = await found.settle(action, content, from_=named, digest=request.digest)
                attempt.settled = settled.value
        except Conflict as late:
            _late(attempt, late)
        except Unavailable:
            pass  # it died; whether it was taken is not known
        except PlacetError as refused:
            attempt.refused = refused.code

    async def _in_a_batch(self, client: AsyncClient, answer: Answer, attempt: Attempt) -> None:
        (settled,) = await client.answer_all([answer])
        attempt.settled = settled.value

    async def _answer_over_the_bus(
        self, request: InteractionRequest, action: str, content: Any
    ) -> None:
        message = AnswerMessage(
            input_id=request.id, action=action, content=content, id=new_id("own")
        )
        self.attempts.append(Attempt(request.id, DESK, "bus"))
        event_id = new_id("evt")
        self.posted[event_id] = f"{request.id} {action} {content!r}"
        try:
            await self.desk.publish(
                Outgoing(
                    "placet.answers",
                    "answer",
                    name_of(message),
                    encode(message),
                    event_id,
                    correlation_id=event_id,
                    reply_to="placet.reply.desk.1",
                )
            )
        except Unavailable:
            del self.posted[event_id]

    async def answer_one(self, pick: int, choice: int, surface: str) -> None:
        """An answer that fits to one that is open."""
        request = await self.question(pick)
        if request is not None:
            contents = fitting(request)
            await self.answer(request, "accept", contents[choice % len(contents)], surface, pick)

    async def turn_down(self, pick: int, action: str, surface: str) -> None:
        """Decline one, or cancel it."""
        request = await self.question(pick)
        if request is not None:
            await self.answer(request, action, None, surface, pick)

    async def answer_wrongly(self, pick: int, choice: int, surface: str) -> None:
        """One that does not fit: it stays open."""
        request = await self.question(pick)
        if request is not None:
            await self.answer(request, "accept", WRONG[choice % len(WRONG)], surface, pick)

    async def answer_again(self, pick: int, choice: int, surface: str) -> None:
        """One that was answered before."""
        if not self.attempts:
            return
        id = self.attempts[-1 - pick % len(self.attempts)].input_id
        table = self.fleet.databases["placet_interactions"].collection("interactions")
        found = record(await table.get(id) or {})
        if found.request_json:
            contents = fitting(found.request())
            content = contents[choice % len(contents)]
            await self.answer(found.request(), "accept", content, surface, pick)

    async def extend(self, pick: int, minutes: int) -> None:
        """More time for one."""
        request, client = await self.question(pick), self.client("broker", "app", pick)
        if request is not None and client is not None and request.expires_at is not None:
            until = request.expires_at + timedelta(minutes=minutes)
            await _mildly(_extended(client, request, until))

    # --- runs ---

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
            zombies=self.watching.zombies,
            holding=self.watching.holding,
            said=self.said,
            dead=[f"{letter.queue}: {letter.reason}" for letter in dead],
            crashes=list(CRASHES),
            unanswered=[] if self.lost else list(self.posted.values()),
        )

    def close(self) -> None:
        """Nothing is left of it."""
        self.fleet.close()


def _late(attempt: Attempt, late: Conflict) -> None:
    shown = late.body.get("input") or next(
        (each["input"] for each in late.body.get("conflicts", [])), None
    )
    if late.reason == "settled" and shown:
        attempt.settled = Input.model_validate(shown)
    else:
        attempt.refused = late.reason


async def _extended(client: AsyncClient, request: InteractionRequest, until: Any) -> None:
    found = await client.input(request.id)
    await found.extend(until, from_=request.audience.initiator)


async def _mildly(work: Awaitable[Any]) -> Run | None:
    try:
        await work
    except PlacetError:
        return None
    return None
