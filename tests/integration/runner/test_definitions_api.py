"""Definitions over REST: conditional changes, namespaces, every replica, and runs of what is gone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from placet import Agent
from placet.agents.loading import Loaded
from placet.agents.scripted import says
from placet.domain.run import RunStatus
from placet.process.auth import ALL_SCOPES, Scope
from placet.process.platform import Databases
from placet.process.settings import load
from placet_runner.settings import RunnerSettings
from placet_runner.wiring import Runner
from tests.integration.models.openai_server import OpenAIServer, openai_server
from tests.integration.runner.agents import Ledger, agent
from tests.support.eventually import eventually
from tests.support.system import System, in_memory, system

pytestmark = pytest.mark.integration

MODEL = "openai-chat:test-model"
BODY: dict[str, Any] = {"model": MODEL, "builtins": ["ask_user_text"], "instructions": "Ask."}
NEW = {"If-None-Match": "*"}
PATH = "/v1/definitions/helper"


class Rest:
    """REST with a key of its own."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def put(self, body: Any, headers: dict[str, str], path: str = PATH) -> httpx2.Response:
        return await self.http.put(path, json=body, headers=headers)

    async def get(self, path: str = PATH, **headers: str) -> httpx2.Response:
        return await self.http.get(path, headers=headers)

    async def tag(self) -> str:
        return (await self.get()).headers["etag"]

    async def delete(self, **headers: str) -> httpx2.Response:
        return await self.http.delete(PATH, headers=headers)


@asynccontextmanager
async def rest_of(placet: System, *scopes: str, namespace: str = "default") -> AsyncIterator[Rest]:
    key, _ = await placet.platform.auth.keys.create(
        namespace=namespace, name="rest", person="alice", scopes=scopes or ALL_SCOPES
    )
    transport = httpx2.ASGITransport(app=placet.app)
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=headers, timeout=60
    ) as http:
        yield Rest(http)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with openai_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield server


@pytest.fixture
async def placet(databases: Databases) -> AsyncIterator[System]:
    _, buses = in_memory()
    async with system([agent(Ledger(), says("done"))], (databases, buses)) as made:
        yield made


@pytest.fixture
async def rest(placet: System) -> AsyncIterator[Rest]:
    async with rest_of(placet) as made:
        yield made


async def test_one_is_made_once_and_shown_with_a_strong_etag(rest: Rest) -> None:
    made = await rest.put(BODY, NEW)
    assert made.status_code == 201, made.text
    assert not made.headers["etag"].startswith("W/")
    shown = await rest.get()
    assert shown.headers["etag"] == made.headers["etag"]
    assert shown.json()["definition"] == BODY
    assert (shown.json()["version"], shown.json()["created_by"]) == (1, "alice")
    assert (await rest.get(**{"If-None-Match": made.headers["etag"]})).status_code == 304
    again = await rest.put(BODY, NEW)
    assert (again.status_code, again.json()["code"]) == (412, "precondition_failed")


async def test_a_replacement_names_the_version_that_it_replaces(rest: Rest) -> None:
    first = (await rest.put(BODY, NEW)).headers["etag"]
    blind = await rest.put(BODY, {})
    assert (blind.status_code, blind.json()["code"]) == (428, "precondition_required")
    second = await rest.put(BODY | {"instructions": "More."}, {"If-Match": first})
    assert (second.status_code, second.json()["version"]) == (200, 2)
    late = await rest.put(BODY, {"If-Match": first})
    assert (late.status_code, late.json()["code"]) == (412, "precondition_failed")
    assert late.headers["content-type"] == "application/problem+json"
    same = await rest.put(BODY | {"instructions": "More."}, {"If-Match": second.headers["etag"]})
    assert same.headers["etag"] != second.headers["etag"], "a version of its own"
    nothing = await rest.put(BODY, {"If-Match": first}, "/v1/definitions/nobody")
    assert nothing.status_code == 404


async def test_one_is_deleted_by_its_version(rest: Rest) -> None:
    tag = (await rest.put(BODY, NEW)).headers["etag"]
    assert (await rest.delete()).status_code == 428
    assert (await rest.delete(**{"If-Match": '"0.0"'})).status_code == 412
    assert (await rest.delete(**{"If-Match": tag})).status_code == 204
    assert (await rest.get()).status_code == 404
    assert (await rest.delete(**{"If-Match": tag})).status_code == 404


