"""The surfaces refuse what could be read in two ways, or would be dropped: nothing opens or settles."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from placet.bus.port import Outgoing
from placet.domain.audience import Audience
from placet.domain.interaction import ConfirmRequest
from placet.messages import encode
from placet.process.auth import Scope
from tests.integration.broker.desk import (
    Desk,
    answer_message,
    close_message,
    of_service,
    past,
    request_message,
)
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


async def dead(desk: Desk) -> list[str]:
    return [letter.reason for letter in await desk.runner.dead()]


async def _refused(desk: Desk, message: Outgoing, why: str) -> None:
    billing = await desk.map_user("billing-app")
    await billing.publish(message)
    await eventually(lambda: dead(desk))
    assert why in (await dead(desk))[0]


async def test_an_answer_with_a_key_twice_settles_nothing(desk: Desk) -> None:
    record = await desk.ask()
    body = (
        b'{"input_id":"%s","action":"decline","action":"accept","content":false,"content":true}'
        % record.id.encode()
    )
    await _refused(desk, replace(answer_message(record.id, True), body=body), "twice")
    assert (await desk.get(record.id)).pending


@pytest.mark.parametrize("kind", ["", "placet.close.v1", "placet.answer.v2"])
async def test_an_answer_of_another_type_settles_nothing(desk: Desk, kind: str) -> None:
    record = await desk.ask()
    await _refused(desk, replace(answer_message(record.id, True), type=kind), "type")
    assert (await desk.get(record.id)).pending


@pytest.mark.parametrize("kind", ["", "placet.answer.v1", "placet.close.v1"])
async def test_a_request_of_another_type_opens_nothing(desk: Desk, kind: str) -> None:
    await _refused(desk, replace(request_message(of_service()), type=kind), "type")


async def test_only_an_approval_is_of_the_type_of_approvals(desk: Desk) -> None:
    asked = ConfirmRequest(requested_at=past(), message="May I?")
    await _refused(
        desk, replace(request_message(asked), type="placet.approval_request.v1"), "confirm"
    )


async def test_a_closing_of_another_type_closes_nothing(desk: Desk) -> None:
    record = await desk.ask()
    await desk.runner.publish(replace(close_message(record.id), type="placet.answer.v1"))
    await eventually(lambda: dead(desk))
    assert (await desk.get(record.id)).pending


async def test_a_misspelt_field_of_a_request_on_the_bus_opens_nothing(desk: Desk) -> None:
    asked = of_service(audience=Audience(approvers=("bob",)))
    body = encode(asked).replace(b'"approvers"', b'"aprovers"')
    await _refused(desk, request_message(asked, body=body), "/audience/aprovers")
    assert not desk.events.bodies


async def test_a_misspelt_field_of_a_request_over_rest_is_400_at_its_place(still: Desk) -> None:
    billing = await still.key(None, Scope.RUNS_WRITE, service="billing")
    asked = orjson.loads(encode(of_service()))
    reply = await still.http.post("/v1/requests", json=asked | {"approvers": []}, headers=billing)
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/approvers"
    twice = orjson.dumps(asked)[:-1] + b',"message":"a","message":"b"}'
    reply = await still.http.post("/v1/requests", content=twice, headers=billing)
    assert reply.status_code == 400


@pytest.mark.parametrize("name", ["", " ", "bo\u200bb", "\u202ebob", "a\nb", "é" * 101])
@pytest.mark.parametrize("place", ["name", "person", "service", "from"])
async def test_a_name_with_something_unseen_in_it_is_400_everywhere(
    still: Desk, place: str, name: str
) -> None:
    body: dict[str, Any] = {"name": "ci", "scopes": [], place: name}
    path = "/v1/keys"
    if place == "name":
        body["person"] = "bob"
    if place == "from":
        record = await still.ask()
        path, body = f"/v1/inputs/{record.id}", {"content": True, "from": name}
    keys = await still.key(None, Scope.OPERATE, Scope.ANSWER_AS, service="ops")
    reply = await still.http.post(path, json=body, headers=keys)
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"].startswith(f"/{place}")
