"""Every error has one shape, and every request passes the same edge."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import orjson
import pytest
from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from placet import errors
from placet.clock import SystemClock
from placet.process.bodies import strict_body
from placet.process.http import HotRoute, create_app, json_response
from placet.process.platform import Platform, Service, from_settings
from placet.process.problems import on_validation_error
from placet.process.settings import Settings, load

pytestmark = pytest.mark.unit

Client = Callable[..., httpx2.AsyncClient]
RAISED: dict[str, Exception] = {
    "invalid": errors.Invalid("no", [errors.FieldError("/a", "wrong")]),
    "unauthenticated": errors.Unauthenticated("who"),
    "not_allowed": errors.NotAllowed("no"),
    "not_found": errors.NotFound("no"),
    "settled": errors.Conflict("late", code="settled", body={"input": {"id": "inp_1"}}),
    "too_large": errors.TooLarge("big"),
    "unavailable": errors.Unavailable("MongoDB at x is away"),
    "queue_full": errors.QueueFull("full"),
    "lost_lease": errors.LostLease("gone"),
    "internal": RuntimeError("a secret detail"),
}


async def nothing() -> None:
    return


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    platform = from_settings(load(Settings, data=":memory:"), SystemClock())
    yield platform
    await platform.close()


@pytest.fixture
def client(platform: Platform) -> Client:
    routes = APIRouter()

    @routes.get("/raise/{name}")
    async def raise_(name: str, number: int = 0) -> None:
        raise RAISED[name]

    @routes.post("/told")
    async def told(body: dict[str, Any]) -> dict[str, Any]:
        return body

    def make(
        waiting: Callable[[], list[str]] = list, ready: Callable[[], list[str]] = list
    ) -> httpx2.AsyncClient:
        service = Service("test", (routes,), nothing, nothing, ready)
        app = create_app([service], platform, waiting)
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url="http://localhost")

    return make


@pytest.mark.parametrize(
    ("name", "status"),
    list(zip(RAISED, [400, 401, 403, 404, 409, 413, 503, 503, 409, 500], strict=True)),
)
async def test_each_error_has_its_status_and_one_shape(
    client: Client, name: str, status: int
) -> None:
    async with client() as http:
        reply = await http.get(f"/raise/{name}")
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert (problem["status"], problem["code"]) == (status, name)
    assert {"type", "title", "detail"} <= set(problem)
    assert ("retry-after" in reply.headers) == (status == 503)
    assert "a secret detail" not in reply.text


async def test_what_the_framework_refuses_has_the_same_shape(client: Client) -> None:
    async with client() as http:
        replies = [
            (404, await http.get("/nowhere")),
            (405, await http.put("/raise/invalid")),
            (400, await http.get("/raise/invalid?number=x")),
            (413, await http.post("/nowhere", content=b"x" * 1_048_577)),
        ]
    for status, reply in replies:
        assert reply.status_code == status
        assert reply.headers["content-type"] == "application/problem+json"
    assert replies[2][1].json()["errors"][0]["pointer"] == "/number"


async def test_a_settled_conflict_carries_the_input(client: Client) -> None:
    async with client() as http:
        assert (await http.get("/raise/settled")).json()["input"] == {"id": "inp_1"}


async def test_another_host_is_not_answered_but_probes_are(
    client: Client, platform: Platform
) -> None:
    await platform.open()
    async with client() as http:
        evil = {"Host": "evil.example"}
        assert (await http.get("/raise/invalid", headers=evil)).status_code == 421
        for path in ("/healthz", "/readyz", "/metrics"):
            assert (await http.get(path, headers={"Host": "10.1.2.3:8300"})).status_code == 200


async def test_a_request_id_comes_back_or_is_made(client: Client) -> None:
    async with client() as http:
        reply = await http.get("/nowhere", headers={"X-Request-Id": "mine-1"})
        assert reply.headers["x-request-id"] == "mine-1"
        assert (await http.get("/nowhere")).headers["x-request-id"].startswith("req_")


async def test_while_it_waits_it_lives_is_not_ready_and_says_for_what(client: Client) -> None:
    async with client(lambda: ["MongoDB at db:27017 is away"]) as http:
        assert (await http.get("/healthz")).status_code == 200
        ready = await http.get("/readyz")
        assert (ready.status_code, "db:27017" in ready.text) == (503, True)
        reply = await http.get("/raise/invalid")
        assert (reply.status_code, "db:27017" in reply.text) == (503, True)
        assert reply.headers["retry-after"]


async def test_ready_tells_what_a_service_or_a_server_lacks(
    client: Client, platform: Platform
) -> None:
    async with client(ready=lambda: ["no consumer on placet.x"]) as http:
        reply = await http.get("/readyz")
        assert reply.status_code == 503
        reasons = reply.json()["reasons"]
    assert "test: no consumer on placet.x" in reasons
    assert any("SQLite" in reason for reason in reasons), "its database is not open"


@pytest.mark.parametrize(
    ("found", "pointer", "detail"),
    [
        (("missing", ("body", "input"), "Field required"), "/input", "Field required"),
        (("missing", ("body", "a/b", 0), "Field required"), "/a~1b/0", "Field required"),
        (("int", ("query", "limit"), "Too large"), "/limit", "Too large (in the query)"),
        (("json_invalid", ("body", 7), "JSON"), "", "no JSON, at character 7: JSON"),
    ],
)
async def test_what_does_not_fit_is_named_by_a_pointer_into_what_was_sent(
    found: tuple[str, tuple[str | int, ...], str], pointer: str, detail: str
) -> None:
    kind, place, message = found
    error = RequestValidationError([{"type": kind, "loc": place, "msg": message}])
    reply = await on_validation_error(Request({"type": "http"}), error)
    body = orjson.loads(bytes(reply.body))
    assert body["errors"] == [{"pointer": pointer, "detail": detail}]
    assert body["detail"] == f"{pointer or '/'}: {detail}"


@pytest.mark.parametrize(
    "body", [b'{"a": 1, "a": 2}', b'{"a": {"b": 1, "b": 1}}', b'{"a": NaN}', b'{"a": 1e999}']
)
async def test_a_body_that_two_readers_could_read_differently_is_400(
    client: Client, body: bytes
) -> None:
    async with client() as http:
        json = {"Content-Type": "application/json"}
        assert (await http.post("/told", content=b'{"a": 1}', headers=json)).status_code == 200
        reply = await http.post("/told", content=body, headers=json)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    "host",
    ["localhost:80x", "localhost:", "x@localhost", "localhost/x", "localhost?", "localhost:8:8",
     "localhost, evil.example", "[::1", "localhost#", "localhost:123456"],
)  # fmt: skip
async def test_a_host_is_taken_whole_or_not_at_all(client: Client, host: str) -> None:
    async with client() as http:
        reply = await http.get("/nowhere", headers={"Host": host})
    assert (reply.status_code, reply.json()["code"]) == (400, "bad_host")


async def test_one_host_is_named(client: Client) -> None:
    async with client() as http:
        two = await http.get("/nowhere", headers=[("Host", "localhost"), ("Host", "localhost")])
        assert (two.status_code, two.json()["code"]) == (400, "bad_host")
        for host in ("localhost", "LocalHost:8300", "[::1]:8300", "127.0.0.1"):
            assert (await http.get("/nowhere", headers={"Host": host})).status_code == 404


async def test_a_hot_route_gets_its_own_parameters_and_solves_no_dependencies() -> None:
    async def show(id: str, request: Request) -> Response:
        return json_response({"id": id, "all": dict(request.path_params)})

    routes = APIRouter(route_class=HotRoute)
    routes.add_api_route("/{id}", show)
    app, above = FastAPI(), FastAPI()
    app.include_router(routes, dependencies=[Depends(strict_body)])
    above.mount("/under/{name}", app)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(above), base_url="http://placet"
    ) as http:
        told = (await http.get("/under/x/1")).json()
    assert told == {"id": "1", "all": {"name": "x", "id": "1"}}
    with pytest.raises(TypeError, match=r"/\{id\} is a HotRoute and solves no dependencies"):
        routes.add_api_route("/{id}", show, dependencies=[Depends(nothing)])