async def test_a_creation_that_is_sent_again_under_its_key_is_the_same(rest: Rest) -> None:
    keyed = NEW | {"Idempotency-Key": "k1"}
    made = await rest.put(BODY, keyed)
    again = await rest.put(BODY, keyed)
    assert (made.status_code, again.status_code) == (201, 200)
    assert again.json() == made.json()
    other = await rest.put(BODY | {"instructions": "x"}, keyed)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert (await rest.put(BODY, NEW | {"Idempotency-Key": "k2"})).status_code == 412


async def test_of_two_changes_at_once_one_wins_and_the_other_is_told(rest: Rest) -> None:
    made = await asyncio.gather(*(rest.put(BODY | {"instructions": t}, NEW) for t in "ab"))
    assert sorted(each.status_code for each in made) == [201, 412]
    seen = {"If-Match": await rest.tag()}
    later = await asyncio.gather(*(rest.put(BODY | {"instructions": t}, seen) for t in "cd"))
    assert sorted(each.status_code for each in later) == [200, 412]
    [won] = [each for each in later if each.status_code == 200]
    assert (await rest.get()).json() == won.json()


async def test_a_file_s_definition_wins_and_is_changed_in_its_file(rest: Rest) -> None:
    refused = await rest.put(BODY, NEW, "/v1/definitions/ops")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_a_file")
    shown = await rest.get("/v1/definitions/ops")
    assert (shown.json()["source"], shown.json()["definition"]) == ("file", None)
    known = {"If-None-Match": shown.headers["etag"]}
    assert (await rest.get("/v1/definitions/ops", **known)).status_code == 304
    deleted = await rest.http.delete("/v1/definitions/ops", headers={"If-Match": "*"})
    assert deleted.status_code == 409


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"builtins": ["bash"]}, "/builtins/0"),
        ({"tools": ["os:system"]}, "/tools"),
        ({"folder": "/"}, "/folder"),
        ({"sources": {"x": "never"}}, "/sources"),
        ({"delegates": ["nobody"]}, "/delegates/0"),
        ({"delegates": ["../x"]}, "/delegates/0"),
    ],
)
async def test_what_reaches_further_is_refused_with_its_place(
    rest: Rest, change: dict[str, Any], pointer: str
) -> None:
    refused = await rest.put(BODY | change, NEW)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert (await rest.get()).status_code == 404, "nothing was kept"


async def test_only_the_scope_puts_one(placet: System) -> None:
    rights = ALL_SCOPES - {Scope.DEFINITIONS_WRITE}
    async with rest_of(placet, *rights) as rest:
        assert (await rest.put(BODY, NEW)).status_code == 403
        assert (await rest.delete(**{"If-Match": "*"})).status_code == 403


async def test_one_of_another_namespace_is_not_there(placet: System, rest: Rest) -> None:
    await rest.put(BODY, NEW)
    async with rest_of(placet, namespace="other") as other:
        assert (await other.get()).status_code == 404
        assert (await other.http.delete(PATH, headers={"If-Match": "*"})).status_code == 404
        listed = (await other.get("/v1/definitions")).json()["items"]
        assert [each["name"] for each in listed] == ["ops"]
        started = await other.http.post("/v1/agents/helper/runs", json={"input": "go"})
        assert started.status_code == 404
        assert "helper" not in started.json()["detail"].partition("definitions:")[2]
        delegating = BODY | {"delegates": ["helper"]}
        assert (await other.put(delegating, NEW, "/v1/definitions/boss")).status_code == 400


