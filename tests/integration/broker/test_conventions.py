"""Keys that are made once, pages, and waiting for one input with its ETag."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from placet.process.auth import OPERATOR_SCOPES
from placet.process.platform import Databases
from tests.integration.broker.desk import Desk, opened

pytestmark = pytest.mark.integration

KEY = {"name": "ci", "service": "ci", "scopes": ["runs:read"]}


@pytest.fixture
async def desk(databases: Databases) -> AsyncIterator[Desk]:
    async with opened(databases) as desk:
        yield desk


@pytest.fixture
async def operator(desk: Desk) -> dict[str, str]:
    return await desk.key("olga", *OPERATOR_SCOPES)


async def make(desk: Desk, headers: dict[str, str], key: str | None, **changes: Any) -> Any:
    sent = headers | ({"Idempotency-Key": key} if key else {})
    return await desk.http.post("/v1/keys", json=KEY | changes, headers=sent)


async def test_a_key_that_is_asked_for_again_is_the_same_and_not_shown_again(
    desk: Desk, operator: dict[str, str]
) -> None:
    first, again = await make(desk, operator, "k1"), await make(desk, operator, "k1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {"key": None, "record": first.json()["record"]}
    assert "once" not in first.json()["record"]
    works = {"Authorization": f"Bearer {first.json()['key']}"}
    assert (await desk.http.get("/v1/keys/self", headers=works)).status_code == 200
    listed = (await desk.http.get("/v1/keys", headers=operator)).json()["items"]
    assert sum(each["name"] == "ci" for each in listed) == 1


async def test_another_key_s_body_under_the_same_idempotency_key_is_a_conflict(
    desk: Desk, operator: dict[str, str]
) -> None:
    await make(desk, operator, "k1")
    other = await make(desk, operator, "k1", name="another")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


async def test_two_at_once_make_one_key_and_one_of_them_shows_it(
    desk: Desk, operator: dict[str, str]
) -> None:
    both = await asyncio.gather(*(make(desk, operator, "k1") for _ in range(2)))
    assert sorted(each.status_code for each in both) == [200, 201]
    assert len({each.json()["record"]["id"] for each in both}) == 1


async def test_the_same_idempotency_key_of_another_caller_is_another(
    desk: Desk, operator: dict[str, str]
) -> None:
    other = await desk.key("oscar", *OPERATOR_SCOPES)
    made = [await make(desk, who, "k1") for who in (operator, other)]
    assert [each.status_code for each in made] == [201, 201]
    assert made[0].json()["record"]["id"] != made[1].json()["record"]["id"]


@pytest.mark.parametrize("key", ["x" * 201, "tab\t", "\u00e9"])
async def test_an_idempotency_key_is_short_and_printable(
    desk: Desk, operator: dict[str, str], key: str
) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in operator.items()]
    headers.append((b"Idempotency-Key", key.encode("latin-1")))
    refused = await desk.http.post("/v1/keys", json=KEY, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")


async def test_keys_come_in_pages_newest_first(desk: Desk, operator: dict[str, str]) -> None:
    made = [(await make(desk, operator, None)).json()["record"]["id"] for _ in range(4)]
    seen, cursor = [], ""
    while True:
        page = (await desk.http.get(f"/v1/keys?limit=2{cursor}", headers=operator)).json()
        seen += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert len(seen) == len(set(seen)) == 5
    assert set(made) <= set(seen)


async def test_waiting_for_an_input_returns_once_it_settles(desk: Desk) -> None:
    alice = await desk.key()
    asked = await desk.ask(run_id="run_1", audience={"initiator": "alice"})
    path = f"/v1/inputs/{asked.id}"
    waiting = asyncio.create_task(desk.http.get(f"{path}?wait=30", headers=alice))
    assert (await desk.answer(asked.id, True, alice)).status_code == 202
    found = await waiting
    assert found.json()["state"] == "answered"
    again = await desk.http.get(path, headers=alice | {"If-None-Match": found.headers["etag"]})
    assert again.status_code == 304


async def test_waiting_with_an_etag_is_304_while_nothing_changes_and_at_once_for_another(
    desk: Desk,
) -> None:
    alice = await desk.key()
    asked = await desk.ask(run_id="run_1", audience={"initiator": "alice"})
    path = f"/v1/inputs/{asked.id}"
    tag = (await desk.http.get(path, headers=alice)).headers["etag"]
    same = await desk.http.get(f"{path}?wait=0.01", headers=alice | {"If-None-Match": tag})
    assert (same.status_code, same.headers["etag"]) == (304, tag)
    other = await desk.http.get(f"{path}?wait=60", headers=alice | {"If-None-Match": '"x"'})
    assert (other.status_code, other.json()["state"]) == (200, "pending")


@pytest.mark.parametrize("wait", ["-1", "61", "nan", "inf", "x"])
async def test_a_wait_is_at_most_a_minute(desk: Desk, wait: str) -> None:
    alice = await desk.key()
    asked = await desk.ask(run_id="run_1", audience={"initiator": "alice"})
    refused = await desk.http.get(f"/v1/inputs/{asked.id}?wait={wait}", headers=alice)
    assert refused.status_code == 400
