"""The same promises, kept by RabbitMQ and by the in-process twin."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from placet.bus import Bus, Hub
from placet.bus.rabbit import RabbitBus
from placet.testing.bus_cases import TEST_TOPOLOGY, BusCases, MakeBus


class TestInProcess(BusCases):
    @pytest.fixture
    async def make_bus(self) -> AsyncIterator[MakeBus]:
        hub = Hub(TEST_TOPOLOGY)
        made: list[Bus] = []

        async def make(user: str) -> Bus:
            bus = hub.bus(user)
            made.append(bus)
            await bus.open()
            return bus

        yield make
        await asyncio.gather(*(bus.close() for bus in made))


class TestRabbit(BusCases):
    @pytest.fixture
    async def make_bus(
        self, amqp_urls: dict[str, str], empty_queues: None
    ) -> AsyncIterator[MakeBus]:
        made: list[Bus] = []

        async def make(user: str) -> Bus:
            bus = RabbitBus(amqp_urls[user], topology=TEST_TOPOLOGY)
            made.append(bus)
            await bus.open()
            return bus

        yield make
        await asyncio.gather(*(bus.close() for bus in made))