async def test_all_are_listed_by_pages_and_a_broken_cursor_is_refused(rest: Rest) -> None:
    for number in range(5):
        made = await rest.put(BODY, NEW, f"/v1/definitions/h{number}")
        assert made.status_code == 201
    names, query = [], "?limit=2"
    while True:
        page = (await rest.get(f"/v1/definitions{query}")).json()
        names += [each["name"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        query = f"?limit=2&cursor={page['next_cursor']}"
    assert names == ["h0", "h1", "h2", "h3", "h4", "ops"]
    for path in ("/v1/definitions", "/v1/agents", "/v1/runs", "/v1/inputs"):
        broken = await rest.get(f"{path}?cursor=nonsense")
        assert (broken.status_code, broken.json()["code"]) == (400, "invalid"), path


async def test_a_run_of_one_asks_and_goes_on(rest: Rest, model: OpenAIServer) -> None:
    await rest.put(BODY, NEW)
    model.will_say(calls=[("c1", "ask_user_text", '{"question": "Which?"}')])
    model.will_say("that one")
    run = (await rest.http.post("/v1/agents/helper/runs", json={"input": "go"})).json()
    waiting = (await rest.get(f"/v1/runs/{run['id']}?wait=20")).json()
    assert waiting["status"] == "input_required", waiting
    asked = waiting["inputs"][0]["id"]
    answered = await rest.http.post(f"/v1/inputs/{asked}", json={"content": "this"})
    assert answered.status_code == 202, answered.text
    done = (await rest.get(f"/v1/runs/{run['id']}?wait=20&settled={asked}")).json()
    assert (done["status"], done["text"]) == ("completed", "that one")
    assert model.requests[0]["messages"][0]["content"] == "Ask."


async def test_a_run_starts_and_is_taken_up_on_a_replica_that_never_heard_of_the_put(
    placet: System, rest: Rest, model: OpenAIServer
) -> None:
    model.will_say("done")
    await rest.put(BODY, NEW)
    await placet.runner.replica.take_no_more()  # only the second takes anything up
    second = Runner(placet.platform, load(RunnerSettings), Loaded(agents={}))
    await second.start()
    try:
        run = await placet.runner.talk.start("default", "helper", "go", initiator="alice")
        await placet.stands(run.id, RunStatus.COMPLETED)
    finally:
        await second.stop()


async def test_a_run_of_a_deleted_one_waits_and_goes_on_once_there_is_another(
    placet: System, rest: Rest, model: OpenAIServer
) -> None:
    tag = (await rest.put(BODY, NEW)).headers["etag"]
    model.will_say(calls=[("c1", "ask_user_text", '{"question": "Which?"}')])
    run = (await rest.http.post("/v1/agents/helper/runs", json={"input": "go"})).json()
    waiting = (await rest.get(f"/v1/runs/{run['id']}?wait=20")).json()
    await rest.delete(**{"If-Match": tag})
    asked = waiting["inputs"][0]["id"]
    assert (await rest.http.post(f"/v1/inputs/{asked}", json={"content": "x"})).status_code == 202

    async def recorded() -> bool:
        image = await placet.image(run["id"])
        return bool(image.settled)

    await eventually(recorded)
    assert not await placet.runner.replica.take_up(run["id"], wait=False)
    assert (await placet.image(run["id"])).status == RunStatus.INPUT_REQUIRED
    refused = await rest.http.post("/v1/agents/helper/runs", json={"input": "go"})
    assert refused.status_code == 404
    model.will_say("done")
    await rest.put(BODY, NEW)
    assert await placet.runner.replica.take_up(run["id"], wait=False)
    await placet.stands(run["id"], RunStatus.COMPLETED)


async def test_one_that_can_t_be_used_any_more_is_listed_with_its_problem(
    databases: Databases,
) -> None:
    _, buses = in_memory()
    boss = Agent("boss", model=MODEL)
    async with system([boss], (databases, buses)) as placet, rest_of(placet) as rest:
        await rest.put(BODY, NEW)
        stored = placet.runner.shelf.stored
        seen = await stored.get("default", "helper")
        assert seen is not None
        assert await stored.remove(seen)
        broken = {"model": MODEL, "builtins": ["bash"]}  # as an older Placet let it be
        await stored.add(replace(seen, body=broken, digest="sha256:0"))
        [_, item] = (await rest.get("/v1/definitions")).json()["items"]
        assert "bash" in item["problem"]
        started = await rest.http.post("/v1/agents/helper/runs", json={"input": "go"})
        assert started.status_code == 404


async def test_a_delegate_of_one_runs_below_it(rest: Rest, model: OpenAIServer) -> None:
    await rest.put(BODY | {"delegates": ["ops"]}, NEW)
    task = '{"tasks": [{"agent": "ops", "message": "do it"}]}'
    model.will_say(calls=[("c1", "delegate", task)])
    model.will_say("all done")
    run = (await rest.http.post("/v1/agents/helper/runs", json={"input": "go"})).json()
    done = (await rest.get(f"/v1/runs/{run['id']}?wait=20")).json()
    assert (done["status"], done["text"]) == ("completed", "all done"), done
