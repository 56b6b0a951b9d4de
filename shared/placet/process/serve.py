"""Runs services in one process: waits for its servers, serves HTTP, and stops in good order."""

import asyncio
import contextlib
import gc
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta

import uvicorn
from fastapi import FastAPI

from placet.errors import PlacetError, SettingsError
from placet.process import logs
from placet.process.backoff import waits
from placet.process.http import create_app
from placet.process.platform import Platform, Service, from_settings
from placet.process.settings import Settings, load, require

STOP_WITHIN = 120.0
"""Seconds that one part may take to stop; then the rest is stopped without it."""

Build = Callable[[Platform], Service]
Started = Callable[[str], None]

_log = logs.get(__name__)


def run(builds: Sequence[Build], platform: Platform, on_started: Started | None = None) -> None:
    """Serve until SIGTERM or SIGINT; returns after everything has stopped."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform

        factory: Callable[[], asyncio.AbstractEventLoop] | None = uvloop.new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(builds, platform, on_started))


def main(*builds: Build) -> int:
    """Run services by the settings; the exit code: 2 for a setting that is wrong or missing."""
    try:
        settings = load(Settings)
        logs.configure(settings.log_level)
        if len(builds) == 1:
            require(settings, "amqp_url", "a service on its own needs RabbitMQ to reach the others")
        run(builds, from_settings(settings))
    except SettingsError as error:
        sys.stderr.write(f"placet: {error}\n")
        return 2
    return 0


async def serve(
    builds: Sequence[Build], platform: Platform, on_started: Started | None = None
) -> None:
    """Serve in the running loop until SIGTERM or SIGINT.

    `on_started` is called with the base URL once the services run: consumers, jobs and REST.
    """
    process = Process(builds, platform)
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, process.ask_to_stop)
    await process.run(on_started)


class Process:
    """The services of one process and the state they share: waiting, running, stopping."""

    def __init__(self, builds: Sequence[Build], platform: Platform) -> None:
        self._platform = platform
        self._services = [build(platform) for build in builds]
        self._started: list[Service] = []
        self._waiting = ["the start"]
        self._stop = asyncio.Event()
        self.app = create_app(self._services, platform, lambda: self._waiting)
        self._socket = _listen(platform)
        self._server = _Server(_config(self.app, platform))

    @property
    def url(self) -> str:
        """Where it listens, from the moment it is made."""
        return _url(self._socket)

    def ask_to_stop(self) -> None:
        """Begin to stop; `run` returns when it is done. A second call changes nothing."""
        self._stop.set()

    async def run(self, on_started: Started | None = None) -> None:
        """Serve until `ask_to_stop`."""
        serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        starting = asyncio.create_task(self._start(on_started))
        starting.add_done_callback(self._stop_if_it_failed)
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            starting.cancel()
            stopping.cancel()
            await asyncio.wait({starting})
            await self._shut_down(serving)
        if not starting.cancelled():
            starting.result()

    def _stop_if_it_failed(self, starting: asyncio.Task[None]) -> None:
        """A bug at start must end the process: one that waits for ever looks as if a server were away."""
        if not starting.cancelled() and starting.exception() is not None:
            _log.error("start_failed", exc_info=starting.exception())
            self._stop.set()

    async def _start(self, on_started: Started | None) -> None:
        for pause in waits(timedelta(milliseconds=100), timedelta(seconds=5)):
            try:
                await self._platform.open()
                break
            except PlacetError as error:
                self._waiting = [str(error)]
                _log.warning("waiting", reason=str(error))
                await self._platform.clock.sleep(pause)
        await self._start_services()
        self._waiting = []
        _log.info("started", url=self.url, services=[service.name for service in self._services])
        if on_started is not None:
            on_started(self.url)
        # What is loaded by now lives as long as the process: no collection need look at it again.
        gc.collect()
        gc.freeze()

    async def _start_services(self) -> None:
        for service in self._services:
            for pause in waits(timedelta(milliseconds=100), timedelta(seconds=5)):
                try:
                    await service.start()
                    break
                except PlacetError as error:
                    self._waiting = [f"{service.name}: {error}"]
                    _log.warning("waiting", service=service.name, reason=str(error))
                    await self._platform.clock.sleep(pause)
            self._started.append(service)

    async def _shut_down(self, serving: asyncio.Task[None]) -> None:
        self._waiting = ["stopping"]
        _log.info("stopping")
        for service in reversed(self._started):
            await self._quietly(service.stop(), service.name)
        self._server.should_exit = True
        await self._quietly(serving, "http")
        await self._quietly(self._platform.close(), "platform")

    async def _quietly(self, ending: Awaitable[None], what: str) -> None:
        try:
            async with asyncio.timeout(STOP_WITHIN):
                await ending
        except Exception as error:  # noqa: BLE001 - the rest must be stopped whatever this did
            _log.error("stop_failed", part=what, exc_info=error)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: services stop before HTTP does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to `serve`."""
        yield


def _listen(platform: Platform) -> socket.socket:
    host, port = platform.settings.host, platform.settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise SettingsError(
            f"PLACET_HOST and PLACET_PORT: can't listen on {host}:{port} ({error.strerror}); "
            "choose another port, or 0 for a free one"
        ) from error


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{'[' + host + ']' if ':' in host else host}:{port}"


def _config(app: FastAPI, platform: Platform) -> uvicorn.Config:
    settings = platform.settings
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=int(settings.drain_seconds),
    )
