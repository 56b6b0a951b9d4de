"""What is large, or many: it is refused where it enters, and never keeps a run from going on."""

import pytest

from placet.process.platform import Buses, Databases
from tests.integration.runner.agents import Ledger
from tests.integration.runner.family import DROP, asked, plan
from tests.integration.runner.test_talking import deaf, heard, two
from tests.support.eventually import eventually
from tests.support.system import system

pytestmark = pytest.mark.integration
Parts = tuple[Databases, Buses]


async def test_what_is_held_begins_the_next_run_however_large_it_is_in_all(parts: Parts) -> None:
    words = [f"{n} " + "\U0001f600" * 65_000 for n in range(12)]
    async with system([deaf(Ledger())], parts, sweep_seconds=0.05) as placet:
        run = await placet.client.agent("ops").run(plan([DROP], "done"), user="alice")
        [waiting] = await asked(placet, run)
        for word in words:
            await placet.client.agent(run.agent_id).message(word, user="alice")
        await waiting.answer(True, from_="alice")
        _, second = await eventually(lambda: two(placet, run.agent_id))
        assert await heard(placet, second) == words
