"""Who may answer, on every surface: one table of what comes of it, what is kept, and of whom."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from placet.clock import SystemClock
from placet.domain.audience import ONE_YES, AnswerPolicy, Audience
from placet.process.auth import PERSON_SCOPES, Scope
from placet.store.sqlite import SQLiteDatabase
from placet_broker.rules.record import Record
from tests.integration.broker.desk import approval, opened
from tests.integration.broker.surfaces import GATEWAY, SURFACES, Who, World
from tests.integration.broker.test_directory import delegate
from tests.support.listening import listening

pytestmark = pytest.mark.integration

NAMED = Audience(
    initiator="zoe", approvers=("ann", "group:leads", "service:auditor", "slack:U1", "slack:U2")
)
AUDIENCES: dict[str, tuple[Audience, AnswerPolicy]] = {
    "named": (NAMED, ONE_YES),
    "nobody named": (Audience(), ONE_YES),
    "four eyes": (NAMED, AnswerPolicy(exclude_initiator=True)),
    "quorum 2": (NAMED, AnswerPolicy(quorum=2)),
}
SERVICE = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER)


def gateway(names: str | None, namespace: str = "default") -> Who:
    return Who(service="chat", names=names, scopes=GATEWAY, namespace=namespace)


WHO: dict[str, Who] = {
    "initiator": Who("zoe"),
    "approver": Who("ann"),
    "bystander": Who("mallory"),
    "blind bystander": Who("mallory", scopes=(Scope.INPUTS_ANSWER,)),
    "reader": Who("mallory", scopes=(Scope.INPUTS_READ,)),
    "operator": Who("root", scopes=(*PERSON_SCOPES, Scope.OPERATE, Scope.REVIEWS_ANSWER)),
    "delegate": Who("eve"),
    "delegate of the initiator": Who("dora"),
    "member": Who("mia"),
    "linked person": Who("lin"),
    "namesake": Who("ann", namespace="other"),
    "forger": Who("mallory", names="ann"),
    "service": Who(service="auditor", scopes=SERVICE),
    "other service": Who(service="builder", scopes=SERVICE),
    "linked": gateway("slack:U1"),
    "unlinked": gateway("slack:U2"),
    "linked, not named": gateway("slack:U3"),
    "from nobody known": gateway("ghost"),
    "from an approver": gateway("ann"),
    "from a group": gateway("group:leads"),
    "from a service": gateway("service:auditor"),
    "from is missing": gateway(None),
    "namesake's gateway": gateway("ann", "other"),
}
# What comes of it under each audience, in their order: the person whose yes it is, with the
# one in whose place after a slash; a number is a refusal. Under a quorum a yes is a vote.
EXPECTED: dict[str, tuple[str | int, str | int, str | int, str | int]] = {
    "initiator": ("zoe", "zoe", 403, "zoe"),
    "approver": ("ann", "ann", "ann", "ann"),
    "bystander": (403, "mallory", 403, 403),
    "blind bystander": (404, "mallory", 404, 404),
    "reader": (403, 403, 403, 403),
    "operator": (403, "root", 403, 403),
    "delegate": ("eve/ann", "eve", "eve/ann", "eve/ann"),
    "delegate of the initiator": ("dora/zoe", "dora", 403, 403),
    "member": ("mia", "mia", "mia", "mia"),
    "linked person": ("lin", "lin", "lin", "lin"),
    "namesake": (404, 404, 404, 404),
    "forger": (403, 403, 403, 403),
    "service": ("service:auditor", "service:auditor", 403, 403),
    "other service": (403, "service:builder", 403, 403),
    "linked": ("lin", "lin", "lin", "lin"),
    "unlinked": ("slack:U2", "slack:U2", 403, 403),
    "linked, not named": (403, "oth", 403, 403),
    "from nobody known": (403, "ghost", 403, 403),
    "from an approver": ("ann", "ann", "ann", "ann"),
    "from a group": (403, 403, 403, 403),
    "from a service": (403, 403, 403, 403),
    "from is missing": (400, "service:chat", 400, 400),
    "namesake's gateway": (404, 404, 404, 404),
}
CASES = [
    (name, surface)
    for name, who in WHO.items()
    for surface in SURFACES
    if not (surface in ("page", "forwarded") and (who.person is None or who.names))
    # A code proves whoever the link names, so it has no scopes and no namespace but the input's.
    and not (surface == "link" and (who.namespace != "default" or name in ("forger", "reader")))
    and not (surface == "link" and name in ("from is missing", "blind bystander"))
    # A gateway speaks for a person on the bus: what their own key lacks does not matter there.
    and not (surface == "bus" and name in ("blind bystander", "reader", "forger"))
]


def expected(name: str, surface: str, audience: str) -> str | int:
    """What comes of it; two surfaces are particular."""
    found = EXPECTED[name][list(AUDIENCES).index(audience)]
    if surface == "forwarded":
        return found if name == "approver" else 403
    if surface == "link" and WHO[name].service in ("auditor", "builder"):
        return 403
    return found


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    clock = SystemClock()
    async with (
        opened(lambda _: SQLiteDatabase(":memory:", clock=clock)) as desk,
        listening(desk.app) as url,
    ):
        monkeypatch.setenv("PLACET_URL", url)
        directory = desk.platform.auth.directory
        await directory.groups.put("default", "leads", ["mia"])
        for person, identity in (("lin", "slack:U1"), ("oth", "slack:U3")):
            await directory.people.put("default", person)
            await directory.people.link("default", person, identity)
        await delegate(directory, "ann", "eve")
        await delegate(directory, "zoe", "dora")
        yield World(desk, monkeypatch)


@pytest.mark.parametrize(("name", "surface"), CASES)
async def test_c10_who_may_answer_is_the_same_on_every_surface(
    world: World, name: str, surface: str
) -> None:
    for audience, (named, policy) in AUDIENCES.items():
        asked = approval(audience=named, policy=policy, call_id=audience)
        record = await world.desk.ask(asked)
        status = await SURFACES[surface](world, WHO[name], record)
        wanted = expected(name, surface, audience)
        after = await world.desk.get(record.id)
        told = f"{name} on {surface}, {audience}: {status}, {after.refused}"
        assert status == (202 if isinstance(wanted, str) else wanted), told
        if isinstance(wanted, str):
            assert _whose(after) == wanted, told
            assert after.pending == (policy.quorum > 1), told
            assert after.refused_count == 0, told
        else:
            assert _kept(after) == _tries(name, surface, wanted), told
        trail = await world.desk.interactions.trail(record.id)
        assert trail.disagreements() == [], told


def _whose(record: Record) -> str:
    """As the durable record has it: who, and in whose place."""
    resolution = record.resolution
    if resolution is None:
        (vote,) = record.votes
        return vote.by if vote.seat == vote.by else f"{vote.by}/{vote.seat}"
    assert resolution.by is not None
    place = f"/{resolution.on_behalf_of}" if resolution.on_behalf_of else ""
    return resolution.by.id + place


def _kept(record: Record) -> list[str]:
    """Who was refused; of a refused answer nothing else has changed."""
    assert record.pending
    assert not record.votes
    return [each["by"] for each in record.refused]


def _tries(name: str, surface: str, status: Any) -> list[str]:
    """Whose try is kept. What does not fit was none, and who sees nothing at a terminal tried nothing."""
    who = WHO[name]
    if status == 400 or (surface == "cli" and status == 404):
        return []
    by_gateway = surface == "link" or (surface == "bus" and who.person is not None)
    id = "service:chat" if by_gateway or who.person is None else who.person
    if who.service and surface != "link":
        id = f"service:{who.service}"
    return [id if who.namespace == "default" else f"{id} of {who.namespace}"]
