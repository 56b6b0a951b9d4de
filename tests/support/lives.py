"""One question's life: two brokers on one database, people who change, and time turned by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from placet.domain.answer import Action
from placet.domain.audience import AnswerPolicy, Audience
from placet.domain.freeze import Freeze
from placet.domain.person import Person
from placet.errors import PlacetError
from placet.messages import Close
from placet.process.caller import PERSON_SCOPES, Caller, Scope
from placet.store.sqlite import SQLiteDatabase
from placet.testing import HandClock
from placet_broker.rules import opening
from placet_broker.rules.record import Record
from placet_broker.store import StoredInteractions
from placet_broker.usecases.answer_batch import AnswerBatch
from placet_broker.usecases.answer_input import AnswerInput
from placet_broker.usecases.arrivals import Arrivals
from placet_broker.usecases.attend_input import AttendInput
from placet_broker.usecases.close_input import CloseInput
from placet_broker.usecases.endings import Endings
from placet_broker.usecases.link_input import LinkInput, Wanted
from placet_broker.usecases.people import People
from placet_broker.usecases.stand_still import StandStill
from placet_broker.usecases.submission import Checks, Submission
from tests.integration.broker.desk import RUNNER_ASKS, approval
from tests.support.people import Written

GATEWAY = Caller(
    "default", "service:chat", frozenset({Scope.INPUTS_ANSWER, Scope.ANSWER_AS}), "key"
)
ASKED = {"name": "staging"}
"""Who names these arguments changes nothing."""
ROOT = Caller("default", "root", frozenset({Scope.INPUTS_READ, Scope.OPERATE}), "key")


class Silent:
    """An outbox and an observer: says nothing, and everything is fine."""

    def __getattr__(self, name: str) -> Any:
        async def nothing(*_: Any) -> bool:
            return True

        return nothing if name in ("send", "again", "publish") else lambda *_: None


@dataclass
class Frozen:
    """The freezes."""

    all: list[Freeze] = field(default_factory=list)

    async def since(self, namespace: str, at: Any) -> Sequence[Freeze]:
        return [each for each in self.all if each.lifted_at is None or each.lifted_at >= at]


class Stale:
    """What a broker reads: once, what it saw when it last looked; then what is there."""

    def __init__(self, real: StoredInteractions) -> None:
        self._real = real
        self.held: Record | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def get(self, id: str) -> Record | None:
        held, self.held = self.held, None
        return held or await self._real.get(id)


class Broker:
    """The use cases of one broker."""

    def __init__(
        self, real: StoredInteractions, clock: HandClock, directory: Written, freezes: Frozen
    ) -> None:
        silent: Any = Silent()
        self.reads: Any = Stale(real)
        people = People(directory)
        checks = Checks(self.reads, Arrivals(self.reads, clock, timedelta(0)), people)
        still = StandStill(freezes, clock)
        self.endings = Endings(self.reads, silent, clock, silent, people, still)
        self.answer = AnswerInput(self.reads, clock, silent, checks, self.endings)
        self.batch = AnswerBatch(self.reads, clock, silent, checks, self.endings, self.answer)
        self.attend = AttendInput(self.reads, clock, checks, self.endings)
        self.links = LinkInput(self.reads, silent, clock, checks, self.answer)
        self.close = CloseInput(self.reads, silent, clock, silent)


@dataclass(frozen=True)
class Said:
    """A yes that was not refused: whose, and to which arguments."""

    person: str
    args: Any


class Life:
    """A question and everybody around it; each step is a method that returns when it is done."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.directory = Written({}, {}, {})
        self.freezes = Frozen()
        self.said: list[Said] = []
        self.tokens: list[tuple[str, str, str]] = []
        """Of each link: its token, its id, and its latest code."""

    async def begin(self, policy: AnswerPolicy, audience: Audience, on_expiry: str) -> None:
        self.database = SQLiteDatabase(":memory:", clock=self.clock)
        self.interactions = StoredInteractions(self.database, self.clock)
        await self.database.open()
        self.brokers = [
            Broker(self.interactions, self.clock, self.directory, self.freezes) for _ in range(2)
        ]
        now = self.clock.now()
        asked = approval(
            policy=policy,
            audience=audience,
            on_expiry=on_expiry,
            args=ASKED,
            args_schema={"type": "object"},
            expires_at=now + timedelta(days=1),
            requested_at=now,
        )
        full = opening.prepared(asked, RUNNER_ASKS, now=now, default_life=None)
        record = opening.opened(full, RUNNER_ASKS, None, now)
        assert await self.interactions.open(record)
        self.id = record.id

    async def record(self) -> Record:
        found = await self.interactions.get(self.id)
        assert found is not None
        return found

    async def look(self, broker: int) -> None:
        self.brokers[broker].reads.held = await self.interactions.get(self.id)

    async def say(self, broker: int, who: str, content: Any, shown: bool, batch: bool) -> None:
        gateway = ":" in who
        record = await self.record()
        submission = Submission(
            self.id,
            GATEWAY if gateway else Caller("default", who, PERSON_SCOPES, "key"),
            "rest",
            content=content,
            named=Person(id=who) if gateway else None,
            digest=record.shown_digest if shown else None,
        )
        person = self.directory.linked.get(who, who)
        args = record.proposed_args
        if isinstance(content, dict):
            args = None if content["args"] == ASKED else content["args"]
        here = self.brokers[broker]
        if batch:
            await here.batch.all_or_none([submission])
        else:
            await here.answer(submission)
        if content is not False:
            self.said.append(Said(person, args))

    async def claim(self, broker: int, who: str, release: bool) -> None:
        attend = self.brokers[broker].attend
        caller = Caller("default", who, PERSON_SCOPES, "key")
        await (attend.release if release else attend.claim)(self.id, caller, None)

    async def extend(self, broker: int, who: str, hours: int) -> None:
        caller = Caller("default", who, PERSON_SCOPES, "key")
        record = await self.record()
        to = (record.expires_at or self.clock.now()) + timedelta(hours=hours)
        await self.brokers[broker].attend.extend(self.id, caller, None, to)

    async def edit(self, broker: int, add: list[str], remove: list[str]) -> None:
        await self.brokers[broker].attend.edit_audience(self.id, ROOT, add, remove)

    async def link(self, broker: int, who: str, yes: bool) -> None:
        links = self.brokers[broker].links
        wanted = Wanted(who, Action.ACCEPT, yes, timedelta(hours=30))
        token, made = await links.create(self.id, GATEWAY, wanted)
        assert token is not None
        self.tokens.append((token, made.id, ""))

    async def press(self, broker: int, pick: int, right: bool) -> None:
        if not self.tokens:
            return
        links, at = self.brokers[broker].links, pick % len(self.tokens)
        token, id, code = self.tokens[at]
        if not code:
            code = await self.brokers[1 - broker].links.code(self.id, id, GATEWAY)
            self.tokens[at] = token, id, code
        _, link = await links.shown(token)
        args = (await self.record()).proposed_args
        await links.by_code(token, code if right else "wrong")
        if link.content is True:
            self.said.append(Said(link.person, args))

    async def group(self, members: list[str]) -> None:
        self.directory.groups = {each: ("leads",) for each in members}

    async def connect(self, identity: str, person: str | None) -> None:
        linked = {k: v for k, v in self.directory.linked.items() if k != identity}
        self.directory.linked = linked | ({identity: person} if person else {})

    async def delegate(self, to: str, principals: list[str]) -> None:
        own = tuple(each for each in principals if each != to)
        self.directory.delegates = {**self.directory.delegates, to: own}

    async def freeze(self) -> None:
        now = self.clock.now()
        self.freezes.all.append(Freeze(id="frz_1", reason="x", by="root", at=now))

    async def lift(self) -> None:
        now = self.clock.now()
        self.freezes.all = [
            each.model_copy(update={"lifted_at": each.lifted_at or now})
            for each in self.freezes.all
        ]

    async def wait(self, hours: float) -> None:
        self.clock.turn(timedelta(hours=hours))

    async def sweep(self, broker: int) -> None:
        here = self.brokers[broker]
        await here.endings.turn(await here.reads.get(self.id))

    async def close(self, broker: int, reason: str) -> None:
        close = Close(input_id=self.id, run_id="run_1", reason=reason)
        await self.brokers[broker].close.by_run(close)

    async def do(self, what: str, **parts: Any) -> None:
        """One step; whatever is refused is refused."""
        try:
            await getattr(self, what)(**parts)
        except PlacetError:
            return
