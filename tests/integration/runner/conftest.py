"""A store of runs for each test, on SQLite and on MongoDB."""

from collections.abc import AsyncIterator

import pytest

from placet import Agent
from placet.agents.models import Conversation
from placet.errors import ModelError
from placet.kernel.turns import ModelReply
from placet.process.platform import Databases
from tests.integration.runner.book import Book, opened
from tests.support.system import System, system


@pytest.fixture
async def book(databases: Databases) -> AsyncIterator[Book]:
    """Give a store of runs."""
    async with opened(databases) as book:
        yield book


class BrokenModel:
    """A provider that refuses."""

    name = "broken:model"

    async def reply(self, conversation: Conversation) -> ModelReply:
        raise ModelError("401: no such key")


@pytest.fixture
async def placet_failing() -> AsyncIterator[System]:
    """Give a Placet whose one agent has a model that always fails."""
    async with system([Agent("broken", model=BrokenModel())]) as placet:
        yield placet
