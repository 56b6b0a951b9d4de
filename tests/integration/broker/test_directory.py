"""The directory: who somebody is, whom names come to, and what is kept of people."""

import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from placet.domain.standing import Standing
from placet.errors import Conflict, Invalid, NotAllowed, NotFound, PlacetError, Unauthenticated
from placet.process.auth import OPERATOR_SCOPES, PERSON_SCOPES, Caller, Directory, entries
from placet.process.platform import Databases
from tests.integration.broker.desk import Desk
from tests.support.counting import counted

pytestmark = pytest.mark.integration
NS = "default"
SOON = timedelta(hours=1)


@pytest.fixture
def directory(still: Desk) -> Directory:
    return still.platform.auth.directory


@pytest.fixture
async def claiming(databases: Databases) -> AsyncIterator[Directory]:
    """A directory beside an issuer whose tokens tell groups."""
    database = databases("auth")
    made = Directory(database, claims_count=True)
    await database.open()
    yield made
    await database.close()


def person(id: str) -> Caller:
    return Caller(NS, id, PERSON_SCOPES, "key")


def operator(id: str = "root") -> Caller:
    return Caller(NS, id, OPERATOR_SCOPES, "key")


def soon(span: timedelta = SOON) -> datetime:
    return datetime.now(UTC) + span


async def delegate(directory: Directory, from_: str, to: str) -> str:
    made, _ = await directory.delegations.create(person(from_), to, soon())
    return str(made["id"])


def ids(standing: Standing) -> list[str]:
    return [seat.id for seat in standing.principals]


async def come_to(directory: Directory, namespace: str, names: list[str]) -> set[str] | None:
    found = await directory.members(namespace, names)
    return None if found is None else set(found)


async def test_somebody_of_whom_nothing_is_known_stands_alone(directory: Directory) -> None:
    assert await directory.standing(NS, "alice") == Standing("alice", frozenset({"alice"}))
    assert await directory.standing(NS, "slack:U1") == Standing("slack:U1", frozenset({"slack:U1"}))
    half = "a\ud800"
    assert (await directory.standing(NS, half)).names == {half}
    assert await come_to(directory, NS, [half, "bob"]) == {"bob"}
    service = await directory.standing(NS, "service:ci")
    assert service.names == {"service:ci"}
    assert not service.is_person


async def test_a_linked_identity_is_that_person_everywhere(directory: Directory) -> None:
    await directory.people.put(NS, "alice", name="Alice", identities=["slack:U1", "telegram:7"])
    await directory.groups.put(NS, "ops", ["alice", "bob"])
    by_slack = await directory.standing(NS, "slack:U1")
    assert by_slack == await directory.standing(NS, "alice")
    assert by_slack.id == "alice"
    assert by_slack.names == {"alice", "slack:U1", "telegram:7", "group:ops"}
    elsewhere = await directory.standing("other", "slack:U1")
    assert elsewhere.names == {"slack:U1"}


async def test_who_somebody_is_takes_one_query_and_two_for_a_channel(directory: Directory) -> None:
    await directory.people.put(NS, "alice", identities=["slack:U1"])
    await directory.groups.put(NS, "ops", ["alice"])
    reads = counted(directory)
    for id, most in (
        ("alice", 1),
        ("nobody", 1),
        ("slack:U1", 2),
        ("slack:U2", 1),
        ("service:x", 0),
    ):
        reads.reads = 0
        await directory.standing(NS, id)
        assert reads.reads == most, id


async def test_a_group_is_nobody(directory: Directory) -> None:
    with pytest.raises(NotAllowed, match="group"):
        await directory.standing(NS, "group:ops")


async def test_a_delegate_stands_in_for_those_before_as_well_each_with_their_names(
    directory: Directory,
) -> None:
    await directory.people.put(NS, "ann", identities=["slack:A"])
    await directory.groups.put(NS, "finance", ["ann"])
    await delegate(directory, "ann", "bob")
    await delegate(directory, "bob", "cid")
    await delegate(directory, "ann", "cid")
    standing = await directory.standing(NS, "cid")
    assert ids(standing) == ["ann", "bob"]
    assert standing.names == {"cid"}
    assert standing.principals[0].names == {"ann", "slack:A", "group:finance"}
    assert ids(await directory.standing(NS, "ann")) == []


async def test_a_delegation_that_has_ended_counts_for_nothing(directory: Directory) -> None:
    id = await delegate(directory, "ann", "bob")
    assert ids(await directory.standing(NS, "bob")) == ["ann"]
    ended = await directory.delegations.end(person("ann"), id)
    assert ended["ended_at"] is not None
    assert ids(await directory.standing(NS, "bob")) == []
    assert await directory.delegations.end(person("ann"), id) == ended


