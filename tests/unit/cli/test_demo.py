"""The demo tells its story whenever the kill comes."""

from typing import Any, cast

import pytest

from placet.cli.demo import _listed
from placet.client import Client

pytestmark = pytest.mark.unit


class Inbox:
    """A client of a broker that hears of the input at the third look."""

    def __init__(self) -> None:
        self.looks = 0

    def inbox(self, _state: str) -> list[Any]:
        self.looks += 1
        return ["the input"] if self.looks == 3 else []


def test_an_input_that_the_broker_had_not_heard_of_before_the_kill_is_waited_for() -> None:
    assert _listed(cast("Client", Inbox())) == "the input"
