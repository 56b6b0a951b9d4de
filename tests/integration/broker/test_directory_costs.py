"""What one asks of the directory costs as much beside many others as beside few."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from placet.clock import SystemClock
from placet.process.auth import OPERATOR_SCOPES, Auth, Caller
from placet.process.platform import Databases
from placet.store.port import Database
from tests.support.costs import cost

pytestmark = pytest.mark.integration
NS = "default"
FEW, MANY = 30, 300


@pytest.fixture
async def database(databases: Databases) -> AsyncIterator[Database]:
    made = databases("auth")
    yield made
    await made.close()


@pytest.fixture
async def auth(database: Database) -> Auth:
    made = Auth(database, SystemClock())
    await database.open()
    return made


async def fill(auth: Auth, start: int, end: int) -> None:
    """Others of the same namespace, some of each kind."""
    root, until = Caller(NS, "root", OPERATOR_SCOPES, "key"), SystemClock().now() + timedelta(1)
    for n in range(start, end):
        await auth.keys.create(namespace=NS, name=f"k{n}", scopes=["runs:read"], service="ci")
        await auth.keys.create(namespace=NS, name=f"p{n}", scopes=["runs:read"], person=f"p{n}")
        await auth.directory.people.put(NS, f"p{n}", identities=[f"slack:U{n}"])
        await auth.directory.groups.put(NS, f"g{n}", [f"p{n}"])
        await auth.directory.delegations.create(root, f"p{n}", until, f"q{n}")


async def test_a_question_costs_the_same_beside_many_others(auth: Auth, database: Database) -> None:
    await fill(auth, 0, FEW)
    directory, keys = auth.directory, auth.keys
    await directory.groups.put(NS, "owners", ["alice"])
    root = Caller(NS, "root", OPERATOR_SCOPES, "key")
    await directory.delegations.create(root, "alice", SystemClock().now() + timedelta(1), "bob")
    key, _ = await keys.create(namespace=NS, name="desk", scopes=["answer:as"], service="desk")
    await keys.by_key(key)
    asked: dict[str, Callable[[], Awaitable[Any]]] = {
        "standing": lambda: directory.standing(NS, "alice"),
        "members": lambda: directory.members(NS, ["group:owners", "slack:U1"]),
        "by key": lambda: keys.by_key(key),
        "by key, with a person": lambda: keys.with_person(key, "alice"),
        "room for a delegation": lambda: directory.delegations._check_room(NS, "bob"),
        "keys": lambda: keys.page(NS, limit=10),
        "delegations": lambda: directory.delegations.page(NS, limit=10),
        "people": lambda: directory.people.page(NS, limit=10),
        "groups": lambda: directory.groups.page(NS, limit=10),
        "keys to revoke": lambda: keys.revoke_all_of(NS, "nobody"),
    }
    few = {name: await cost(database, call) for name, call in asked.items()}
    await fill(auth, FEW, MANY)
    many = {name: await cost(database, call) for name, call in asked.items()}
    grown = {name: (few[name], many[name]) for name in asked if many[name] > 1.5 * few[name] + 20}
    assert not grown
