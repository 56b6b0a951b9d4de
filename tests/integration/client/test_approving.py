"""A run in one process whose approvals people answer through a Placet that runs elsewhere."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest

from placet.agents.inprocess import RunResult
from placet.client import AsyncClient, Input, WebApprovalHandler
from placet.process.auth import Scope
from tests.integration.runner.agents import Ledger, agent, once
from tests.support.desk import told
from tests.support.eventually import eventually
from tests.support.system import System, system

pytestmark = pytest.mark.integration
DROP = once(("drop", {"name": "staging"}))


@pytest.fixture
async def placet() -> AsyncIterator[System]:
    async with system([]) as made:
        yield made


async def person(placet: System) -> AsyncClient:
    key, _ = await placet.platform.auth.keys.create(
        namespace="default",
        name="alice",
        person="alice",
        scopes=(Scope.INPUTS_READ, Scope.INPUTS_ANSWER),
    )
    return AsyncClient("http://127.0.0.1", key, transport=httpx2.ASGITransport(app=placet.app))


async def went(
    placet: System, ledger: Ledger, answer: Any, action: str = "accept"
) -> tuple[RunResult, Input]:
    """A run in this process, and its one approval as alice settled it."""
    results: list[RunResult] = []
    handler = WebApprovalHandler(placet.client)

    async def run() -> None:
        made = agent(ledger, *DROP)
        results.append(await made.run("go", approval_handler=handler, user="alice"))

    async with await person(placet) as alice, anyio.create_task_group() as group:
        group.start_soon(run)
        [waiting] = await eventually(alice.inbox)
        settled = await waiting.settle(action, answer)
    return results[0], settled


async def test_a_yes_from_elsewhere_lets_the_call_run(placet: System) -> None:
    ledger = Ledger()
    run, settled = await went(placet, ledger, True)
    assert (run.status, told(run)[0][0]) == ("completed", "ok")
    assert len(ledger.executions) == 1
    request = settled.value.request
    assert (request.path, request.audience.initiator) == (("ops",), "alice")


@pytest.mark.parametrize(
    ("answer", "outcome"), [(False, "denied"), ({"decision": "skipped"}, "skipped")]
)
async def test_a_no_or_a_skip_does_not(placet: System, answer: Any, outcome: str) -> None:
    ledger = Ledger()
    run, _ = await went(placet, ledger, answer)
    assert (told(run)[0][0], ledger.executions) == (outcome, [])


async def test_a_cancelled_question_is_nobodys_refusal(placet: System) -> None:
    ledger = Ledger()
    run, _ = await went(placet, ledger, None, action="cancel")
    assert told(run)[0] == ("cancelled", "Not run: the question was cancelled.")
    assert ledger.executions == []
