"""All of Placet as one process does it, on SQLite in memory, in a thread of the test's own."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from placet.cli.servers import builds
from placet.process.auth import ALL_SCOPES
from placet.process.platform import Platform, from_settings
from placet.process.serve import Process
from placet.process.settings import Settings, load

START_SECONDS = 60
STOP_SECONDS = 60
CALLER = "alice"
"""Whose key it is."""


@dataclass(frozen=True)
class Served:
    """A running Placet: where it is, and a key that may do everything."""

    url: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass
class _Thread:
    """What the thread shares with the test."""

    ready: Future[Served] = field(default_factory=Future)
    loop: asyncio.AbstractEventLoop | None = None
    process: Process | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def main(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if not self.ready.done():
                self.ready.set_exception(error)
            raise

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        settings = load(Settings, data=":memory:", port=0, mongo_url=None, amqp_url=None)
        platform = from_settings(settings)
        self.process = Process(builds("runner", "broker", "notifier"), platform)

        def started(url: str) -> None:
            task = asyncio.ensure_future(self._tell(platform, url))
            self.tasks.add(task)

        await self.process.run(started)

    async def _tell(self, platform: Platform, url: str) -> None:
        key, _ = await platform.auth.keys.create(
            namespace="default", name="fuzz", person=CALLER, scopes=ALL_SCOPES
        )
        self.ready.set_result(Served(url, key))


@contextmanager
def served() -> Iterator[Served]:
    """Start it, and stop it in good order at the end."""
    inside = _Thread()
    thread = threading.Thread(target=inside.main)
    thread.start()
    try:
        yield inside.ready.result(START_SECONDS)
    finally:
        if inside.loop is not None and inside.process is not None and thread.is_alive():
            inside.loop.call_soon_threadsafe(inside.process.ask_to_stop)
        thread.join(STOP_SECONDS)
        assert not thread.is_alive(), "it did not stop"
