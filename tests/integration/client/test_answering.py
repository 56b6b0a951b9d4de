"""Answering with the SDK: what it refuses by itself, batches, what goes on, and callbacks."""

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import anyio.to_thread
import httpx2
import pytest

from placet.client import Answer, AsyncClient, Client, Input
from placet.domain.run import RunStatus
from placet.errors import Conflict, Invalid, NotFound
from placet.ids import new_id
from placet.process.auth import ALL_SCOPES
from placet.process.http import create_app
from placet_broker.rules.opening import Asker
from tests.integration.broker.desk import RUNNER_ASKS, approval, of_service
from tests.integration.runner.agents import Ledger, agent, once
from tests.support.kinds import KINDS
from tests.support.listening import listening
from tests.support.system import System, system

pytestmark = pytest.mark.integration

TWO = once(("drop", {"name": "one"}), ("drop", {"name": "two"}))


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
async def placet(ledger: Ledger) -> AsyncIterator[System]:
    """An agent whose one turn asks for two calls."""
    async with system([agent(ledger, *TWO)]) as made:
        yield made


async def asked(placet: System, kind: str) -> Input:
    """A question of this kind that is known to the broker alone."""
    request = KINDS[kind].request(new_id("inp"))
    record = await placet.broker.use_cases.open_request(request, RUNNER_ASKS)
    return await placet.client.input(record.id)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("tool_approval", "confirm", "url")])
async def test_c41_a_truth_value_answers_only_what_is_allowed_or_done(
    placet: System, kind: str
) -> None:
    waiting = await asked(placet, kind)
    with pytest.raises(Invalid, match="True and False answer an approval"):
        await waiting.accept(True)
    assert (await placet.client.input(waiting.id)).state == "pending"


@pytest.mark.parametrize("kind", ["tool_approval", "confirm", "questions", "form", "url", "review"])
async def test_c41_one_text_answers_only_one_question(placet: System, kind: str) -> None:
    waiting = await asked(placet, kind)
    with pytest.raises(Invalid, match="one text is no answer"):
        await waiting.accept("yes")
    assert (await placet.client.input(waiting.id)).state == "pending"


@pytest.mark.parametrize("kind", KINDS)
async def test_c41_what_fits_is_sent(placet: System, kind: str) -> None:
    waiting = await asked(placet, kind)
    assert (await waiting.accept(KINDS[kind].right)).state == "answered"


