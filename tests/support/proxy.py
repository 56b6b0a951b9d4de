"""A TCP proxy between a client and a server that the test can slow down, stall and cut."""

import asyncio
import contextlib
import socket
import struct
from types import TracebackType
from typing import Self

CHUNK = 65536


class Proxy:
    """Forwards `host:port` from a port of its own. Use it as `async with Proxy(port) as proxy`.

    `latency` delays each chunk by that many seconds. While `blackhole` is set nothing passes and
    nothing is closed, as with a dead network. While `refuse` is set new connections are reset.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = asyncio.Event()
        self._open.set()
        self.latency = 0.0
        self.refuse = False
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        self.reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def blackhole(self) -> bool:
        """Whether bytes disappear on the way."""
        return not self._open.is_set()

    @blackhole.setter
    def blackhole(self, on: bool) -> None:
        if on:
            self._open.clear()
        else:
            self._open.set()

    @property
    def connections(self) -> int:
        """How many connections pass through now."""
        return len(self._writers) // 2

    def reset(self) -> None:
        """Cut every connection with a TCP reset, at both ends."""
        for writer in tuple(self._writers):
            _abort(writer)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuse:
            _abort(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            _abort(writer)
            return
        self._writers |= {writer, far_writer}
        pumps = [
            asyncio.create_task(self._pump(reader, far_writer)),
            asyncio.create_task(self._pump(far_reader, writer)),
        ]
        self._tasks.update(pumps)
        try:
            await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            self._tasks.difference_update(pumps)
            self._writers -= {writer, far_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while data := await reader.read(CHUNK):
                await self._open.wait()
                if self.latency:
                    await asyncio.sleep(self.latency)
                writer.write(data)
                await writer.drain()
        writer.close()


def _abort(writer: asyncio.StreamWriter) -> None:
    found = writer.get_extra_info("socket")
    if found is not None:
        # Linger of zero seconds: close() sends RST instead of FIN.
        with contextlib.suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()