async def test_a_delegation_counts_until_its_end_by_the_clock_of_the_database(
    directory: Directory,
) -> None:
    made, _ = await directory.delegations.create(person("ann"), "bob", soon())
    past = {"$set": {"until": datetime.now(UTC) - timedelta(seconds=1)}}
    await directory.entries.change("delegation", NS, made["id"], past)
    assert ids(await directory.standing(NS, "bob")) == []
    assert await directory.delegations.page(NS, in_force=True) == []
    assert len(await directory.delegations.page(NS)) == 1


@pytest.mark.parametrize(
    ("to", "span"),
    [
        ("ann", SOON),
        ("bob", timedelta(seconds=-1)),
        ("bob", timedelta(days=367)),
        ("service:ci", SOON),
        ("slack:U1", SOON),
        ("placet-runner", SOON),
        ("b\u202eob", SOON),
        ("", SOON),
    ],
)
async def test_a_delegation_that_cannot_be_is_refused(
    directory: Directory, to: str, span: timedelta
) -> None:
    with pytest.raises(Invalid):
        await directory.delegations.create(person("ann"), to, soon(span))


async def test_circles_of_two_and_three_are_refused(directory: Directory) -> None:
    await delegate(directory, "ann", "bob")
    with pytest.raises(Conflict) as refused:
        await delegate(directory, "bob", "ann")
    assert refused.value.reason == "delegation_cycle"
    await delegate(directory, "bob", "cid")
    with pytest.raises(Conflict, match="stands in"):
        await delegate(directory, "cid", "ann")
    assert len(await directory.delegations.page(NS)) == 2


async def test_a_circle_that_came_about_all_the_same_ends_where_it_began(
    directory: Directory,
) -> None:
    for n, (a, b) in enumerate((("ann", "bob"), ("bob", "cid"), ("cid", "ann"))):
        fields = {"from": a, "to": b, "until": soon(), "ended_at": None, "about": [b], "by": a}
        await directory.entries.add("delegation", NS, f"dlg_{n}", **fields)
    assert ids(await directory.standing(NS, "ann")) == ["cid", "bob"]


async def test_of_circles_that_are_closed_at_once_none_is_left(directory: Directory) -> None:
    async def trying(from_: str, to: str) -> None:
        with contextlib.suppress(Conflict):
            await delegate(directory, from_, to)

    async with anyio.create_task_group() as group:
        for pair in (("ann", "bob"), ("bob", "cid"), ("cid", "ann")):
            group.start_soon(trying, *pair)
    left = await directory.delegations.page(NS)
    assert len(left) < 3


async def test_a_person_has_at_most_twenty_delegations(directory: Directory) -> None:
    for n in range(20):
        await delegate(directory, "ann", f"bob{n}")
    with pytest.raises(Conflict) as refused:
        await delegate(directory, "ann", "bob")
    assert refused.value.reason == "too_many_delegations"


async def test_only_that_person_or_an_operator_delegates_and_ends(directory: Directory) -> None:
    with pytest.raises(NotAllowed, match="operate"):
        await directory.delegations.create(person("bob"), "bob", soon(), "ann")
    made, _ = await directory.delegations.create(operator(), "bob", soon(), "ann")
    assert (made["from"], made["by"]) == ("ann", "root")
    with pytest.raises(NotAllowed):
        await directory.delegations.end(person("bob"), made["id"])
    elsewhere = Caller("other", "ann", OPERATOR_SCOPES, "key")
    with pytest.raises(NotFound):
        await directory.delegations.end(elsewhere, made["id"])
    assert (await directory.delegations.end(person("ann"), made["id"]))["ended_at"]
    reader = Caller(NS, "ann", frozenset({"inputs:read"}), "key")
    with pytest.raises(NotAllowed, match="inputs:answer"):
        await directory.delegations.create(reader, "bob", soon())


async def test_an_identity_belongs_to_one_person(directory: Directory) -> None:
    await directory.people.put(NS, "alice", identities=["slack:U1"])
    await directory.people.put(NS, "bob")
    with pytest.raises(Conflict, match="alice") as refused:
        await directory.people.link(NS, "bob", "slack:U1")
    assert refused.value.reason == "identity_taken"
    await directory.people.put("other", "bob", identities=["slack:U1"])
    await directory.people.unlink(NS, "bob", "slack:U1")
    assert (await directory.standing(NS, "slack:U1")).id == "alice"
    await directory.people.unlink(NS, "alice", "slack:U1")
    assert (await directory.people.link(NS, "bob", "slack:U1"))["identities"] == ["slack:U1"]


