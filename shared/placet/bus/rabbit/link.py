"""A connection to RabbitMQ that comes back by itself, and plain channels on it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import aio_pika
import aiormq
import structlog
from yarl import URL

from placet.errors import Unavailable

RECONNECT_SECONDS = 0.5
HEARTBEAT_SECONDS = 10
CONNECT_SECONDS = 5.0
RPC_SECONDS = 10.0
CANCEL_AGAIN_SECONDS = 1.0
"""How long a declaration or a consume may take."""

FAILURES = (
    aiormq.AMQPError,
    OSError,
    RuntimeError,
    TimeoutError,
    asyncio.CancelledError,
)
"""What a channel raises when it is lost; a cancellation too, see `was_cancelled`."""

_log = structlog.get_logger(__name__)


def is_loss(error: BaseException) -> bool:
    """Whether an error says that a channel or connection is gone, and not that the caller is wrong.

    aiormq raises a bare `Exception` from calls that were waiting when their connection went.
    """
    return isinstance(error, FAILURES) or type(error) is Exception


def was_cancelled() -> bool:
    """Whether the running task itself was cancelled.

    aiormq cancels the futures that wait on a connection when it goes; the tasks that await them see
    a CancelledError that nobody asked for.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@contextmanager
def unavailable(what: str) -> Iterator[None]:
    """Raise `Unavailable`, saying `what` went wrong and why, for any loss inside the block."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if was_cancelled() or not is_loss(error):
            raise
        raise Unavailable(f"{what}: {error!s}" if str(error) else f"{what}: {error!r}") from error


@asynccontextmanager
async def answered(what: str) -> AsyncIterator[None]:
    """Calls of aiormq that must be answered within `RPC_SECONDS`; raises `Unavailable` as `unavailable`.

    aiormq's own `timeout` is not used: it waits with `asyncio.wait_for`, which before Python 3.12
    loses a cancellation that comes together with the reply, and leaves errors that nobody hears.
    """
    with unavailable(what):
        async with asyncio.timeout(RPC_SECONDS):
            yield


async def ended(task: asyncio.Task[None]) -> None:
    """Cancel a task and return when it has ended, also if a library loses the first cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_AGAIN_SECONDS)


class Link:
    """One robust connection. Channels on it are plain; their owners open new ones after a loss."""

    def __init__(self, url: str, purpose: str) -> None:
        parsed = URL(url)
        self.place = f"RabbitMQ at {parsed.host}:{parsed.port or 5672}"
        self.purpose = purpose
        self._url = parsed.update_query(
            heartbeat=HEARTBEAT_SECONDS, name=f"{parsed.user} {purpose}"
        )
        self._connection: aio_pika.abc.AbstractRobustConnection | None = None

    async def open(self) -> None:
        """Connect; raises `Unavailable` naming the server when the first attempt fails."""
        with unavailable(f"{self.place} cannot be reached"):
            self._connection = await aio_pika.connect_robust(
                self._url, timeout=CONNECT_SECONDS, reconnect_interval=RECONNECT_SECONDS
            )

    def on_reconnect(self, callback: Callable[[], None]) -> None:
        """Call `callback` each time the connection has come back."""
        if self._connection is not None:
            self._connection.reconnect_callbacks.add(lambda *_: callback())

    @property
    def connected(self) -> bool:
        """Whether the connection stands, as far as this side knows."""
        connection = self._connection
        if connection is None or connection.transport is None:
            return False
        return connection.connected.is_set() and not connection.transport.connection.is_closed

    async def wait(self) -> None:
        """Return when the connection stands."""
        if self._connection is not None:
            await self._connection.connected.wait()

    async def channel(self, *, confirms: bool = False) -> aiormq.Channel:
        """A fresh channel; raises `Unavailable` when the connection is lost."""
        connection = self._connection
        if connection is None or connection.transport is None or not self.connected:
            raise Unavailable(f"{self.place}: the {self.purpose} connection is lost")
        async with answered(f"{self.place} gives no channel"):
            channel = await connection.transport.connection.channel(
                publisher_confirms=confirms, on_return_raises=confirms
            )
        return cast(aiormq.Channel, channel)

    async def close(self) -> None:
        """Disconnect for good."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


async def close_channel(channel: aiormq.Channel) -> None:
    """Close a channel that may be gone already."""
    try:
        async with answered("the channel was lost"):
            await channel.close()
    except Unavailable as error:
        _log.debug("channel_close_failed", reason=str(error))
