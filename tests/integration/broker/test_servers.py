"""The broker on real RabbitMQ and real MongoDB: asked, answered and told over the wire."""

from collections.abc import AsyncIterator

import httpx2
import pymongo
import pytest

from placet.bus.rabbit import RabbitBus
from placet.clock import SystemClock
from placet.ids import new_id
from placet.process.auth import PERSON_SCOPES, Scope
from placet.process.http import create_app
from placet.process.platform import Platform
from placet.process.settings import Settings, load
from placet.store.mongo import MongoDatabase
from placet_broker.settings import BrokerSettings
from placet_broker.wiring import Broker
from tests.integration.broker.desk import (
    ORIGIN,
    Heard,
    answer_message,
    approval,
    of_service,
    request_message,
)
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


@pytest.fixture
async def platform(
    mongo_url: str, amqp_urls: dict[str, str], empty_queues: None
) -> AsyncIterator[Platform]:
    prefix = new_id("t")
    platform = Platform(
        load(Settings),
        databases=lambda name: MongoDatabase(mongo_url, f"{prefix}_{name}"),
        buses=lambda user: RabbitBus(amqp_urls[user], clock=SystemClock()),
    )
    yield platform
    await platform.close()
    with pymongo.MongoClient[dict[str, object]](mongo_url) as client:
        for name in ("placet_auth", "placet_interactions"):
            client.drop_database(f"{prefix}_{name}")


@pytest.fixture
async def billing(amqp_urls: dict[str, str]) -> AsyncIterator[RabbitBus]:
    bus = RabbitBus(amqp_urls["svc-billing"])
    await bus.open()
    yield bus
    await bus.close()


async def test_questions_of_a_run_and_of_a_service_go_all_the_way(
    platform: Platform, billing: RabbitBus
) -> None:
    broker = Broker(platform, load(BrokerSettings))
    runner = platform.bus("placet-runner")
    app = create_app([broker.service], platform)
    await platform.open()
    await broker.start()
    resolutions, replies = Heard(), Heard()
    reply_to = f"placet.reply.svc-billing.{new_id('r')}"
    taking = [
        await runner.consume("placet.runner.resolutions", resolutions.handle, prefetch=4),
        await billing.consume(reply_to, replies.handle, prefetch=4),
    ]
    await platform.auth.keys.map_amqp_user(
        "svc-billing",
        namespace="default",
        service="billing",
        scopes=[Scope.RUNS_WRITE, Scope.INPUTS_ANSWER],
    )
    key, _ = await platform.auth.keys.create(
        namespace="default", name="t", scopes=PERSON_SCOPES, person="alice"
    )
    transport = httpx2.ASGITransport(app=app)
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as http:
        mine = approval()
        await runner.publish(request_message(mine))
        await billing.publish(request_message(of_service(), reply_to=reply_to))

        async def waiting() -> list[dict[str, str]]:
            items = (await http.get("/v1/inputs?state=pending")).json()["items"]
            return items if len(items) == 2 else []

        items = await eventually(waiting)
        theirs = next(item["id"] for item in items if item["id"] != mine.id)
        assert (await http.post(f"/v1/inputs/{theirs}", json={"content": True})).status_code == 202
        await billing.publish(answer_message(mine.id, True, reply_to))
        await eventually(lambda: len(replies.bodies) == 2 and len(resolutions.bodies) == 1)
        assert {body["input_id"] for body in replies.bodies} == {mine.id, theirs}
        assert resolutions.bodies[0]["by"]["id"] == "service:billing"
        assert resolutions.deliveries[0].user_id == "placet-broker"
        assert (await http.get("/readyz")).json() == {"ready": True, "reasons": []}
    for consumption in taking:
        await consumption.stop()
    await broker.stop()
