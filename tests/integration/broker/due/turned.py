"""What tests of time share: spans, one turn of the sweep, a question in words."""

from datetime import datetime, timedelta
from typing import Any

from placet.domain.interaction import FreeTextRequest
from placet.ids import new_id
from tests.integration.broker.desk import Desk

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
INSTANT = timedelta(milliseconds=1)


async def sweep(desk: Desk) -> None:
    await desk.broker.outbox.drain()
    await desk.broker.use_cases.sweep_due()


def text(**changes: Any) -> FreeTextRequest:
    given = {"id": new_id("inp"), "run_id": "run_1", "agent_id": "agt_1", **changes}
    return FreeTextRequest(**{"requested_at": datetime.fromisoformat("2026-11-30T00:00Z"), **given})
