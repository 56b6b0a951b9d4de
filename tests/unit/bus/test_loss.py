"""What a lost connection looks like from the library, and what it does not."""

import asyncio

import aiormq
import pytest

from placet.bus.rabbit.link import unavailable
from placet.errors import Unavailable

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "error",
    [Exception, Exception("gone"), aiormq.AMQPError("x"), OSError("x"), asyncio.CancelledError()],
)
async def test_whatever_the_library_raises_for_a_lost_connection_is_unavailable(
    error: BaseException | type[BaseException],
) -> None:
    with pytest.raises(Unavailable, match="the thing"), unavailable("the thing"):
        raise error


@pytest.mark.parametrize("error", [TypeError("x"), ValueError("x"), KeyError("x")])
async def test_a_caller_s_mistake_is_not_a_lost_connection(error: Exception) -> None:
    with pytest.raises(type(error)), unavailable("the thing"):
        raise error
