"""`inbox_ms`, `due_sweep_ms`, and `answer_ms` again: a person's inbox, and timers, beside very many."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import httpx2
from pymongo import WriteConcern
from pymongo.database import Database as MongoDatabase

from benchmarks import latency
from benchmarks.figures import Figure, note, percentile
from benchmarks.profiling import profiled
from benchmarks.session import Session, Target
from placet.clock import SystemClock
from placet.domain.audience import AnswerPolicy, Audience, Priority
from placet.domain.interaction import ApprovalRequest, ToolCall
from placet.domain.risk import ToolRisk
from placet.process.auth import PERSON_SCOPES, Auth, Scope
from placet.store import open_database
from placet_broker.ports import Query
from placet_broker.rules import finding, opening, timing
from placet_broker.rules.documents import to_document
from placet_broker.rules.opening import Asker
from placet_broker.rules.record import RUNNER
from placet_broker.store import StoredInteractions

Document = dict[str, Any]

PEOPLE = 1000
"""Among whom the questions are spread."""
GROUPS = 50
BATCH = 1000
PAGES = 300
SWEEPS = 100
DUE = 100
INBOX_GOAL, SWEEP_GOAL = 20.0, 10.0


def questions(count: int, seed: int = 1) -> Iterator[Document]:
    """Pending questions of runs: each for its initiator, some for a group, a few for anybody."""
    random, began = Random(seed), datetime.now(UTC).replace(microsecond=0)  # noqa: S311 - no secrets
    asker = Asker(RUNNER, None)
    for number in range(count):
        at = began - timedelta(seconds=count - number)
        who = f"person{random.randrange(PEOPLE)}"
        group = f"group:g{random.randrange(GROUPS)}" if number % 3 == 0 else "lea"
        named = Audience(initiator=who, approvers=(group,)) if number % 50 else Audience()
        request = ApprovalRequest(
            id=f"inp_{random.getrandbits(128):032x}",
            call=ToolCall(id=f"call{number}", tool="drop_database", args={"name": f"db{number}"}),
            risk=ToolRisk.HIGH,
            agent_id=f"agt_{number % 500}",
            path=("ops",),
            run_id=f"run_{random.getrandbits(128):032x}",
            audience=named,
            policy=AnswerPolicy(reminders=(86_400 * 20,)),
            priority=Priority.HIGH if number % 20 == 0 else Priority.NORMAL,
            labels=("billing",) if number % 10 == 0 else (),
            requested_at=at,
            expires_at=at + timedelta(days=30),
        ).with_digest()
        record = opening.opened(request, asker, None, at)
        shown = {"words": finding.words(record), "next_at": timing.next_at(record), "outbox": []}
        yield to_document(record, due=timing.next_at(record)) | shown


async def measure(session: Session, target: Target, prefix: str) -> None:
    """Fill the broker's collection beside what is there, then read pages, answer and sweep."""
    many = min(session.options.crowd, 1_000_000)
    with session.servers.client() as client:
        note(f"{many} pending questions")
        database = client[f"{prefix}interactions"]
        await asyncio.to_thread(_fill, database, many)
        if session.options.wants("inbox_ms"):
            await _inbox(session, target, prefix, database, many)
        if session.options.wants("crowded_answer_ms"):
            await _answers(session, target, many)
        if session.options.wants("due_sweep_ms"):
            # In a database that no broker sweeps meanwhile; last, for filling it keeps the disk busy.
            await _due(session, client[f"{prefix}timers"], many)
            client.drop_database(f"{prefix}timers")


def _fill(database: MongoDatabase[Any], many: int) -> None:
    into = database["interactions"].with_options(write_concern=WriteConcern(w=1))
    batch: list[Document] = []
    for document in questions(many):
        batch.append(document)
        if len(batch) == BATCH:
            into.insert_many(batch, ordered=False)
            batch = []
    if batch:
        into.insert_many(batch, ordered=False)
    database.client.admin.command("fsync")  # so that the filling is over when measuring begins


async def _answers(session: Session, target: Target, many: int) -> None:
    """`answer_ms` beside all of them, at a third of the top rate."""
    rate, seconds = max(session.top / 3, 1.0), max(5.0, session.options.seconds / 2)
    seen = await session.drive(
        target, "open", seconds=seconds, warmup=2.0, rate=rate, pause=latency.PAUSE
    )
    took = seen["answer_ms"]
    session.report.add(
        Figure(
            "crowded_answer_ms",
            percentile(took, 0.5),
            "ms",
            len(took),
            "p50 <= 10, p99 <= 60",
            percentile(took, 0.5) <= 10 and percentile(took, 0.99) <= 60,
            detail={
                "p99": round(percentile(took, 0.99), 2),
                "pending": many,
                "rate_per_s": round(rate, 1),
                "load": [round(each, 1) for each in os.getloadavg()],
            },
        )
    )


