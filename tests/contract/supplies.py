"""What the fuzzing of REST needs: for each operation, things that exist and nobody has ended yet.

Answered inputs, revoked keys and disabled people are of no use to the operations after them, so each
operation gets its own; and freezes that fuzzing made are lifted before the next one.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx2

from tests.contract.serving import CALLER

Place = dict[str, str]
"""What a path's parameters name; or what its body does."""
SEVERAL = 6
DEFINITION = {"model": "openai:gpt-5", "builtins": ["ask_user_text"]}
NEW = {"If-None-Match": "*"}
HOOK = "https://example.com/"


def supply(client: httpx2.Client, path: str) -> list[Place]:
    """Places that exist, for the operations of a path; [] where a path names nothing."""
    calm(client)
    kind = max((prefix for prefix in _SUPPLIES if path.startswith(prefix)), key=len, default=None)
    return _SUPPLIES[kind](client) if kind else []


def calm(client: httpx2.Client) -> None:
    """Lift every freeze."""
    for each in _json(client.get("/v1/freezes", params={"active": True, "limit": 200}))["items"]:
        _json(client.post(f"/v1/freezes/{each['id']}/lift"))


def _json(reply: httpx2.Response) -> Any:
    assert reply.is_success, f"{reply.request.method} {reply.request.url}: {reply.text}"
    return reply.json() if reply.content else None


def _runs(client: httpx2.Client) -> list[Place]:
    """Runs that wait for an approval, by all that names one."""
    started = [
        _json(client.post("/v1/agents/ops/runs", json={"input": f"Delete database {n}"}))
        for n in range(SEVERAL)
    ]
    waiting = [_json(client.get(f"/v1/runs/{run['id']}", params={"wait": 20})) for run in started]
    return [
        {
            "run_id": run["id"],
            "agent": ("ops", run["agent_id"])[number % 2],
            "id": run["inputs"][0]["id"],
            "tool": "drop_database",
        }
        for number, run in enumerate(waiting)
    ]


def _grants(client: httpx2.Client) -> list[Place]:
    """Grants of runs that go on: what was approved is frozen."""
    runs = _runs(client)
    _json(client.post("/v1/freezes", json={"reason": "fuzzing", "agent": "ops"}))
    for run in runs:
        content = {"decision": "approved", "scope": "run"}
        _json(client.post(f"/v1/inputs/{run['id']}", json={"content": content}))
    found = []
    for run in runs:
        where = f"/v1/runs/{run['run_id']}"
        _json(client.get(where, params={"settled": run["id"], "wait": 20}))
        grants = _json(client.get(f"{where}/grants"))["items"]
        found += [{"run_id": run["run_id"], "grant_id": grant["id"]} for grant in grants]
    return found


def request(**more: Any) -> dict[str, Any]:
    """An approval that another service asks for now."""
    call = {"id": "refund-7", "tool": "refund", "args": {"cents": 1200}}
    asked = {"kind": "tool_approval", "call": call, "agent_id": "billing", "risk": "high"}
    return {**asked, "requested_at": datetime.now(UTC).isoformat(), **more}


def _inputs(client: httpx2.Client) -> list[Place]:
    """Inputs that wait, and that anybody may answer but who asks."""
    body = {"name": "asker", "service": "asker", "scopes": ["runs:write"]}
    key = _json(client.post("/v1/keys", json=body))["key"]
    return _asked(client, {"Authorization": f"Bearer {key}"})


def _requests(client: httpx2.Client) -> list[Place]:
    """Inputs that the caller itself asked for."""
    return _asked(client, {})


def _asked(client: httpx2.Client, who: dict[str, str]) -> list[Place]:
    run = f"order-{datetime.now(UTC).timestamp()}"
    asked = [
        _json(client.post("/v1/requests", json=request(run_id=f"{run}-{n}"), headers=who))
        for n in range(SEVERAL * 4)
    ]
    return [{"id": each["id"]} for each in asked]


