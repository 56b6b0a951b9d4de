"""Two answers, or an answer and something else, at two brokers at once: one end each, told to all.

With the tests as many as go fast; `PLACET_FAULTS=long` runs a thousand of each.
"""

import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from placet.domain.answer import Action
from placet.domain.audience import AnswerPolicy, EscalationStep
from placet_broker.rules import linking
from placet_broker.rules.record import Link, Record
from tests.integration.broker.desk import close_message
from tests.support.arena import Arena, Reply, arena, run
from tests.support.mongod import Mongod
from tests.support.rabbitmq import WORD, RabbitServer

pytestmark = pytest.mark.faults

LONG = os.environ.get("PLACET_FAULTS") == "long"
COUNT = 1000 if LONG else 50
SEED = int(os.environ.get("PLACET_SEED", "0")) or secrets.randbelow(10**6)
TWO = AnswerPolicy(quorum=2)
SOON = timedelta(milliseconds=300)
SECOND = timedelta(seconds=1)
WAY = timedelta(milliseconds=20)
"""About how long an answer is on its way to its write."""
SCHEMA = {"type": "object"}


@pytest.fixture(scope="module")
async def two(
    mongod: Mongod,
    rabbitmq: RabbitServer,
    tmp_path_factory: pytest.TempPathFactory,
    anyio_backend: str,
) -> AsyncIterator[Arena]:
    amqp = f"amqp://{{user}}:{WORD}@127.0.0.1:{rabbitmq.port}/"
    async with arena(tmp_path_factory.mktemp("races"), mongod.url, amqp, SEED) as made:
        yield made


async def yes_and_no(two: Arena, n: int) -> str:
    asked = await two.ask()
    replies = await two.both(
        n,
        lambda: two.say(0, "ann", asked.id, True),
        lambda: two.say(1, "bob", asked.id, False),
    )
    ended = await two.ended(asked.id, *replies)
    assert sorted(reply.status_code for reply in replies) == [202, 409]
    assert replies[ended.state == "declined"].status_code == 202
    return str(ended.state)


async def the_same_from_two(two: Arena, n: int) -> str:
    asked = await two.ask()
    replies = await two.both(
        n, lambda: two.say(0, "ann", asked.id), lambda: two.say(1, "bob", asked.id)
    )
    ended = await two.ended(asked.id, *replies)
    assert sorted(reply.status_code for reply in replies) == [200, 202]
    assert ended.resolution is not None
    assert ended.resolution.by is not None
    return ended.resolution.by.id


TIMES: tuple[dict[str, Any], ...] = (
    {},
    {"policy": AnswerPolicy(reminders=(1,))},
    {"policy": AnswerPolicy(escalation=(EscalationStep(after_seconds=1, add=("dora",)),))},
    {"policy": AnswerPolicy(escalation=(EscalationStep(after_seconds=1, deny=True),))},
)
"""What else happens at the deadline: nothing, a reminder, a step, a step that ends it."""


async def answer_and_expiry(two: Arena, n: int) -> str:
    ends = two.clock.now() + SOON
    asked = await two.ask(opened_ago=SECOND - SOON, ends=ends, **TIMES[n % len(TIMES)])
    await two.look_at(asked, ends)
    await two.at(ends - WAY)
    reply = await two.say(n, "ann", asked.id, n % 3 > 0)
    ended = await two.ended(asked.id, reply)
    assert reply.status_code == (409 if ended.state == "expired" else 202)
    return "expired" if ended.state == "expired" else "decided"


async def answer_and_a_deadline_that_escalates(two: Arena, n: int) -> str:
    ends = two.clock.now() + SOON
    steps = (EscalationStep(add=("dora",)),)
    asked = await two.ask(
        opened_ago=SECOND - SOON,
        ends=ends,
        on_expiry="escalate",
        policy=AnswerPolicy(escalation=steps),
    )
    await two.look_at(asked, ends)
    await two.at(ends - WAY)
    reply = await two.say(n, "ann", asked.id)
    ended = await two.ended(asked.id, reply)
    assert reply.status_code == 202, "it has as long again"
    assert [e["what"] for e in ended.history].count("escalated") == ended.climbed <= 1
    return f"after {ended.climbed} steps"


async def the_two_last_votes(two: Arena, n: int) -> str:
    asked = await two.ask(policy=TWO)
    replies = await two.both(
        n, lambda: two.say(0, "ann", asked.id), lambda: two.say(1, "bob", asked.id)
    )
    ended = await two.ended(asked.id, *replies)
    assert [reply.status_code for reply in replies] == [202, 202]
    # A reply may tell of what came right after its own write.
    assert "answered" in [reply.json()["state"] for reply in replies]
    assert ended.resolution is not None
    return " then ".join(ended.resolution.voters)


