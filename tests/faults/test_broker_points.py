"""A broker that dies right after a vote, or after a step of an escalation, loses and repeats nothing."""

from pathlib import Path

import httpx2
import pytest

from placet.domain.audience import AnswerPolicy, EscalationStep
from tests.faults.driving import wait_for_end
from tests.faults.test_crash_points import crashing
from tests.support.arena import Arena, arena
from tests.support.cluster import Member
from tests.support.eventually import eventually
from tests.support.mongod import Mongod

pytestmark = pytest.mark.faults


async def dying(two: Arena, point: str) -> Member:
    """The first broker, which dies when it passes there."""
    member = two.placet.members[0]
    member.kill()
    member.start(**crashing(point))
    await member.ready()
    return member


async def revived(member: Member) -> None:
    await wait_for_end(member)
    member.start()
    await member.ready()


async def test_a_vote_whose_broker_died_stands_and_is_no_second_one_when_it_is_repeated(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    async with arena(folder, mongod.url, amqp, 0) as two:
        member = await dying(two, "vote.done")
        asked = await two.ask(policy=AnswerPolicy(quorum=2))
        with pytest.raises(httpx2.TransportError):
            await two.say(0, "ann", asked.id)
        assert [vote.by for vote in (await two.whole(asked.id)).votes] == ["ann"]
        again = await two.say(1, "ann", asked.id)
        assert (again.status_code, len(again.json()["votes"])) == (200, 1)
        await revived(member)
        last = await two.say(1, "bob", asked.id)
        ended = await two.ended(asked.id, last)
        assert [entry["what"] for entry in ended.history] == ["opened", "voted", "settled"]
        await two.told_once()


async def test_a_step_whose_broker_died_is_taken_once_and_told_under_one_id(
    folder: Path, mongod: Mongod, amqp: str
) -> None:
    async with arena(folder, mongod.url, amqp, 0) as two:
        member = await dying(two, "climb.done")
        two.placet.members[1].kill()
        step = EscalationStep(after_seconds=1, add=("dora",))
        asked = await two.ask(policy=AnswerPolicy(escalation=(step,)))
        await wait_for_end(member)
        standing = await two.whole(asked.id)
        assert (standing.climbed, standing.pending) == (1, True)
        assert [each["what"] for each in standing.outbox] == ["requested", "escalated"]
        await revived(member)
        heard = two.heard.ids
        await eventually(lambda: heard.get(("input.escalated", asked.id)), within=30)
        async with httpx2.AsyncClient(base_url=member.url, headers=two.keys["dora"]) as http:
            yes = await http.post(f"/v1/inputs/{asked.id}", json={"content": True})
        ended = await two.ended(asked.id, yes)
        whats = [entry["what"] for entry in ended.history]
        assert whats == ["opened", "escalated", "settled"]
        await two.told_once()
        assert len(heard["input.escalated", asked.id]) == 1
