"""The evaluator refuses what it does not know, and knows the traps of the protocol's rows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from placet.store.language import check_filter, matches, project, updated
from placet.store.port import BadStatement

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "where",
    [
        {"$nor": [{"a": 1}]},
        {"a": {"$regex": "x"}},
        {"a": {"$eq": 1, "b": 2}},
        {"$or": [{"a": 1}, {"b": {"$mod": [2, 0]}}]},
        {"a": {"$elemMatch": {"b": {"$all": [1]}}}},
        {"a": {"$not": {"$type": "string"}}},
        {"$expr": {"$cond": [True, 1, {"$toUpper": "a"}]}},
        {"$where": "true"},
    ],
)
def test_an_unknown_filter_operator_is_refused_before_any_document_is_read(where: Any) -> None:
    with pytest.raises(BadStatement):
        check_filter(where)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"$rename": {"a": "b"}},
        {"a": 1},
        {"$push": {"a": {"$each": [1], "$sort": 1}}},
        {"$set": {"a.0": 1}},
        {"$set": {"a.$[w].b": 1}},
        {"$set": {"a": 1}, "$unset": {"a.b": 1}},
        {"$set": {"_id": "other"}},
        [{"$project": {"a": 1}}],
        [{"$set": {"a": {"$toUpper": "a"}}}],
        [{"$set": {"a": "$$CLUSTER_TIME"}}],
        [{"$set": {"a": {"$size": "$missing"}}}],
    ],
)
def test_an_update_outside_the_subset_is_refused(change: Any) -> None:
    with pytest.raises(BadStatement):
        updated({"_id": "x", "a": []}, change, NOW)


def test_a_document_is_not_changed_by_its_update() -> None:
    before = {"_id": "x", "a": {"b": [1]}, "l": [{"n": 1}]}
    after = updated(before, {"$set": {"a.c": 2}, "$push": {"a.b": 2, "l": {"n": 2}}}, NOW)
    assert before == {"_id": "x", "a": {"b": [1]}, "l": [{"n": 1}]}
    assert after == {"_id": "x", "a": {"b": [1, 2], "c": 2}, "l": [{"n": 1}, {"n": 2}]}


def test_a_missing_lease_counts_as_null_in_a_filter_but_not_in_an_expression() -> None:
    assert matches({}, {"lease": None}, NOW)
    assert not matches({}, {"$expr": {"$eq": ["$lease", None]}}, NOW)
    assert matches({}, {"$expr": {"$eq": [{"$ifNull": ["$lease", None]}, None]}}, NOW)


def test_a_comparison_with_a_date_ignores_null() -> None:
    past = NOW - timedelta(seconds=1)
    assert matches({"due": past}, {"due": {"$lte": NOW}}, NOW)
    assert not matches({"due": None}, {"due": {"$lte": NOW}}, NOW)


def test_true_is_not_one_and_one_is_one_point_zero() -> None:
    assert not matches({"a": True}, {"a": 1}, NOW)
    assert matches({"a": 1}, {"a": 1.0}, NOW)


def test_setting_a_document_in_a_pipeline_merges_it_into_the_one_that_is_there() -> None:
    before = {"_id": "x", "lease": {"op": "old", "note": "kept"}}
    merged = updated(before, [{"$set": {"lease": {"op": {"$literal": "$new"}}}}], NOW)
    assert merged["lease"] == {"op": "$new", "note": "kept"}
    replaced = updated(before, [{"$set": {"lease": {"$literal": {"op": "new"}}}}], NOW)
    assert replaced["lease"] == {"op": "new"}


def test_a_projection_keeps_the_id_and_reaches_into_arrays() -> None:
    document = {"_id": "x", "a": [{"b": 1, "c": 2}, 3], "d": {"e": 1}, "f": 1}
    assert project(document, ["a.b", "d"]) == {"_id": "x", "a": [{"b": 1}], "d": {"e": 1}}