async def test_c41_who_answers_is_missing_before_anything_is_sent(placet: System) -> None:
    sent: list[tuple[str, str]] = []

    class Noting(httpx2.ASGITransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            sent.append((request.method, request.url.path))
            return await super().handle_async_request(request)

    run = await placet.client.agent("ops").run("go", user="alice")
    app = create_app([placet.runner.service, placet.broker.service], placet.platform)
    async with AsyncClient("http://127.0.0.1", placet.key, transport=Noting(app=app)) as client:
        waiting = await client.input(run.inputs[0].id)
        for way in (partial(waiting.answer, True), waiting.decline, waiting.cancel):
            with pytest.raises(Invalid, match="say who answers") as raised:
                await way()
            assert [error.pointer for error in raised.value.errors] == ["/from"]
        assert {method for method, _ in sent} == {"GET"}
        assert (await waiting.accept(True, from_="alice")).state == "answered"


async def test_c41_a_person_need_not_say_who_they_are(placet: System) -> None:
    key, _ = await placet.platform.auth.keys.create(
        namespace="default", name="own", person="alice", scopes=ALL_SCOPES
    )
    run = await placet.client.agent("ops").run("go", user="alice")
    app = create_app([placet.runner.service, placet.broker.service], placet.platform)
    transport = httpx2.ASGITransport(app=app)
    async with AsyncClient("http://127.0.0.1", key, transport=transport) as client:
        settled = await (await client.input(run.inputs[0].id)).accept(True)
    assert settled.resolution is not None
    assert settled.resolution.by is not None
    assert settled.resolution.by.id == "alice"


async def test_c27_an_answer_with_siblings_open_gives_the_run_with_the_rest(
    placet: System, ledger: Ledger
) -> None:
    run = await placet.client.agent("ops").run("go", user="alice")
    first, second = run.inputs
    run = await first.answer(True, from_="alice")
    assert run.status == RunStatus.INPUT_REQUIRED
    assert [each.id for each in run.inputs] == [second.id]
    assert ledger.executions == []
    run = await second.answer(False, from_="alice")
    assert run.status == RunStatus.COMPLETED
    assert ledger.executions == [("drop", {"name": "one"})]


async def test_c26_a_batch_resumes_the_run_once_all_of_it_is_settled(
    placet: System, ledger: Ledger
) -> None:
    run = await placet.client.agent("ops").run("go", user="alice")
    ids = [each.id for each in run.inputs]
    bad = [Answer(ids[0], True, from_="alice"), Answer(ids[1], "maybe", from_="alice")]
    with pytest.raises(Invalid) as raised:
        await placet.client.answer_all(bad)
    assert [error.pointer for error in raised.value.errors] == ["/answers/1/content"]
    assert [each.state for each in await placet.client.inbox()] == ["pending", "pending"]
    good = [Answer(id, True, from_="alice") for id in reversed(ids)]
    settled = await placet.client.answer_all(good)
    assert [each.id for each in settled] == ids[::-1]
    run = await placet.client.runs.wait(run.id, settled=ids[0])
    assert run.status == RunStatus.COMPLETED
    assert ledger.executions == [("drop", {"name": "one"}), ("drop", {"name": "two"})]
    assert [each.state for each in await placet.client.answer_all(good)] == ["answered"] * 2


async def test_a_batch_of_which_each_stands_alone_tells_what_each_came_to(placet: System) -> None:
    run = await placet.client.agent("ops").run("go", user="alice")
    ids = [each.id for each in run.inputs]
    answers = [Answer(ids[0], True, from_="alice"), Answer(ids[1], "maybe", from_="alice")]
    results = await placet.client.answer_each([*answers, Answer("inp_1")])
    assert isinstance(results[0], Input)
    assert [type(each) for each in results[1:]] == [Invalid, NotFound]
    again = await placet.client.answer_each([Answer(ids[0], False, from_="alice")])
    assert isinstance(again[0], Conflict)


async def test_more_time_is_given_by_who_may_answer(placet: System) -> None:
    run = await placet.client.agent("ops").run("go", user="alice")
    waiting = await placet.client.input(run.inputs[0].id)
    until = waiting.value.request.expires_at
    assert until is not None
    extended = await waiting.extend(until + timedelta(hours=3), from_="alice")
    assert extended.value.request.expires_at == until + timedelta(hours=3)
    assert extended.value.request.digest == waiting.value.request.digest


async def test_a_request_is_taken_back_by_who_made_it_alone(placet: System) -> None:
    body = of_service().model_dump(mode="json")
    own = placet.client.input_from(await placet.client.transport.post("/v1/requests", body))
    assert (await own.withdraw()).state == "withdrawn"
    run = await placet.client.agent("ops").run("go", user="alice")
    with pytest.raises(NotFound):
        await run.inputs[0].withdraw()


async def test_c28_a_callback_hears_each_input_and_what_it_returns_answers(
    placet: System, ledger: Ledger
) -> None:
    heard: list[Any] = []

    async def on_input(waiting: Input) -> bool:
        heard.append(waiting.value.request.model_dump()["call"]["args"]["name"])
        return bool(heard[-1] == "two")

    run = await placet.client.agent("ops").run("go", user="alice", on_input=on_input, from_="alice")
    assert (run.status, heard) == (RunStatus.COMPLETED, ["one", "two"])
    assert ledger.executions == [("drop", {"name": "two"})]


async def test_c28_a_callback_that_returns_nothing_answers_later(
    placet: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    def on_input(waiting: Input) -> bool | None:
        heard.append(waiting.id)
        return True if len(heard) == 1 else None

    run = await placet.client.agent("ops").run("go", user="alice", on_input=on_input, from_="alice")
    assert run.status == RunStatus.INPUT_REQUIRED
    assert [each.id for each in run.inputs] == heard[1:], "each was told once, the second waits"
    run = await run.inputs[0].answer(True, from_="alice")
    assert run.status == RunStatus.COMPLETED


async def test_c28_hears_what_a_tool_asks_after_it_was_answered(ledger: Ledger) -> None:
    turns = once(("sure", {"what": "it"}), ("drop", {"name": "x"}))
    async with system([agent(ledger, *turns)]) as placet:
        kinds: list[str] = []

        def on_input(waiting: Input) -> bool:
            kinds.append(str(waiting.kind))
            return True

        client = placet.client.agent("ops")
        run = await client.run("go", user="alice", on_input=on_input, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert sorted(kinds) == ["confirm", "tool_approval"]


async def test_a_callback_that_raises_leaves_the_input_open(placet: System) -> None:
    def on_input(_waiting: Input) -> bool:
        raise ValueError("the dialog crashed")

    with pytest.raises(ValueError, match="the dialog crashed"):
        await placet.client.agent("ops").run("go", user="alice", on_input=on_input)
    assert [each.state for each in await placet.client.inbox()] == ["pending", "pending"]


async def test_the_sync_sdk_does_the_same(placet: System, ledger: Ledger) -> None:
    app = create_app([placet.runner.service, placet.broker.service], placet.platform)

    def in_thread(url: str) -> tuple[str, list[str]]:
        def on_input(waiting: Any) -> bool | None:
            # A callback may use the blocking objects that it is given.
            if waiting.value.request.call.args["name"] == "one":
                return True
            assert waiting.settle("decline", from_="alice").state == "declined"
            return None

        with Client(url, placet.key) as client:
            run = client.agent("ops").run("go", user="alice", on_input=on_input, from_="alice")
            batch = [Answer(client.input(each.id).id, True) for each in (first, second)]
            return run.status, [each.state for each in client.answer_all(batch)]

    first = await placet.broker.use_cases.open_request(approval(call_id="a"), RUNNER_ASKS)
    second = await placet.broker.use_cases.open_request(approval(call_id="b"), RUNNER_ASKS)
    async with listening(app) as url:
        status, states = await anyio.to_thread.run_sync(in_thread, url)
    assert (status, states) == ("completed", ["answered", "answered"])
    assert ledger.executions == [("drop", {"name": "one"})]


async def test_what_another_service_asks_has_no_run_to_wait_for_and_stays_open(
    placet: System,
) -> None:
    asker = Asker("service:billing", "default")
    record = await placet.broker.use_cases.open_request(of_service(), asker)
    waiting = await placet.client.input(record.id)
    for said in (waiting.answer(True), waiting.decline(), waiting.cancel()):
        with pytest.raises(Invalid, match="no run to wait for"):
            await said
    assert (await waiting.accept(True)).state == "answered"


async def test_a_run_whose_questions_are_being_closed_by_a_message_does_not_stand_still(
    placet: System,
) -> None:
    run = await placet.client.agent("ops").run("go", user="alice")
    await placet.client.agent(run.agent_id).message("leave it", user="alice")
    run = await run.wait()
    assert (run.status, run.inputs) == (RunStatus.COMPLETED, ())


async def test_waiting_for_an_input_ends_once_it_settles_or_the_time_is_over(
    placet: System,
) -> None:
    waiting = await asked(placet, "confirm")
    assert (await waiting.wait(0)).state == "pending"
    assert (await waiting.wait(0.01)).state == "pending"
    await waiting.accept(True)
    assert (await waiting.wait()).state == "answered"


async def test_the_sync_sdk_waits_for_an_input_too(placet: System) -> None:
    waiting = await asked(placet, "confirm")
    async with listening(placet.app) as url:

        def wait() -> str:
            with Client(url, placet.key) as client:
                found = client.input(waiting.id).wait(0.01)
                return str(found.state)

        assert await anyio.to_thread.run_sync(wait) == "pending"
        await waiting.accept(True)
        assert await anyio.to_thread.run_sync(wait) == "answered"
