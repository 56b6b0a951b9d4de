"""A process: waits for its servers, serves, and stops in good order."""

import asyncio
from collections.abc import Callable

import httpx2
import pytest

from placet.bus.inprocess import Hub
from placet.clock import SystemClock
from placet.errors import SettingsError, Unavailable
from placet.process.platform import Platform, Service
from placet.process.serve import Process
from placet.process.settings import Settings, load
from placet.store.sqlite import SQLiteDatabase
from tests.support.eventually import eventually

pytestmark = pytest.mark.unit


class Away(SQLiteDatabase):
    """A database that is away until `back` is set."""

    back = False

    async def open(self) -> None:
        if not self.back:
            raise Unavailable("MongoDB at db:27017 is away")
        await super().open()


class Told:
    """A service that notes what is done with it."""

    def __init__(self) -> None:
        self.happened: list[str] = []

    def build(self, _platform: Platform) -> Service:
        async def start() -> None:
            self.happened.append("started")

        async def stop() -> None:
            self.happened.append("stopped")

        return Service("told", (), start, stop, list)


def platform_of(make: Callable[[str], SQLiteDatabase], port: int = 0) -> Platform:
    settings = load(Settings, data=":memory:", port=port)
    return Platform(settings, databases=make, buses=Hub().bus)


async def test_it_waits_for_a_server_that_is_away_at_the_start_and_then_serves() -> None:
    database = Away(":memory:", clock=SystemClock())
    told = Told()
    process = Process([told.build], platform_of(lambda _: database))
    urls: list[str] = []
    running = asyncio.create_task(process.run(urls.append))
    async with httpx2.AsyncClient(base_url=process.url) as http:
        assert (await http.get("/healthz")).status_code == 200

        async def says_why() -> bool:
            ready = await http.get("/readyz")
            return ready.status_code == 503 and "db:27017" in ready.text

        await eventually(says_why)
        assert told.happened == []
        database.back = True
        await eventually(lambda: urls == [process.url])
        assert (await http.get("/readyz")).status_code == 200
    process.ask_to_stop()
    await running
    assert told.happened == ["started", "stopped"]


async def test_it_stops_while_it_still_waits() -> None:
    told = Told()
    process = Process([told.build], platform_of(lambda _: Away(":memory:", clock=SystemClock())))
    running = asyncio.create_task(process.run())
    async with httpx2.AsyncClient(base_url=process.url) as http:
        assert (await http.get("/healthz")).status_code == 200
    process.ask_to_stop()
    await running
    assert told.happened == []


async def test_a_port_that_is_taken_is_named() -> None:
    def make(_: str) -> SQLiteDatabase:
        return SQLiteDatabase(":memory:", clock=SystemClock())

    first = Process([Told().build], platform_of(make))
    port = int(first.url.rpartition(":")[2])
    with pytest.raises(SettingsError, match=f"PLACET_PORT.*{port}"):
        Process([Told().build], platform_of(make, port))
    running = asyncio.create_task(first.run())
    first.ask_to_stop()
    await running