async def the_last_yes_and_a_no(two: Arena, n: int) -> str:
    asked = await two.ask(policy=TWO)
    await two.say(n, "ann", asked.id)
    replies = await two.both(
        n,
        lambda: two.say(0, "bob", asked.id, True),
        lambda: two.say(1, "carol", asked.id, False),
    )
    ended = await two.ended(asked.id, *replies)
    assert sorted(reply.status_code for reply in replies) == [202, 409]
    return str(ended.state)


async def two_votes_for_changed_arguments(two: Arena, n: int) -> str:
    asked = await two.ask(policy=TWO, args_schema=SCHEMA)
    other = "x" if n % 4 == 0 else "y"
    yes = {"decision": "approved"}
    replies = await two.both(
        n,
        lambda: two.say(0, "ann", asked.id, {**yes, "args": {"name": "x"}}),
        lambda: two.say(1, "bob", asked.id, {**yes, "args": {"name": other}}),
    )
    assert [reply.status_code for reply in replies] == [202, 202]
    if other == "x":
        ended = await two.ended(asked.id, *replies)
        return "the same"
    standing = await two.whole(asked.id)
    (vote,) = standing.votes
    last = await two.say(n, "carol", asked.id, digest=standing.shown_digest)
    ended = await two.ended(asked.id, *replies, last)
    assert ended.resolution is not None
    assert ended.resolution.outcome.args == vote.outcome.args
    assert ended.resolution.voters == (vote.by, "carol")
    return f"{vote.by} was later"


async def the_last_vote_and_a_voter_who_is_removed(two: Arena, n: int) -> str:
    asked = await two.ask(policy=TWO)
    await two.say(n, "ann", asked.id)
    edited, reply = await two.both(
        n,
        lambda: two.post(0, "root", f"/v1/inputs/{asked.id}/audience", remove=["ann"]),
        lambda: two.say(1, "bob", asked.id),
    )
    if edited.status_code == 409:
        ended = await two.ended(asked.id, edited, reply)
        assert ended.resolution is not None
        assert ended.resolution.voters == ("ann", "bob")
        return "decided first"
    assert edited.status_code == 200
    assert [vote.by for vote in (await two.whole(asked.id)).votes] == ["bob"]
    ended = await two.ended(asked.id, reply, await two.say(n, "carol", asked.id))
    assert ended.resolution is not None
    assert ended.resolution.voters == ("bob", "carol")
    return "removed first"


async def cancel_and_answer(two: Arena, n: int) -> str:
    asked = await two.ask()
    replies = await two.both(
        n,
        lambda: two.say(0, "zoe", asked.id, None, action="cancel"),
        lambda: two.say(1, "ann", asked.id),
    )
    ended = await two.ended(asked.id, *replies)
    assert sorted(reply.status_code for reply in replies) == [202, 409]
    return str(ended.state)


async def the_run_closes_it_and_an_answer(two: Arena, n: int) -> str:
    reason = ("superseded", "cancelled", "withdrawn")[n % 3]
    asked = await two.ask()

    async def close() -> Reply:
        await two.runner.publish(close_message(asked.id, reason, digest=asked.digest))
        return Reply(202)

    async def answer() -> Reply:
        # A close goes through a queue, which takes about as long as an answer takes.
        await two.at(two.clock.now() + timedelta(milliseconds=4), 0.004)
        return await two.say(n, "ann", asked.id)

    _, reply = await two.both(n, close, answer)
    ended = await two.ended(asked.id, reply)
    assert ended.state in (reason, "answered")
    assert reply.status_code == (202 if ended.state == "answered" else 409)
    return "answered" if ended.state == "answered" else "closed"


async def claim_and_release_and_answer(two: Arena, n: int) -> str:
    asked = await two.ask()

    async def look() -> Reply:
        claimed = await two.post(0, "ann", f"/v1/inputs/{asked.id}/claim")
        return claimed if n % 3 else await two.post(0, "ann", f"/v1/inputs/{asked.id}/release")

    looked, reply = await two.both(n, look, lambda: two.say(1, "bob", asked.id))
    late = [looked] if looked.status_code == 409 else []
    ended = await two.ended(asked.id, reply, *late)
    assert (reply.status_code, ended.claim) == (202, None)
    return " ".join(entry["what"] for entry in ended.history[1:])


async def linked(two: Arena, asked: Record) -> tuple[str, dict[str, str]]:
    """A link with which ann says yes: its path, and the form with the code that she was sent."""
    id, code = f"lnk_{secrets.token_hex(8)}", "12345678"
    token = linking.token(asked.id, secrets.token_urlsafe(32))
    until = two.clock.now() + linking.CODE_LIFE
    link = Link(
        id, linking.hashed(token), "ann", Action.ACCEPT, True, asked.digest, until,
        linking.hashed(f"{id} {code}"), until,
    )  # fmt: skip
    assert await two.interactions.relink(asked, (link,), "linked", "service:mailer", id)
    return f"/l/{token}", {"code": code}