async def test_of_two_who_link_the_same_identity_at_once_one_gets_it(directory: Directory) -> None:
    people = [f"person{n}" for n in range(6)]
    got: list[str] = []

    async def link(id: str) -> None:
        try:
            await directory.people.link(NS, id, "slack:U1")
        except Conflict:
            return
        got.append(id)

    for id in people:
        await directory.people.put(NS, id)
    async with anyio.create_task_group() as group:
        for id in people:
            group.start_soon(link, id)
    assert got == [(await directory.standing(NS, "slack:U1")).id]


@pytest.mark.parametrize("identity", ["U1", "irc:x", "slack:", "slack:a\u200bb", "service:ci", ":"])
async def test_an_identity_that_cannot_be_is_refused(directory: Directory, identity: str) -> None:
    with pytest.raises(Invalid):
        await directory.people.put(NS, "alice", identities=[identity])


async def test_putting_a_person_changes_what_is_said_and_leaves_the_rest(
    directory: Directory,
) -> None:
    made = await directory.people.put(NS, "alice", name="A", identities=["slack:U1", "discord:2"])
    again = await directory.people.put(NS, "alice", name="A")
    assert again == made
    fewer = await directory.people.put(NS, "alice", email="a@x", identities=["discord:2"])
    told = (fewer["name"], fewer["email"], fewer["identities"])
    assert told == ("A", "a@x", ["discord:2"])
    await directory.people.put(NS, "alice", disabled=True)
    assert (await directory.people.put(NS, "alice"))["disabled_at"] is not None
    assert (await directory.people.put(NS, "alice", disabled=False))["disabled_at"] is None


async def test_who_is_disabled_loses_keys_sessions_and_links_at_once(still: Desk) -> None:
    auth = still.platform.auth
    headers, session = await still.key("alice"), await still.session("alice")
    link = await auth.sessions.create_link(namespace=NS, person="alice")
    bob = await still.key("bob")
    await auth.directory.people.disable(NS, "alice")
    with pytest.raises(Unauthenticated):
        await auth.sessions.by_session(session)
    for refused in (Unauthenticated, NotAllowed):
        with pytest.raises(refused):
            await (auth.sessions.login(link) if refused is Unauthenticated else still.key("alice"))
    assert (await still.http.get("/v1/inputs", headers=headers)).status_code == 401
    assert (await still.http.get("/v1/inputs", headers=bob)).status_code == 200
    fresh = await auth.sessions.create_link(namespace=NS, person="alice")
    with pytest.raises(NotAllowed, match="disabled"):
        await auth.sessions.login(fresh)
    await auth.directory.people.enable(NS, "alice")
    assert (await still.http.get("/v1/inputs", headers=headers)).status_code == 401
    await still.key("alice")


async def test_who_is_disabled_is_nobody_nobodys_delegate_and_has_none(
    directory: Directory,
) -> None:
    await directory.people.put(NS, "bob", identities=["slack:B"])
    await delegate(directory, "ann", "bob")
    await delegate(directory, "bob", "cid")
    await directory.people.disable(NS, "bob")
    for id in ("bob", "slack:B"):
        with pytest.raises(NotAllowed, match="disabled"):
            await directory.standing(NS, id)
    assert ids(await directory.standing(NS, "cid")) == []
    with pytest.raises(NotAllowed, match="disabled"):
        await delegate(directory, "dan", "bob")


async def test_what_is_not_said_of_a_person_stays(still: Desk) -> None:
    key = await still.key("root", *OPERATOR_SCOPES)
    url = "/v1/people/alice"

    async def put(**said: object) -> list[object]:
        told = (await still.http.put(url, json=said, headers=key)).json()
        return [told["name"], told["email"], told["disabled_at"] is not None]

    assert await put(name="Alice", email="a@example.com") == ["Alice", "a@example.com", False]
    assert await put(disabled=True) == ["Alice", "a@example.com", True]
    assert await put(disabled=False) == ["Alice", "a@example.com", False]
    assert await put(name="Al") == ["Al", "a@example.com", False]
    assert await put(email=None) == ["Al", None, False]


