"""Delegations, freezes and one-time links under an `Idempotency-Key` are made once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from placet.process.auth import OPERATOR_SCOPES, Scope
from placet.process.platform import Databases
from tests.integration.broker.desk import Desk, opened

pytestmark = pytest.mark.integration

SENDING = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.ANSWER_AS)
"""What a program has that reaches people."""
UNTIL = (datetime.now(UTC) + timedelta(days=2)).isoformat()
BODIES: dict[str, dict[str, Any]] = {
    "/v1/delegations": {"to": "bob", "until": UNTIL, "from": "ann"},
    "/v1/freezes": {"reason": "an incident", "agent": "ops", "tools": ["wire"]},
}
CHANGED: dict[str, dict[str, Any]] = {
    "/v1/delegations": {"to": "carol"},
    "/v1/freezes": {"reason": "another incident"},
}
LINK: dict[str, Any] = {"person": "ann", "content": True}


@pytest.fixture
async def desk(databases: Databases) -> AsyncIterator[Desk]:
    async with opened(databases) as desk:
        yield desk


@pytest.fixture
async def operator(desk: Desk) -> dict[str, str]:
    return await desk.key("olga", *OPERATOR_SCOPES)


@pytest.fixture
async def mailer(desk: Desk) -> dict[str, str]:
    return await desk.key(None, *SENDING, service="mailer")


async def make(
    desk: Desk, headers: dict[str, str], path: str, body: dict[str, Any], key: str | None = "k1"
) -> Any:
    sent = headers | ({"Idempotency-Key": key} if key else {})
    return await desk.http.post(path, json=body, headers=sent)


async def of_link(desk: Desk) -> str:
    record = await desk.ask(audience={"initiator": "zoe", "approvers": ["ann", "bob"]})
    return f"/v1/inputs/{record.id}/links"


@pytest.mark.parametrize("path", BODIES)
async def test_what_is_asked_for_again_is_what_was_made(
    desk: Desk, operator: dict[str, str], path: str
) -> None:
    first = await make(desk, operator, path, BODIES[path])
    again = await make(desk, operator, path, BODIES[path])
    assert (first.status_code, again.status_code) == (201, 200), first.text + again.text
    assert again.json() == first.json()
    assert "once" not in first.json()
    listed = (await desk.http.get(path, headers=operator)).json()["items"]
    assert listed == [first.json()]


@pytest.mark.parametrize("path", BODIES)
async def test_it_is_shown_as_it_stands_now_though_it_has_ended(
    desk: Desk, operator: dict[str, str], path: str
) -> None:
    id = (await make(desk, operator, path, BODIES[path])).json()["id"]
    if path == "/v1/freezes":
        ended = await desk.http.post(f"{path}/{id}/lift", headers=operator)
    else:
        ended = await desk.http.delete(f"{path}/{id}", headers=operator)
    again = await make(desk, operator, path, BODIES[path])
    assert (again.status_code, again.json()) == (200, ended.json())


@pytest.mark.parametrize("path", BODIES)
async def test_another_body_under_the_same_key_is_a_conflict(
    desk: Desk, operator: dict[str, str], path: str
) -> None:
    await make(desk, operator, path, BODIES[path])
    other = await make(desk, operator, path, BODIES[path] | CHANGED[path])
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


@pytest.mark.parametrize("path", BODIES)
async def test_two_at_once_make_one(desk: Desk, operator: dict[str, str], path: str) -> None:
    both = await asyncio.gather(*(make(desk, operator, path, BODIES[path]) for _ in range(2)))
    assert sorted(each.status_code for each in both) == [200, 201]
    assert both[0].json() == both[1].json()


@pytest.mark.parametrize("path", BODIES)
async def test_without_a_key_each_is_another(
    desk: Desk, operator: dict[str, str], path: str
) -> None:
    both = [await make(desk, operator, path, BODIES[path], None) for _ in range(2)]
    assert [each.status_code for each in both] == [201, 201]
    assert both[0].json()["id"] != both[1].json()["id"]


async def test_a_freeze_is_found_again_where_there_is_no_room_for_another(
    desk: Desk, operator: dict[str, str]
) -> None:
    made = await make(desk, operator, "/v1/freezes", BODIES["/v1/freezes"])
    for number in range(99):
        await make(desk, operator, "/v1/freezes", {"reason": f"{number}"}, None)
    full = await make(desk, operator, "/v1/freezes", {"reason": "more"}, None)
    assert (full.status_code, full.json()["code"]) == (409, "too_many_freezes")
    again = await make(desk, operator, "/v1/freezes", BODIES["/v1/freezes"])
    assert (again.status_code, again.json()) == (200, made.json())


async def test_a_link_that_is_asked_for_again_is_the_same_and_its_token_not_shown_again(
    desk: Desk, mailer: dict[str, str]
) -> None:
    path = await of_link(desk)
    first, again = [await make(desk, mailer, path, LINK) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 200), first.text + again.text
    assert again.json() == first.json() | {"token": None, "path": None}
    assert (await desk.http.get(first.json()["path"])).status_code == 200


async def test_a_link_is_found_again_after_its_input_has_settled(
    desk: Desk, mailer: dict[str, str]
) -> None:
    path = await of_link(desk)
    first = await make(desk, mailer, path, LINK)
    id = path.split("/")[3]
    assert (await desk.answer(id, True, await desk.key("ann"))).status_code == 202
    again = await make(desk, mailer, path, LINK)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    late = await make(desk, mailer, path, LINK, "k2")
    assert (late.status_code, late.json()["code"]) == (409, "settled")


async def test_another_link_under_the_same_key_is_a_conflict_and_of_another_input_its_own(
    desk: Desk, mailer: dict[str, str]
) -> None:
    path, elsewhere = await of_link(desk), await of_link(desk)
    await make(desk, mailer, path, LINK)
    other = await make(desk, mailer, path, LINK | {"person": "bob"})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert (await make(desk, mailer, elsewhere, LINK)).status_code == 201


async def test_two_at_once_make_one_link_and_one_of_them_shows_its_token(
    desk: Desk, mailer: dict[str, str]
) -> None:
    path = await of_link(desk)
    both = await asyncio.gather(*(make(desk, mailer, path, LINK) for _ in range(2)))
    assert sorted(each.status_code for each in both) == [200, 201]
    assert len({each.json()["id"] for each in both}) == 1


async def test_the_same_key_of_another_caller_makes_another(
    desk: Desk, mailer: dict[str, str]
) -> None:
    other, path = await desk.key(None, *SENDING, service="pager"), await of_link(desk)
    made = [await make(desk, who, path, LINK) for who in (mailer, other)]
    assert [each.status_code for each in made] == [201, 201]
    assert made[0].json()["id"] != made[1].json()["id"]
