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


def crashing(point: str | None) -> dict[str, str]:
    return {"PLACET_CRASH_POINTS": "1", "PLACET_CRASH_AT": point} if point else {}


class Reviver:
    """Starts a member again whenever it dies, each time to die at the next point."""

    def __init__(self, member: Member, points: Sequence[str]) -> None:
        self.member = member
        self.ahead = list(points[1:])
        self.deaths = 0
        self.wanted = len(points)

    async def keep(self) -> None:
        while self.deaths < self.wanted:
            await wait_for_end(self.member)
            self.deaths += 1
            self.member.start(**crashing(self.ahead.pop(0) if self.ahead else None))


@pytest.mark.parametrize(
    ("service", "points"), CHAINS, ids=lambda v: v if isinstance(v, str) else v[0]
)
async def test_invariants_4_5_7_hold_when_a_process_dies_at_any_point(
    service: str, points: Sequence[str], folder: Path, mongod: Mongod, amqp: str
) -> None:
    """Runs one after another until the member has died at each of the points, then one more."""
    async with cluster(folder, mongod.url, amqp, services=()) as placet:
        placet.add("broker" if service == "runner" else "runner")
        member = placet.add(service, **crashing(points[0]))
        await placet.all_ready()
        reviver = Reviver(member, points)
        runs = 0
        while reviver.deaths < len(points) or runs == 0:
            ended = await with_reviver(reviver.keep, one_run(placet))
            runs += 1
            left = [*reviver.ahead] or points[-1:]
            assert ended.status == RunStatus.COMPLETED, f"before {left}: {ended.error}"
            assert effects(placet.ledger, "safely") == effects(placet.ledger, "freely") == runs
            assert runs <= 3 * len(points), f"never passed: {left}"
        assert executions(placet.ledger, "safely") <= runs + reviver.deaths