@pytest.mark.parametrize("groups", range(3, 8))
async def test_no_number_of_entries_hides_who_is_disabled_or_linked(
    directory: Directory, monkeypatch: pytest.MonkeyPatch, groups: int
) -> None:
    for n in range(groups):
        await directory.groups.put(NS, f"g{n}", ["bob"])
    for n in range(groups):
        await delegate(directory, f"ann{n}", "bob")
    await delegate(directory, "bob", "cid")
    await directory.people.put(NS, "bob", identities=["slack:B"])
    monkeypatch.setattr(entries, "MOST", 5)
    assert "slack:B" in (await directory.standing(NS, "bob")).names
    await directory.people.disable(NS, "bob")
    with pytest.raises(NotAllowed, match="disabled"):
        await directory.standing(NS, "bob")
    assert ids(await directory.standing(NS, "cid")) == []


async def test_whom_more_entries_than_one_question_looks_at_come_to_is_not_known(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await directory.groups.put(NS, "ops", ["ann", "bob"])
    await directory.groups.put(NS, "dev", ["cid"])
    assert await come_to(directory, NS, ["group:ops", "group:dev"]) == {"ann", "bob", "cid"}
    monkeypatch.setattr(entries, "MOST", 1)
    assert await come_to(directory, NS, ["group:ops", "group:dev"]) is None


async def test_names_come_to_distinct_people(directory: Directory) -> None:
    await directory.people.put(NS, "alice", identities=["slack:U1"])
    await directory.groups.put(NS, "ops", ["alice", "bob", "cid"])
    await directory.people.disable(NS, "cid")
    names = ["alice", "slack:U1", "slack:U9", "service:ci", "group:ops", "group:none", "cid"]
    assert await come_to(directory, NS, names) == {"alice", "bob"}
    assert await come_to(directory, NS, ["service:ci"]) == set()
    assert await come_to(directory, NS, ["group:none"]) == set()
    assert await come_to(directory, "other", ["group:ops", "slack:U1"]) == set()


async def test_groups_that_tokens_told_count_while_there_is_an_issuer(
    claiming: Directory, databases: Databases
) -> None:
    at = datetime.now(UTC)
    await claiming.people.keep_claims(NS, "alice", {"ops", "/team/a"}, at)
    assert (await claiming.standing(NS, "alice")).names == {"alice", "group:ops", "group:/team/a"}
    told = await claiming.standing(NS, "alice", {"new"})
    assert "group:new" in told.names
    await claiming.people.keep_claims(NS, "alice", {"old"}, at - timedelta(minutes=1))
    assert "group:old" not in (await claiming.standing(NS, "alice")).names
    await claiming.people.keep_claims(NS, "alice", (), at + timedelta(minutes=1))
    assert (await claiming.standing(NS, "alice")).names == {"alice"}


async def test_whom_a_group_comes_to_that_only_tokens_tell_is_not_known(
    claiming: Directory,
) -> None:
    await claiming.groups.put(NS, "kept", ["bob"])
    await claiming.people.keep_claims(NS, "alice", {"kept"}, datetime.now(UTC))
    assert await come_to(claiming, NS, ["group:kept"]) == {"alice", "bob"}
    assert await claiming.members(NS, ["group:kept", "group:told"]) is None


async def test_groups_are_replaced_grown_and_let_go(directory: Directory) -> None:
    groups = directory.groups
    await groups.put(NS, "ops", ["bob", "alice", "bob"])
    assert (await groups.add(NS, "ops", "cid"))["members"] == ["alice", "bob", "cid"]
    await groups.add(NS, "ops", "cid")
    assert (await groups.remove(NS, "ops", "bob"))["members"] == ["alice", "cid"]
    assert (await directory.standing(NS, "bob")).names == {"bob"}
    assert (await groups.remove(NS, "ops", "group:ops"))["members"] == ["alice", "cid"]
    assert await come_to(directory, NS, ["group:ops"]) == {"alice", "cid"}
    await groups.delete(NS, "ops")
    assert await come_to(directory, NS, ["group:ops"]) == set()
    for missing in (groups.get(NS, "ops"), groups.delete(NS, "ops"), groups.add(NS, "ops", "x")):
        with pytest.raises(NotFound):
            await missing


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("a:b", []),
        (" ops", []),
        ("", []),
        ("ops", ["service:ci"]),
        ("ops", ["a\u200bb"]),
        ("ops", [""]),
    ],
)
async def test_a_group_that_cannot_be_is_refused(
    directory: Directory, name: str, members: list[str]
) -> None:
    with pytest.raises(PlacetError):
        await directory.groups.put(NS, name, members)
    assert await directory.groups.page(NS) == []
