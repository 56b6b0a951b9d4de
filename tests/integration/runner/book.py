"""A store of runs and ways to bring a run to where a test needs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from placet.domain.heritage import Birth
from placet.domain.interaction import ApprovalRequest, InputState, ToolCall
from placet.domain.outcome import Outcome
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.domain.run import Message
from placet.ids import derived_id, new_id
from placet.kernel.journal import MessageReceived
from placet.process.platform import Databases
from placet_runner.ports import Document, Image, Step
from placet_runner.rules.runs import close_entry, new_run, request_entry, waiting_entry
from placet_runner.store import StoredRuns
from placet_runner.wiring import INDEXES

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ENTRY = MessageReceived(id="msg_x", text="hello")


@dataclass
class Book:
    """Runs with a long lease, and the same runs with one that is over at once."""

    runs: StoredRuns
    hasty: StoredRuns

    async def queued(self) -> Image:
        run_id = new_id("run")
        document = new_run(
            run_id,
            "default",
            Birth(
                agent="ops",
                agent_id=run_id.replace("run_", "agt_"),
                messages=(Message(id=new_id("msg"), text="go"),),
                initiator="alice",
            ),
            NOW,
        )
        assert await self.runs.create(document)
        return Image(document)

    async def held(self) -> Image:
        queued = await self.queued()
        return must(await self.runs.claim(queued.id, "here", new_id("op")))

    async def parked(self, asks: int = 1) -> Image:
        held = await self.held()
        return must(await self.runs.ask_and_park(held, asking(held, asks)))

    async def abandoned(self) -> Image:
        """Held by somebody whose lease has run out."""
        queued = await self.queued()
        return must(await self.hasty.claim(queued.id, "gone", new_id("op")))

    async def now(self, image: Image) -> Image:
        return must(await self.runs.get(image.id))


def must(image: Image | None) -> Image:
    assert image is not None, "the write was to match"
    return image


def request(run_id: str, number: int = 0) -> ApprovalRequest:
    call = ToolCall(id=f"call_{number}", tool="drop", args={"name": "staging"})
    return ApprovalRequest(
        id=derived_id("inp", run_id, str(number)),
        call=call,
        risk=ToolRisk.CRITICAL,
        agent_id="agt_x",
        run_id=run_id,
        requested_at=NOW,
    ).with_digest()


def asking(image: Image, asks: int = 1) -> Step:
    requests = [request(image.id, number) for number in range(asks)]
    return Step(
        entries=[ENTRY],
        asks=[waiting_entry(r, r.call.id) for r in requests],
        outbox=[request_entry(r) for r in requests],
    )


def answer(image: Image, number: int = 0, state: InputState = InputState.ANSWERED) -> Resolution:
    asked = request(image.id, number)
    return Resolution(
        input_id=asked.id,
        run_id=image.id,
        digest=asked.digest,
        outcome=Outcome(state=state, content=True),
        at=NOW,
    )


def message(text: str = "wait", mode: str = "supersede") -> Message:
    return Message(id=new_id("msg"), text=text, sender="alice", mode=mode)


def closes(image: Image, reason: str = "superseded") -> dict[str, Document]:
    return {e["id"]: close_entry(image.document, e, reason) for e in image.open}


@asynccontextmanager
async def opened(databases: Databases) -> AsyncIterator[Book]:
    database = databases("runs")
    runs, journal = database.collection("runs", INDEXES), database.collection("journal")
    await database.open()
    try:
        yield Book(
            StoredRuns(runs, journal, lease=timedelta(seconds=60)),
            StoredRuns(runs, journal, lease=timedelta(0)),
        )
    finally:
        await database.close()
