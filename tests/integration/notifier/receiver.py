"""A hostile HTTP server: the path of a request says how it is answered."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True, slots=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class Receiver:
    """Keeps what came; `/PATH` is answered by the method of that name, or with 200."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[Received] = []
        self.sent = 0
        self.open = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def on(self, path: str) -> list[Received]:
        return [each for each in self.requests if each.path == f"/{path}"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while (received := await _read(reader)) is not None:
                self.requests.append(received)
                name = received.path.strip("/").replace("-", "_")
                answer: Callable[[asyncio.StreamWriter], Awaitable[None]]
                answer = getattr(self, f"_{name}", self._ok)
                await answer(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _ok(self, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await writer.drain()

    async def _redirect(self, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 301 Moved\r\nLocation: http://169.254.169.254/latest/\r\n"
            b"Content-Length: 0\r\n\r\n"
        )

    async def _redirect_home(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 307 Moved\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n")

    async def _gone(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")

    async def _busy(self, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 100\r\nContent-Length: 0\r\n\r\n"
        )

    async def _reset(self, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()
        raise ConnectionResetError

    async def _nonsense(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\xff I am no web server\r\n\r\n")
        await writer.drain()
        raise ConnectionResetError

    async def _hang(self, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def _drip_head(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        await self._drip(writer)

    async def _drip_body(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        await self._drip(writer)

    async def _drip(self, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.02)

    async def _huge(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        part = b"x" * 65536
        for _ in range(1_000_000_000 // len(part)):
            writer.write(part)
            await writer.drain()
            self.sent += len(part)

    async def _second_time(self, writer: asyncio.StreamWriter) -> None:
        if len(self.on("second-time")) > 1:
            await self._ok(writer)
            return
        writer.write(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(first.split(" ")[1], headers, body)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Serve on a port of its own."""
    receiver = Receiver()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(receiver.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