async def press(two: Arena, broker: int, path: str, form: dict[str, str]) -> Reply:
    http = two.brokers[broker % 2]
    return await http.post(path, data=form, headers={"Origin": str(http.base_url).rstrip("/")})


async def a_link_and_an_answer(two: Arena, n: int) -> str:
    asked = await two.ask()
    path, form = await linked(two, asked)
    pressed, reply = await two.both(
        n, lambda: press(two, 0, path, form), lambda: two.say(1, "bob", asked.id, False)
    )
    ended = await two.ended(asked.id, reply)
    by_link = ended.state == "answered"
    assert (pressed.status_code, reply.status_code) == ((303, 409) if by_link else (409, 202))
    assert (ended.links[0].used_at is not None) == by_link
    return "by link" if by_link else "by answer"


async def the_same_link_twice(two: Arena, n: int) -> str:
    asked = await two.ask(policy=TWO if n % 2 else AnswerPolicy())
    path, form = await linked(two, asked)
    pressed = await two.both(
        n // 2, lambda: press(two, 0, path, form), lambda: press(two, 1, path, form)
    )
    statuses = sorted(each.status_code for each in pressed)
    assert statuses in ([303, 303], [303, 409])
    if n % 2:
        standing = await two.whole(asked.id)
        assert [vote.by for vote in standing.votes] == ["ann"]
        await two.ended(asked.id, await two.say(n, "bob", asked.id))
    else:
        await two.ended(asked.id)
    return f"{'a vote' if n % 2 else 'a yes'}, {statuses[1]}"


async def overlapping_batches(two: Arena, n: int) -> str:
    ids = [(await two.ask(call_id=f"c{each}")).id for each in range(3)]
    sides = (("ann", True, ids[:2], ids[2]), ("bob", False, ids[1:], ids[0]))

    def send(side: int) -> Callable[[], Awaitable[Reply]]:
        who, content, wanted, _ = sides[side]
        answers = [{"id": id, "content": content} for id in wanted]
        return lambda: two.post(side, who, "/v1/inputs", answers=answers)

    replies = await two.both(n, send(0), send(1))
    assert sorted(reply.status_code for reply in replies) == [202, 409], [r.text for r in replies]
    won = 0 if replies[0].status_code == 202 else 1
    _, content, settled, left = sides[won]
    for id in settled:
        assert (await two.ended(id)).state == ("answered" if content else "declined")
    assert (await two.whole(left)).rev == 0, "all or none"
    told = replies[1 - won].json()["conflicts"]
    assert [each["input"]["id"] for each in told] == [ids[1]]
    return f"{sides[won][0]} won"


async def extension_and_expiry(two: Arena, n: int) -> str:
    ends = two.clock.now() + SOON
    asked = await two.ask(ends=ends)
    await two.look_at(asked, ends)
    await two.at(ends - WAY)
    later = (ends + timedelta(hours=1)).isoformat()
    moved = await two.post(n, "ann", f"/v1/inputs/{asked.id}/extend", expires_at=later)
    if moved.status_code == 409:
        assert (await two.ended(asked.id, moved)).state == "expired"
        return "expired"
    assert moved.status_code == 200
    assert (await two.whole(asked.id)).pending
    ended = await two.ended(asked.id, await two.say(n, "bob", asked.id))
    assert [e["what"] for e in ended.history] == ["opened", "extended", "settled"]
    return "extended"


async def extension_and_answer(two: Arena, n: int) -> str:
    asked = await two.ask(ends=two.clock.now() + timedelta(hours=1))
    later = (two.clock.now() + timedelta(hours=2)).isoformat()
    moved, reply = await two.both(
        n,
        lambda: two.post(0, "ann", f"/v1/inputs/{asked.id}/extend", expires_at=later),
        lambda: two.say(1, "bob", asked.id),
    )
    ended = await two.ended(asked.id, reply)
    assert (moved.status_code, reply.status_code) in ((200, 202), (409, 202))
    return " ".join(entry["what"] for entry in ended.history[1:])


RACES = [
    yes_and_no,
    the_same_from_two,
    answer_and_expiry,
    answer_and_a_deadline_that_escalates,
    the_two_last_votes,
    the_last_yes_and_a_no,
    two_votes_for_changed_arguments,
    the_last_vote_and_a_voter_who_is_removed,
    cancel_and_answer,
    the_run_closes_it_and_an_answer,
    claim_and_release_and_answer,
    a_link_and_an_answer,
    the_same_link_twice,
    overlapping_batches,
    extension_and_expiry,
    extension_and_answer,
]


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
async def test_invariant_3_a_race_at_two_brokers_has_one_end(
    two: Arena, race: Callable[[Arena, int], Awaitable[str]]
) -> None:
    print(f"PLACET_SEED={SEED}")
    ends = await run(two, race, COUNT)
    print(f"{race.__name__}: {dict(ends)}")
    assert sum(ends.values()) == COUNT
    assert len(ends) > 1 or not LONG, "nothing raced"
