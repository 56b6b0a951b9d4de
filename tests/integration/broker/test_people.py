"""/v1/people, /v1/groups, /v1/delegations and the lists of keys, as programs call them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from placet.process.auth import OPERATOR_SCOPES, Scope
from placet.process.auth.entries import PERSON, entry_id
from tests.integration.broker.desk import Desk

pytestmark = pytest.mark.integration


def soon(hours: float = 1) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


async def root(desk: Desk, namespace: str = "default") -> dict[str, str]:
    return await desk.key("root", *OPERATOR_SCOPES, namespace=namespace)


async def pages(desk: Desk, path: str, headers: dict[str, str]) -> list[Any]:
    """Everything, two at a time."""
    found, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await desk.http.get(path, params=query, headers=headers)).json()
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def test_a_person_is_made_changed_linked_and_let_in_no_more(still: Desk) -> None:
    operator, http = await root(still), still.http
    body = {"name": "Alice", "email": "alice@example.com", "identities": ["slack:U1"]}
    made = await http.put("/v1/people/alice", json=body, headers=operator)
    assert made.status_code == 200
    assert made.json() == {**made.json(), **body, "id": "alice", "disabled_at": None}
    again = await http.put("/v1/people/alice", json=body, headers=operator)
    assert again.json() == made.json()
    linked = await http.put("/v1/people/alice/identities/discord:7", headers=operator)
    assert linked.json()["identities"] == ["discord:7", "slack:U1"]
    await http.put("/v1/people/bob", json={}, headers=operator)
    taken = await http.put("/v1/people/bob/identities/slack:U1", headers=operator)
    assert (taken.status_code, taken.json()["code"]) == (409, "identity_taken")
    left = await http.delete("/v1/people/alice/identities/slack:U1", headers=operator)
    assert left.json()["identities"] == ["discord:7"]
    key = await still.key("alice")
    gone = await http.delete("/v1/people/alice", headers=operator)
    assert gone.json()["disabled_at"] is not None
    assert (await http.get("/v1/inputs", headers=key)).status_code == 401
    assert (await http.get("/v1/people/alice", headers=operator)).json() == gone.json()


async def test_a_person_whose_id_has_a_slash_can_be_named(still: Desk) -> None:
    operator = await root(still)
    path = "/v1/people/team%2Falice"
    made = await still.http.put(path, json={}, headers=operator)
    assert made.json()["id"] == "team/alice"
    assert (await still.http.delete(path, headers=operator)).json()["disabled_at"] is not None


async def test_people_groups_delegations_and_keys_come_in_pages(still: Desk) -> None:
    operator, http = await root(still), still.http
    for n in range(5):
        await http.put(f"/v1/people/p{n}", json={}, headers=operator)
        await http.put(f"/v1/groups/g{n}", json={"members": [f"p{n}"]}, headers=operator)
        body = {"from": "ann", "to": f"p{n}", "until": soon()}
        assert (await http.post("/v1/delegations", json=body, headers=operator)).status_code == 201
        await still.key(f"p{n}")
    people = await pages(still, "/v1/people", operator)
    assert [each["id"] for each in people] == [f"p{n}" for n in range(5)]
    groups = await pages(still, "/v1/groups", operator)
    assert [each["name"] for each in groups] == [f"g{n}" for n in range(5)]
    delegations = await pages(still, "/v1/delegations", operator)
    assert {each["to"] for each in delegations} == {f"p{n}" for n in range(5)}
    assert len(delegations) == 5
    keys = await pages(still, "/v1/keys", operator)
    assert len({each["id"] for each in keys}) == len(keys) == 6
    for path in ("people", "groups", "delegations", "keys"):
        bad = await http.get(f"/v1/{path}", params={"cursor": "bm8"}, headers=operator)
        assert bad.status_code == 400


async def test_groups_are_made_changed_and_let_go(still: Desk) -> None:
    operator, http = await root(still), still.http
    body = {"members": ["bob", "alice"]}
    made = await http.put("/v1/groups/ops", json=body, headers=operator)
    assert made.json()["members"] == ["alice", "bob"]
    grown = await http.put("/v1/groups/ops/members/cid", headers=operator)
    assert grown.json()["members"] == ["alice", "bob", "cid"]
    left = await http.delete("/v1/groups/ops/members/bob", headers=operator)
    assert left.json()["members"] == ["alice", "cid"]
    assert (await http.delete("/v1/groups/ops", headers=operator)).json() == left.json()
    assert (await http.get("/v1/groups/ops", headers=operator)).status_code == 404


async def test_a_person_delegates_their_own_and_ends_it(still: Desk) -> None:
    ann, bob, http = await still.key("ann"), await still.key("bob"), still.http
    body = {"to": "bob", "until": soon()}
    made = await http.post("/v1/delegations", json=body, headers=ann)
    assert made.status_code == 201
    assert (made.json()["from"], made.json()["by"]) == ("ann", "ann")
    path = f"/v1/delegations/{made.json()['id']}"
    assert (await http.get(path, headers=bob)).json() == made.json()
    back = await http.post("/v1/delegations", json={**body, "to": "ann"}, headers=bob)
    assert (back.status_code, back.json()["code"]) == (409, "delegation_cycle")
    for another in ({**body, "from": "ann"}, {**body, "from": "cid"}):
        assert (await http.post("/v1/delegations", json=another, headers=bob)).status_code == 403
    assert (await http.delete(path, headers=bob)).status_code == 403
    assert (await http.delete(path, headers=ann)).json()["ended_at"] is not None
    listed = await http.get("/v1/delegations", params={"in_force": True}, headers=ann)
    assert listed.json()["items"] == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/people/alice", {"admin": True}),
        ("PUT", "/v1/people/alice", {"disabled": "yes"}),
        ("PUT", "/v1/people/alice", {"identities": ["service:ci"]}),
        ("PUT", "/v1/people/service:ci", {}),
        ("PUT", "/v1/people/al%E2%80%8Bice", {}),
        ("PUT", "/v1/groups/a:b", {"members": []}),
        ("PUT", "/v1/groups/ops", {}),
        ("PUT", "/v1/groups/ops", {"members": ["group:other"]}),
        ("POST", "/v1/delegations", {"to": "bob"}),
        ("POST", "/v1/delegations", {"to": "bob", "until": "2020-01-01T00:00:00Z"}),
        ("POST", "/v1/delegations", {"to": "bob", "until": "9999-12-31T23:59:59-23:00"}),
        ("POST", "/v1/delegations", {"to": "root", "until": soon()}),
        ("POST", "/v1/delegations", {"to": "bob", "until": "2026-12-31T00:00:00"}),
        ("POST", "/v1/keys", {"name": "x", "person": "a", "expires_at": "2020-01-01T00:00:00Z"}),
        ("POST", "/v1/keys", {"name": "x", "person": "a", "expires_at": "9999-12-31T23:59:59Z"}),
    ],
)
async def test_what_does_not_fit_is_refused_with_its_fields(
    still: Desk, method: str, path: str, body: dict[str, Any]
) -> None:
    reply = await still.http.request(method, path, json=body, headers=await root(still))
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid")
    assert reply.json()["errors"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/v1/people/alice"),
        ("DELETE", "/v1/people/alice"),
        ("PUT", "/v1/people/alice/identities/slack:U1"),
        ("PUT", "/v1/groups/ops"),
        ("DELETE", "/v1/groups/ops"),
        ("PUT", "/v1/groups/ops/members/alice"),
    ],
)
async def test_only_who_operates_changes_people_and_groups(
    still: Desk, method: str, path: str
) -> None:
    assert (await still.http.request(method, path)).status_code == 401
    reply = await still.http.request(method, path, json={}, headers=await still.key("alice"))
    assert (reply.status_code, "operate" in reply.json()["detail"]) == (403, True)


@pytest.mark.parametrize("path", ["/v1/people", "/v1/groups", "/v1/delegations"])
async def test_reading_them_needs_the_scope_that_reads_inputs(still: Desk, path: str) -> None:
    without = await still.key("alice", Scope.RUNS_READ)
    assert (await still.http.get(path, headers=without)).status_code == 403
    assert (await still.http.get(path)).status_code == 401


async def test_what_is_in_another_namespace_is_not_there(still: Desk) -> None:
    here, there = await root(still), await root(still, "other")
    await still.http.put("/v1/people/alice", json={}, headers=here)
    await still.http.put("/v1/groups/ops", json={"members": []}, headers=here)
    body = {"from": "ann", "to": "bob", "until": soon()}
    made = await still.http.post("/v1/delegations", json=body, headers=here)
    paths = ("people/alice", "groups/ops", f"delegations/{made.json()['id']}")
    for path in paths:
        assert (await still.http.get(f"/v1/{path}", headers=there)).status_code == 404
    assert (await still.http.delete(f"/v1/{paths[2]}", headers=there)).status_code == 404


async def test_what_else_the_directory_holds_is_no_key(still: Desk) -> None:
    operator, directory = await root(still), still.platform.auth.directory
    await directory.people.put("default", "alice")
    for id in (entry_id(PERSON, "default", "alice"), "nothing"):
        reply = await still.http.delete(f"/v1/keys/{id}", headers=operator)
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
        headers = {"Authorization": f"Bearer plc_{id}_secret"}
        assert (await still.http.get("/v1/inputs", headers=headers)).status_code == 401
    assert "revoked_at" not in (await directory.entries.get(PERSON, "default", "alice") or {})
    items = (await still.http.get("/v1/keys", headers=operator)).json()["items"]
    assert {item["kind"] for item in items} == {"key"}
    assert all("about" not in item and "hash" not in item for item in items)


async def test_a_key_with_an_end_is_worthless_after_it(still: Desk) -> None:
    operator = await root(still)
    body = {"name": "x", "person": "alice", "scopes": ["inputs:read"], "expires_at": soon()}
    made = (await still.http.post("/v1/keys", json=body, headers=operator)).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert (await still.http.get("/v1/inputs", headers=headers)).status_code == 200
    ended = {"$set": {"expires_at": datetime.now(UTC) - timedelta(seconds=1)}}
    await still.platform.auth.directory.entries.kept.update(made["record"]["id"], {}, ended)
    reply = await still.http.get("/v1/inputs", headers=headers)
    assert (reply.status_code, "expired" in reply.json()["detail"]) == (401, True)
