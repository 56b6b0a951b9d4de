"""Runs of one round: what goes wrong with one is told to whoever told of it, and to nobody else."""

import asyncio
from typing import cast

import pytest

from placet.errors import Unavailable
from placet_broker.ports import Interactions
from placet_broker.rules.record import Record
from placet_broker.usecases.mark_applied import MarkApplied

pytestmark = pytest.mark.unit


class Broken:
    """Interactions of which one can't be read, and none of the others is there."""

    async def get(self, id: str) -> Record | None:
        if id == "inp_bad":
            raise Unavailable("the database is away")
        return None


async def test_one_run_of_a_round_that_fails_leaves_the_others_alone() -> None:
    mark = MarkApplied(cast(Interactions, Broken()), most=3)
    told = [
        mark(f"run_{at}", "default", [id]) for at, id in enumerate(("inp_a", "inp_bad", "inp_b"))
    ]
    results = await asyncio.gather(*told, return_exceptions=True)
    assert [type(each) for each in results] == [type(None), Unavailable, type(None)]
