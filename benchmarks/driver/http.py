"""HTTP/1.1 with keep-alive and nothing else: what a driver needs, at a tenth of a client's cost."""

import asyncio
from dataclasses import dataclass, field
from urllib.parse import urlsplit


class ConnectionEnded(ConnectionError):
    """The server closed a connection in the middle of something."""


@dataclass(slots=True)
class Connection:
    """One connection, one request at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        """Send a request and read its response: the status and the body."""
        self.writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        status, length = await self.response_head()
        return status, await self.reader.readexactly(length) if length else b""

    async def response_head(self) -> tuple[int, int]:
        """The status and the length of the body, 0 where none is given."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        at = head.lower().find(b"\r\ncontent-length:")
        return status, int(head[at + 17 : head.index(b"\r\n", at + 2)]) if at >= 0 else 0


@dataclass(slots=True)
class Server:
    """One server with as many connections as there are requests at once."""

    url: str
    key: str
    free: list[Connection] = field(default_factory=list)

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """One request on a free connection, or on a new one.

        A server may close a connection that was idle just as the request leaves; then it is sent
        again on a new one.
        """
        head = self.head(method, path)
        while self.free:
            connection = self.free.pop()
            if connection.reader.at_eof():
                connection.writer.close()
                continue
            try:
                return await self._on(connection, head, body)
            except (asyncio.IncompleteReadError, ConnectionError):
                connection.writer.close()
                break
        return await self._on(await self.connect(), head, body)

    async def _on(self, connection: Connection, head: bytes, body: bytes) -> tuple[int, bytes]:
        answer = await connection.request(head, body)
        self.free.append(connection)
        return answer

    async def connect(self) -> Connection:
        """A new connection, not one of the pool."""
        place = urlsplit(self.url)
        return Connection(*await asyncio.open_connection(place.hostname, place.port))

    def head(self, method: str, path: str) -> bytes:
        """A request's head, but for its end."""
        host = urlsplit(self.url).netloc
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {self.key}\r\n"
            "Content-Type: application/json\r\n"
        ).encode()
