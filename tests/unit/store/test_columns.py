"""SQLite's order of a column is MongoDB's order of the values."""

import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.store.language.values import order
from placet.store.sqlite.columns import stored

pytestmark = pytest.mark.unit

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8")),
    st.datetimes(timezones=st.just(UTC)),
    st.binary(max_size=20),
)


@given(st.lists(SCALARS, max_size=8))
def test_a_column_sorts_as_the_values_do(values: list[Any]) -> None:
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE t (at INTEGER, value ANY) STRICT")
        db.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(map(stored, values))))
        rows = db.execute("SELECT at FROM t ORDER BY value, at").fetchall()
    db.close()
    by_value = sorted(range(len(values)), key=lambda at: (order(values[at]), at))
    assert [at for (at,) in rows] == by_value


@given(SCALARS, SCALARS)
def test_values_are_equal_if_their_columns_are(left: Any, right: Any) -> None:
    assert (stored(left) == stored(right)) == (order(left) == order(right))


def test_a_date_before_1970_sorts_before_one_after() -> None:
    early, late = datetime(1950, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    first, second = stored(early), stored(late)
    assert isinstance(first, bytes)
    assert isinstance(second, bytes)
    assert first < second
