"""One cycle as a caller and a person see it, with the times that they see."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.driver.http import ConnectionEnded, Server
from benchmarks.driver.learning import Learning, Polls, Stream

START = orjson.dumps({"input": "drop", "user": "alice"})
ANSWER = orjson.dumps({"action": "accept", "content": True, "from": "alice"})
PATIENCE = 60.0
"""Seconds in which a cycle must end."""
TRY_AGAIN = 0.005
"""Seconds before an answer is sent again whose question has not reached the broker yet."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """Seconds on the machine's monotonic clock, which all its processes share."""

    run_id: str
    status: str
    sent_at: float
    """The answer that was taken was sent."""
    answered_at: float
    """Its response was here."""
    ended_at: float


class Person:
    """Starts runs, answers what they ask, and sees them end."""

    def __init__(self, urls: dict[str, str], key: str, learn: str) -> None:
        self._runner = Server(urls["runner"], key)
        self._broker = Server(urls["broker"], key)
        self._learning: Stream | Polls = (
            Stream(Server(urls["notifier"], key)) if learn == "stream" else Polls(self._runner)
        )
        self.early_answers = 0
        """Answers that came before their question: 404, sent again."""

    async def open(self) -> None:
        """Begin to listen."""
        await self._learning.open()

    async def park(self, agent: str = "bench", start: bytes = START) -> tuple[str, str]:
        """Start a run and wait for its question: the ids of both."""
        status, body = await self._runner.request("POST", f"/v1/agents/{agent}/runs", start)
        if status != 202:
            raise ConnectionEnded(f"start answered {status}: {body[:500]!r}")
        run_id: str = orjson.loads(body)["id"]
        return run_id, await self.asked(run_id)

    async def asked(self, run_id: str, after: str = "") -> str:
        """The id of the run's question, another one than `after`."""
        learning: Learning = self._learning
        input_id = await learning.asked(run_id)
        if input_id != after:
            return input_id
        await asyncio.sleep(TRY_AGAIN)  # a poll may come before the run has gone on
        return await self.asked(run_id, after)

    async def cycle(self, pause: float = 0) -> Cycle:
        """One whole run; `pause` seconds pass before the answer. Raises TimeoutError, ConnectionError."""
        async with asyncio.timeout(PATIENCE + pause):
            run_id, input_id = await self.park()
            if pause:
                await asyncio.sleep(pause)
            sent_at, answered_at = await self.answer(input_id)
            status = await self._learning.ended(run_id, input_id)
        return Cycle(run_id, status, sent_at, answered_at, time.monotonic())

    async def answer(self, input_id: str) -> tuple[float, float]:
        """Say yes: when that was sent, and when its response was here."""
        path = f"/v1/inputs/{input_id}"
        while True:
            sent_at = time.monotonic()
            status, body = await self._broker.request("POST", path, ANSWER)
            if status in (200, 202):
                return sent_at, time.monotonic()
            if status != 404:
                raise ConnectionEnded(f"answer got {status}: {body[:500]!r}")
            self.early_answers += 1
            await asyncio.sleep(TRY_AGAIN)


def effects(path: str, offset: int) -> dict[str, list[float]]:
    """What the ledger has from `offset` bytes on: by run, the moments at which its tool began."""
    found: dict[str, list[float]] = {}
    with open(path, "rb") as ledger:
        ledger.seek(offset)
        for line in ledger:
            run_id, moment, *_ = line.decode().split()
            found.setdefault(run_id, []).append(int(moment) / 1e9)
    return found


def verdict(
    cycles: list[Cycle], began: dict[str, list[float]], errors: list[str]
) -> dict[str, Any]:
    """Whether every run completed and every effect happened once."""
    wrong = [
        c.run_id for c in cycles if c.status != "completed" or len(began.get(c.run_id, ())) != 1
    ]
    return {"runs": len(cycles), "wrong": len(wrong), "errors": errors[:3], "failed": len(errors)}
