"""A field that may hold arrays is found by its elements in SQLite, as MongoDB finds it."""

import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.store.language import matches
from placet.store.port import Index
from placet.store.sqlite.table import Table

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.integers(-2, 2), st.sampled_from(["a", "b"]), st.booleans(), st.just(1.0)
)
LEAVES = st.one_of(VALUES, st.lists(st.one_of(VALUES, st.lists(VALUES, max_size=2)), max_size=3))
DOCUMENTS = st.one_of(
    st.fixed_dictionaries({"a": LEAVES}),
    st.fixed_dictionaries({"a": st.fixed_dictionaries({"id": LEAVES})}),
    st.fixed_dictionaries(
        {"a": st.lists(st.one_of(st.just(3), st.fixed_dictionaries({"id": LEAVES})), max_size=3)}
    ),
    st.just({}),
)
CONDITIONS = st.one_of(
    VALUES,
    st.fixed_dictionaries({"$in": st.lists(VALUES, max_size=3)}),
    st.fixed_dictionaries({"$gte": st.integers(-2, 2), "$lt": st.integers(-2, 2)}),
    st.fixed_dictionaries({"$ne": VALUES}),
)


def made(documents: list[dict[str, Any]]) -> tuple[sqlite3.Connection, Table]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    table = Table("things", [Index((("a", 1),)), Index((("a.id", 1), ("n", 1)))])
    table.create(db)
    for number, document in enumerate(documents):
        assert table.insert(db, {"_id": str(number), "n": 1} | document)
    return db, table


def found(db: sqlite3.Connection, table: Table, where: dict[str, Any]) -> list[str]:
    documents = table.find(db, where, NOW, sort=[("_id", 1)], limit=100, fields=["_id"])
    return [document["_id"] for document in documents]


@given(
    st.lists(DOCUMENTS, max_size=6),
    st.lists(DOCUMENTS, max_size=3),
    st.sampled_from(["a", "a.id"]),
    CONDITIONS,
)
def test_elements_find_what_a_scan_finds(
    documents: list[dict[str, Any]], changed: list[dict[str, Any]], field: str, condition: Any
) -> None:
    db, table = made(documents)
    for number, change in enumerate(changed[: len(documents)]):
        table.update(db, str(number), {}, {"$set": {"a": change.get("a")}}, NOW)
    if documents:
        table.delete(db, str(len(documents) - 1), {"n": 1}, NOW)
    everything = table.find(db, {}, NOW, sort=[("_id", 1)], limit=100, fields=None)
    where = {field: condition, "n": 1}
    assert found(db, table, where) == [d["_id"] for d in everything if matches(d, where, NOW)]
    db.close()


def test_a_file_from_before_has_its_elements_made_when_it_is_opened() -> None:
    db, table = made([{"a": ["x", "y"]}, {"a": ["z"]}])
    db.execute('DROP TABLE "things.a"')
    again = Table("things", table.indexes)
    again.create(db)
    assert found(db, again, {"a": "y"}) == ["0"]
    db.close()


def test_an_element_is_found_without_reading_every_document() -> None:
    db, table = made([{"a": ["x", str(n)]} for n in range(200)])
    read: list[str] = []
    db.set_trace_callback(read.append)
    assert found(db, table, {"a": "7"}) == ["7"]
    db.set_trace_callback(None)
    [statement] = [each for each in read if each.startswith("SELECT doc")]
    plan = db.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    assert not [step for *_, step in plan if step.startswith("SCAN")], plan
    db.close()