async def _inbox(
    session: Session, target: Target, prefix: str, database: MongoDatabase[Any], many: int
) -> None:
    """Several people's first page over REST: their own, their groups', and anybody's, merged."""
    headers = await _readers(session, prefix)
    took: list[float] = []
    async with httpx2.AsyncClient(base_url=target.urls["broker"], timeout=30) as http:

        async def page(number: int) -> None:
            began = time.perf_counter()
            reply = await http.get(
                "/v1/inputs?state=pending&mine=true&limit=50",
                headers=headers[number % len(headers)],
            )
            took.append((time.perf_counter() - began) * 1e3)
            if reply.status_code != 200 or len(reply.json()["items"]) != 50:
                session.report.problem(f"inbox_ms: {reply.status_code} {reply.text[:200]}")

        for number in range(20):
            await page(number)
        took.clear()
        for number in range(PAGES):
            await page(number)
        _, operations = await profiled([database], lambda: page(0))
    session.report.add(
        Figure(
            "inbox_ms",
            percentile(took, 0.99),
            "ms",
            len(took),
            f"p99 <= {INBOX_GOAL:.0f} for the first page of a person's inbox",
            percentile(took, 0.99) <= INBOX_GOAL,
            detail={
                "p50": round(percentile(took, 0.5), 2),
                "pending": many,
                "page": 50,
                "over": "REST, one after another",
                "plans": _plans(operations),
                "load": [round(each, 1) for each in os.getloadavg()],
            },
        )
    )


async def _readers(session: Session, prefix: str) -> list[dict[str, str]]:
    """Keys of some people, each in two groups."""
    auth_database = open_database(session.servers.mongo_url, f"{prefix}auth", clock=SystemClock())
    auth = Auth(auth_database, SystemClock())
    await auth_database.open()
    found = []
    for number in range(10):
        person = f"person{number}"
        await auth.directory.groups.put("default", f"g{number}", [person])
        await auth.directory.groups.put("default", f"g{number + 20}", [person])
        key, _ = await auth.keys.create(
            namespace="default", name="bench", person=person, scopes=PERSON_SCOPES | {Scope.OPERATE}
        )
        found.append({"Authorization": f"Bearer {key}"})
    await auth_database.close()
    return found


async def _due(session: Session, database: MongoDatabase[Any], many: int) -> None:
    """How long it takes to find a hundred timers that are due among all of them."""
    store = open_database(session.servers.mongo_url, database.name, clock=SystemClock())
    interactions = StoredInteractions(store, SystemClock())
    await store.open()
    await asyncio.to_thread(_fill, database, many)
    ids = [
        d["_id"] for d in database["interactions"].find({"state": "pending"}, {"_id": 1}).limit(DUE)
    ]
    past = datetime.now(UTC) - timedelta(seconds=1)
    database["interactions"].update_many({"_id": {"$in": ids}}, {"$set": {"due": past}})

    async def sweep() -> None:
        found = await interactions.due(DUE)
        if len(found) != DUE:
            session.report.problem(f"due_sweep_ms: {len(found)} of {DUE} were found")

    took = await _timed(sweep, SWEEPS)
    _, operations = await profiled([database], sweep)
    labelled = Query("default", "pending", all_of=("label:billing", "priority:high"))
    _, narrowed = await profiled([database], lambda: interactions.find(labelled))
    await store.close()
    session.report.add(
        Figure(
            "due_sweep_ms",
            percentile(took, 0.99),
            "ms",
            len(took),
            f"p99 <= {SWEEP_GOAL:.0f} for {DUE} due timers",
            percentile(took, 0.99) <= SWEEP_GOAL,
            detail={
                "p50": round(percentile(took, 0.5), 2),
                "timers": many,
                "due": DUE,
                "plans": _plans(operations),
                "plans_of_a_narrowed_list": _plans(narrowed),
                "load": [round(each, 1) for each in os.getloadavg()],
            },
        )
    )


async def _timed(work: Callable[[], Awaitable[None]], times: int) -> list[float]:
    for _ in range(5):
        await work()
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        took.append((time.perf_counter() - began) * 1e3)
    return took


def _plans(operations: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each statement did: its plan, and how many keys and documents it looked at."""
    shown = (
        f"{each.get('planSummary', each.get('op', ''))}: "
        f"{each.get('keysExamined', 0)} keys, {each.get('docsExamined', 0)} documents"
        for each in operations
    )
    return list(dict.fromkeys(shown))