def _links(client: httpx2.Client) -> list[Place]:
    return [
        place | {"link": _json(client.post(f"/v1/inputs/{place['id']}/links", json=LINK))["id"]}
        for place in _inputs(client)[:SEVERAL]
    ]


LINK = {"person": CALLER, "content": True}


def _definitions(client: httpx2.Client) -> list[Place]:
    for name in ("one", "two"):
        reply = client.put(f"/v1/definitions/{name}", json=DEFINITION, headers=NEW)
        assert reply.status_code in (201, 412), reply.text
    return [{"name": name} for name in ("one", "two", "ops", "three")]


def _people(client: httpx2.Client) -> list[Place]:
    for name in ("pat", "quinn"):
        _json(client.put(f"/v1/people/{name}", json={"name": name, "disabled": False}))
    return [{"id": name, "identity": f"slack:{name}"} for name in ("pat", "quinn")]


def _groups(client: httpx2.Client) -> list[Place]:
    for name in ("dba", "board"):
        _json(client.put(f"/v1/groups/{name}", json={"members": ["ann", "ben"]}))
    return [{"name": name, "person": "ann"} for name in ("dba", "board")]


def _delegations(client: httpx2.Client) -> list[Place]:
    for each in _json(client.get("/v1/delegations", params={"in_force": True}))["items"]:
        _json(client.delete(f"/v1/delegations/{each['id']}"))
    until = datetime.fromtimestamp(datetime.now(UTC).timestamp() + 86_400, UTC).isoformat()
    made = [
        _json(client.post("/v1/delegations", json={"to": f"deputy-{n}", "until": until}))
        for n in range(SEVERAL)
    ]
    return [{"id": each["id"]} for each in made]


def _freezes(client: httpx2.Client) -> list[Place]:
    made = [
        _json(client.post("/v1/freezes", json={"reason": f"fuzzing {n}", "agent": "nobody"}))
        for n in range(SEVERAL)
    ]
    return [{"id": each["id"]} for each in made]


def _keys(client: httpx2.Client) -> list[Place]:
    body = {"name": "spare", "service": "spare", "scopes": []}
    made = [_json(client.post("/v1/keys", json=body)) for _ in range(SEVERAL)]
    return [{"id": each["record"]["id"]} for each in made]


def _webhooks(client: httpx2.Client) -> list[Place]:
    for each in _json(client.get("/v1/webhooks", params={"limit": 200}))["items"]:
        _json(client.delete(f"/v1/webhooks/{each['id']}"))
    made = [_json(client.post("/v1/webhooks", json={"url": HOOK})) for _ in range(3)]
    return [{"id": each["webhook"]["id"]} for each in made]


def _deliveries(client: httpx2.Client) -> list[Place]:
    hooks = _webhooks(client)
    _inputs(client)
    found = []
    for hook in hooks:
        items: list[Any] = []
        for _ in range(100):
            items = _json(client.get(f"/v1/webhooks/{hook['id']}/deliveries"))["items"]
            if items:
                break
        found += [hook | {"delivery": each["id"]} for each in items]
    return found


_SUPPLIES: dict[str, Callable[[httpx2.Client], list[Place]]] = {
    "/v1/agents/{": _runs,
    "/v1/runs/{": _runs,
    "/v1/runs/{run_id}/grants/{": _grants,
    "/v1/inputs": _inputs,
    "/v1/inputs/{id}/links/{": _links,
    "/v1/requests/{": _requests,
    "/v1/audit/{": _inputs,
    "/v1/definitions/{": _definitions,
    "/v1/people/{": _people,
    "/v1/groups/{": _groups,
    "/v1/delegations": _delegations,
    "/v1/freezes/{": _freezes,
    "/v1/keys/{": _keys,
    "/v1/webhooks": _webhooks,
    "/v1/webhooks/{id}/deliveries": _deliveries,
}
"""By how a path begins: the longest counts."""
