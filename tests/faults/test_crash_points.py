"""A process that dies at any named point leaves nothing lost and nothing done twice."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from placet.client import Run
from placet.domain.run import RunStatus
from placet.ids import new_id
from tests.faults.driving import effects, executions, finished, started, wait_for_end, with_reviver
from tests.support.cluster import Cluster, Member, cluster
from tests.support.mongod import Mongod

pytestmark = pytest.mark.faults

RUNNER = [
    "claim.done",
    "ask.writing",
    "journal.inserted:1",
    "journal.inserted:2",
    "journal.inserted:3",
    "resume.done",
    "tool.started",
    "tool.returned",
    "end.done",
    "outbox.published:1",
    "outbox.published:2",
    "outbox.published:3",
]
BROKER = ["open.done", "settle.done", "settle.respond", "outbox.published:1", "outbox.published:2"]
LONG = os.environ.get("PLACET_FAULTS") == "long"
TWICE = [("runner", [p, p]) for p in RUNNER] + [("broker", [p, p]) for p in BROKER]
CHAINS = TWICE if LONG else [("runner", RUNNER), ("broker", BROKER)]
"""Long: each point twice in a row. Short: one death a point, one after another in the same process."""


async def one_run(placet: Cluster) -> Run:
    async with placet.client() as client:
        return await finished(client, await started(client, "safely freely", new_id("key")))


async def dies_at(placet: Cluster, member: Member, point: str, following: str | None) -> None:
    """One run during which the member dies at `point` and is started to die at the following."""
    died = False

    async def revive() -> None:
        nonlocal died
        await wait_for_end(member)
        died = True
        member.start(**(_crashing(following) if following else {}))

    before = effects(placet.ledger, "safely")
    tried = executions(placet.ledger, "safely")
    ended = await with_reviver(revive, one_run(placet))
    assert died, f"{point} was never passed"
    assert ended.status == RunStatus.COMPLETED, f"{point}: {ended.error}"
    assert effects(placet.ledger, "safely") == before + 1, point
    assert executions(placet.ledger, "safely") - tried <= 3, point


def _crashing(point: str) -> dict[str, str]:
    return {"PLACET_CRASH_POINTS": "1", "PLACET_CRASH_AT": point}


@pytest.mark.parametrize(
    ("service", "points"), CHAINS, ids=lambda v: v if isinstance(v, str) else v[0]
)
async def test_invariants_4_5_7_hold_when_a_process_dies_at_any_point(
    service: str, points: Sequence[str], folder: Path, mongod: Mongod, amqp: str
) -> None:
    async with cluster(folder, mongod.url, amqp, services=()) as placet:
        placet.add("broker" if service == "runner" else "runner")
        member = placet.add(service, **_crashing(points[0]))
        await placet.all_ready()
        for point, following in zip(points, [*points[1:], None], strict=True):
            await dies_at(placet, member, point, following)
