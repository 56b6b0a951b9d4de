"""A message that is sent again under its key counts once, and another under the same key is refused."""

from collections.abc import AsyncIterator

import pytest

from placet.agents.scripted import calls, says
from placet.client import Run
from placet.errors import Conflict, Invalid
from tests.integration.runner.agents import Ledger, agent
from tests.support.system import System, system

pytestmark = pytest.mark.integration

ASKS = calls(("drop", {"name": "one"}))


@pytest.fixture
async def placet() -> AsyncIterator[System]:
    async with system([agent(Ledger(), ASKS, says("first"), says("second"))]) as made:
        yield made


@pytest.fixture
async def waiting(placet: System) -> Run:
    return await placet.client.agent("ops").run("go", user="alice")


async def told(placet: System, run: Run) -> list[str]:
    """What the run has heard or will hear, in its order."""
    image = await placet.image(run.id)
    history = await placet.runner.runs.history(image)
    heard = [entry["text"] for entry in history if entry["type"] == "message.received"]
    return heard + [message["text"] for message in image.inbox]


async def test_the_same_message_under_the_same_key_is_kept_once(
    placet: System, waiting: Run
) -> None:
    working = placet.client.agent(waiting.agent_id)
    for _ in range(2):
        await working.message("wait", mode="queue", key="k1")
    assert await told(placet, waiting) == ["go", "wait"]


async def test_another_message_under_the_same_key_is_a_conflict(
    placet: System, waiting: Run
) -> None:
    working = placet.client.agent(waiting.agent_id)
    await working.message("wait", mode="queue", key="k1")
    with pytest.raises(Conflict) as refused:
        await working.message("hurry", mode="queue", key="k1")
    assert refused.value.reason == "idempotency_conflict"
    assert await told(placet, waiting) == ["go", "wait"]


async def test_a_message_that_was_read_already_is_still_known_by_its_key(
    placet: System, waiting: Run
) -> None:
    working = placet.client.agent(waiting.agent_id)
    await working.message("stop that", key="k1")
    ended = await placet.client.runs.wait(waiting.id)
    assert ended.status == "completed"
    await working.message("stop that", key="k1")
    with pytest.raises(Conflict) as refused:
        await working.message("another", key="k1")
    assert refused.value.reason == "idempotency_conflict"
    assert await told(placet, waiting) == ["go", "stop that"]


async def test_a_message_has_one_id(placet: System, waiting: Run) -> None:
    path = f"/v1/runs/{waiting.id}/messages"
    headers = {"Idempotency-Key": "k1"}
    with pytest.raises(Invalid, match="one of the two"):
        await placet.client.transport.post(path, {"text": "a", "id": "k2"}, headers=headers)
    body = {"text": "a", "id": "k1", "mode": "queue"}
    await placet.client.transport.post(path, body, headers=headers)
    await placet.client.transport.post(path, {"text": "a", "mode": "queue"}, headers=headers)
    assert await told(placet, waiting) == ["go", "a"]
