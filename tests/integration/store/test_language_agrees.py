"""The evaluator gives what a real MongoDB gives, on cases drawn from a printed seed."""

# ruff: noqa: S311 - drawn again from the printed seed, no secret

import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pymongo
import pytest
from pymongo.errors import OperationFailure

from placet.store.documents import OPTIONS, decode, encode
from placet.store.language import matches, updated
from placet.store.port import BadStatement
from tests.integration.store import language_cases as cases

pytestmark = pytest.mark.integration

SEED = int(os.environ.get("PLACET_TEST_SEED", "1"))
ROUNDS = int(os.environ.get("PLACET_TEST_ROUNDS", "1500"))
Documents = pymongo.collection.Collection[dict[str, Any]]


@pytest.fixture(scope="module")
def collection(mongo_url: str) -> Iterator[Documents]:
    with pymongo.MongoClient[dict[str, Any]](mongo_url) as client:
        name = f"language_{os.getpid()}"
        yield client[name].get_collection("documents", codec_options=OPTIONS)
        client.drop_database(name)


def stable(value: Any, times: tuple[datetime, ...]) -> Any:
    """Replace what `$$NOW` gave by a mark: the two sides read it a little apart."""
    if isinstance(value, dict):
        return {name: stable(each, times) for name, each in value.items()}
    if isinstance(value, list):
        return [stable(each, times) for each in value]
    if isinstance(value, datetime) and value.year >= min(times).year and value not in FIXED:
        return "about now"
    return value


FIXED = (cases.T0, cases.T1)


def ours(document: dict[str, Any], change: Any) -> Any:
    try:
        return decode(encode(updated(document, change, datetime.now(UTC))))
    except BadStatement as refused:
        return refused


def theirs(collection: Documents, document: dict[str, Any], change: Any) -> Any:
    collection.insert_one(dict(document))
    try:
        return collection.find_one_and_update(
            {"_id": document["_id"]}, change, return_document=pymongo.ReturnDocument.AFTER
        )
    except OperationFailure as refused:
        return OperationFailure((refused.details or {}).get("errmsg", "")[:200], refused.code)


def in_order(value: Any) -> Any:
    """Sort fields: MongoDB may give one that a stage takes away and another sets its old place."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    return [in_order(each) for each in value] if isinstance(value, list) else value


def disagreement(mine: Any, server: Any, *, sort: bool) -> bool:
    if isinstance(mine, BadStatement):
        # Refusing what MongoDB takes is allowed for what is outside the subset only.
        return not isinstance(server, OperationFailure) and "subset" not in str(mine)
    if isinstance(server, OperationFailure):
        return True
    times = (datetime.now(UTC),)
    left, right = stable(mine, times), stable(server, times)
    if sort:
        left, right = in_order(left), in_order(right)
    return encode(left) != encode(right)


@pytest.mark.parametrize("draw", [cases.operators, cases.pipeline])
def test_an_update_leaves_the_same_document(
    collection: Documents, draw: Callable[[random.Random], Any]
) -> None:
    rng = random.Random(SEED)
    wrong = []
    for at in range(ROUNDS):
        document = {"_id": f"{draw.__name__}{at}", **cases.document(rng)}
        change = draw(rng)
        mine, server = ours(document, change), theirs(collection, document, change)
        if disagreement(mine, server, sort=isinstance(change, list) and len(change) > 1):
            wrong.append(f"{document}\n  {change}\n  here  {mine!r}\n  there {server!r}")
    assert not wrong, f"seed {SEED}, {len(wrong)} of {ROUNDS}:\n" + "\n".join(wrong[:8])


def ours_found(documents: list[dict[str, Any]], where: Any) -> Any:
    try:
        now = datetime.now(UTC)
        return sorted(each["_id"] for each in documents if matches(each, where, now))
    except BadStatement as refused:
        return refused


def theirs_found(collection: Documents, where: Any) -> Any:
    try:
        return sorted(each["_id"] for each in collection.find({**where, "set": 1}, {"_id": 1}))
    except OperationFailure as refused:
        return OperationFailure((refused.details or {}).get("errmsg", "")[:200], refused.code)


def blame(documents: list[dict[str, Any]], mine: Any, server: Any) -> str:
    if not isinstance(mine, list) or not isinstance(server, list):
        return ""
    odd = set(mine) ^ set(server)
    return "; ".join(str(each) for each in documents if each["_id"] in odd)[:300]


def test_a_filter_matches_the_same_documents(collection: Documents) -> None:
    rng = random.Random(SEED)
    documents = [{"_id": f"f{at}", "set": 1, **cases.document(rng)} for at in range(150)]
    collection.insert_many(documents)
    wrong = []
    for _ in range(ROUNDS):
        where = cases.where(rng)
        mine, server = ours_found(documents, where), theirs_found(collection, where)
        if "$expr" in str(where) and not (isinstance(mine, list) and isinstance(server, list)):
            # Which clause meets an operand of the wrong type first is the planner's choice.
            continue
        if mine != server:
            wrong.append(
                f"{where}\n  {blame(documents, mine, server)}\n  {mine!r:.80} {server!r:.150}"
            )
    assert not wrong, f"seed {SEED}, {len(wrong)} of {ROUNDS}:\n" + "\n".join(wrong[:8])
