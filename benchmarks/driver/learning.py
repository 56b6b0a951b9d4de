"""How the driver learns what became of a run: the event stream, or long polls."""

import asyncio
from typing import Any, Protocol

import orjson

from benchmarks.driver.http import Connection, ConnectionEnded, Server

TYPES = "input.requested,run.completed,run.failed,run.cancelled"
POLL_SECONDS = 30


class Learning(Protocol):
    """What the driver waits for."""

    async def asked(self, run_id: str) -> str:
        """The id of the question that suspended the run."""
        ...

    async def ended(self, run_id: str, input_id: str) -> str:
        """The status in which the run ended."""
        ...


class Stream:
    """One stream of events for all runs, as a service that has many runs listens."""

    def __init__(self, notifier: Server) -> None:
        self._notifier = notifier
        self._asked: dict[str, asyncio.Future[str]] = {}
        self._ended: dict[str, asyncio.Future[str]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen from now on."""
        connection = await self._notifier.connect()
        head = self._notifier.head("GET", f"/v1/events?types={TYPES}")
        connection.writer.write(head + b"\r\n")
        status, _ = await connection.response_head()
        if status != 200:
            raise ConnectionEnded(f"the event stream answered {status}")
        self._reading = asyncio.create_task(self._read(connection))

    async def asked(self, run_id: str) -> str:
        """The question's id, from `input.requested`: the broker has it then."""
        return await self._take(self._asked, run_id)

    async def ended(self, run_id: str, input_id: str) -> str:
        """The status, from `run.completed` and its like."""
        return await self._take(self._ended, run_id)

    async def _take(self, where: dict[str, asyncio.Future[str]], run_id: str) -> str:
        """The event may have come before its run's id did; an event is kept until it is asked for."""
        try:
            return await _future(where, run_id)
        finally:
            where.pop(run_id, None)

    async def _read(self, connection: Connection) -> None:
        try:
            while line := await connection.reader.readline():
                # Chunk sizes stand between the lines; a chunk holds whole events.
                if line.startswith(b"data: "):
                    self._tell(orjson.loads(line[6:]))
        finally:
            lost = ConnectionEnded("the event stream ended")
            for future in (*self._asked.values(), *self._ended.values()):
                if not future.done():
                    future.set_exception(lost)

    def _tell(self, event: dict[str, str]) -> None:
        run_id, kind = event["run_id"], event["type"]
        where, value = (
            (self._asked, event["input_id"])
            if kind == "input.requested"
            else (self._ended, kind.partition(".")[2])
        )
        future = _future(where, run_id)
        if not future.done():
            future.set_result(value)


def _future(where: dict[str, asyncio.Future[str]], run_id: str) -> asyncio.Future[str]:
    return where.setdefault(run_id, asyncio.get_running_loop().create_future())


class Polls:
    """A long poll for each wait, as a program does that has one run."""

    def __init__(self, runner: Server) -> None:
        self._runner = runner

    async def open(self) -> None:
        """Nothing to prepare."""

    async def asked(self, run_id: str) -> str:
        """The first question of the suspended run."""
        run = await self._stands(run_id, "")
        return str(run["inputs"][0]["id"])

    async def ended(self, run_id: str, input_id: str) -> str:
        """The status once the question is settled and the run stands still."""
        return str((await self._stands(run_id, f"&settled={input_id}"))["status"])

    async def _stands(self, run_id: str, more: str) -> dict[str, Any]:
        path = f"/v1/runs/{run_id}?wait={POLL_SECONDS}{more}"
        while True:
            status, body = await self._runner.request("GET", path)
            if status != 200:
                raise ConnectionEnded(f"GET {path} answered {status}: {body[:500]!r}")
            run: dict[str, Any] = orjson.loads(body)
            if run["status"] not in ("queued", "running"):
                return run
