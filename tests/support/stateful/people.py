"""Everybody who answers, over every surface, and what they were told."""

from collections.abc import Sequence
from typing import Any

from placet.bus.port import Ack, Delivery, Outgoing
from placet.client import AsyncClient
from placet.client.batches import Answer
from placet.domain.interaction import InteractionRequest
from placet.domain.resolution import Input
from placet.errors import Conflict, PlacetError, Unavailable
from placet.ids import new_id
from placet.messages import AnswerMessage
from placet.messages.wire import encode, name_of
from placet.process.auth import ALL_SCOPES, PERSON_SCOPES
from tests.support.stateful.answers import WRONG, fitting
from tests.support.stateful.evidence import Attempt, record
from tests.support.stateful.fleet import Fleet

PEOPLE = ("alice", "carol", "bob", "mallory")
DESK = "service:desk"


class People:
    """Who may answer, who may not, and a service that answers over the bus."""

    fleet: Fleet

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self.attempts: list[Attempt] = []
        self.posted: dict[str, str] = {}
        """Answers over the bus that nobody has replied to yet: what was asked, by event id."""

    async def arrive(self) -> None:
        """Everybody gets a key, and the service its place at the bus."""
        auth = self.fleet.members[0].platform.auth
        for person in PEOPLE:
            self.keys[person], _ = await auth.keys.create(
                namespace="default", name=person, person=person, scopes=PERSON_SCOPES
            )
        self.keys["app"], _ = await auth.keys.create(
            namespace="default", name="app", service="app", scopes=ALL_SCOPES
        )
        await auth.keys.map_amqp_user(
            "desk", namespace="default", service="desk", scopes=ALL_SCOPES
        )
        self.desk = self.fleet.hub.bus("desk")
        await self.desk.open()
        await self.desk.consume("placet.reply.desk.1", self._replied, prefetch=10)

    async def _replied(self, delivery: Delivery) -> Ack:
        self.posted.pop(delivery.correlation_id or "", None)
        return Ack()

    def client(self, service: str, who: str, pick: int = 0) -> AsyncClient | None:
        """A client of this person's, or the application's, at one of the living."""
        living = self.fleet.living(service)
        return self.fleet.client(living[pick % len(living)], self.keys[who]) if living else None

    async def open_inputs(self) -> list[dict[str, Any]]:
        """What is pending at the broker, the oldest first."""
        table = self.fleet.databases["placet_interactions"].collection("interactions")
        found = await table.find({"state": "pending"}, limit=1000)
        return sorted(found, key=lambda each: (each["opened_at"], each["_id"]))

    async def question(self, pick: int, kind: str | None = None) -> InteractionRequest | None:
        """One that is open, of this kind if one is given, or None."""
        found = [each for each in await self.open_inputs() if kind in (None, each["kind"])]
        return record(found[pick % len(found)]).request() if found else None

    async def answer(
        self, request: InteractionRequest, action: str, content: Any, surface: str, pick: int
    ) -> None:
        """One answer over one surface; a batch takes another question along."""
        initiator = request.audience.initiator or "alice"
        match surface:
            case "bus":
                await self._answer_over_the_bus(request, action, content)
            case "all" | "each":
                answers = [Answer(request.id, content, action, initiator)]
                for other in map(record, await self.open_inputs()):
                    if other.id != request.id and other.audience.initiator == initiator:
                        fits = fitting(other.request())[0]
                        answers.append(Answer(other.id, fits, from_=initiator))
                await self._answer_in_a_batch(answers[:2], surface, pick)
            case "own" | "named":
                key = "app" if surface == "named" else initiator
                await self._answer_over_rest(
                    request, Answer(request.id, content, action, initiator), key, pick
                )
            case _:
                answer = Answer(request.id, content, action, surface)
                await self._answer_over_rest(request, answer, surface, pick)

    async def _answer_over_rest(
        self, request: InteractionRequest, answer: Answer, key: str, pick: int
    ) -> None:
        client, who = self.client("broker", key, pick), answer.from_ or key
        if client is None:
            return
        attempt = Attempt(request.id, who, "sdk")
        self.attempts.append(attempt)
        try:
            found = await client.input(request.id)
            named = who if key == "app" else None
            settled = await found.settle(
                answer.action, answer.content, from_=named, digest=request.digest
            )
            attempt.settled = settled.value
        except PlacetError as problem:
            _refused(attempt, problem)

    async def _answer_in_a_batch(self, answers: list[Answer], mode: str, pick: int) -> None:
        client = self.client("broker", "app", pick)
        if client is None:
            return
        attempts = [Attempt(answer.id, answer.from_ or "", "sdk") for answer in answers]
        self.attempts += attempts
        try:
            if mode == "all":
                results: Sequence[Any] = await client.answer_all(answers)
            else:
                results = await client.answer_each(answers)
        except PlacetError as problem:
            results = [problem] * len(answers)
        for attempt, result in zip(attempts, results, strict=True):
            if isinstance(result, PlacetError):
                _refused(attempt, result)
            else:
                attempt.settled = result.value

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
        await self._answer_fitting(await self.question(pick), choice, surface, pick)

    async def grant_one(self, pick: int, choice: int, surface: str) -> None:
        """A yes to a call that is asked about, for longer than once or for other arguments."""
        await self._answer_fitting(
            await self.question(pick, "tool_approval"), 2 + choice, surface, pick
        )

    async def _answer_fitting(
        self, request: InteractionRequest | None, choice: int, surface: str, pick: int
    ) -> None:
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


def _refused(attempt: Attempt, problem: PlacetError) -> None:
    """What an answer that was not taken was told; of what died meanwhile nothing is known."""
    if isinstance(problem, Conflict):
        shown = [problem.body, *problem.body.get("conflicts", [])]
        mine = [e["input"] for e in shown if e.get("input", {}).get("id") == attempt.input_id]
        if problem.reason == "settled" and mine:
            attempt.settled = Input.model_validate(mine[0])
        else:
            attempt.refused = problem.reason
    elif not isinstance(problem, Unavailable):
        attempt.refused = problem.code
