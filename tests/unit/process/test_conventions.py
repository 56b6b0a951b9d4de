"""What every route shares: cursors, ETags and Idempotency-Key."""

import base64
from datetime import UTC, datetime

import pytest

from placet.errors import Changed, Conflict, Invalid, Unconditional
from placet.process.caller import Caller
from placet.process.conditions import etag, expect, expect_absent, is_known, names
from placet.process.cursors import LONGEST, cursor_of, page_after, place_of
from placet.process.idempotency import once

pytestmark = pytest.mark.unit

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def caller(id: str = "alice", namespace: str = "default") -> Caller:
    return Caller(namespace, id, frozenset(), "key")


def raw(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_a_cursor_comes_back_as_the_place_that_it_was_made_of() -> None:
    assert place_of("runs", cursor_of("runs", AT, "run_1"), datetime, str) == (AT, "run_1")
    assert place_of("runs", None, str) is None


@pytest.mark.parametrize(
    "bad",
    [
        "", "!!", "é", "e30", "W10", "bnVsbA", "MQ", "x" * (LONGEST + 1), cursor_of("keys", AT, "a"),
        cursor_of("runs", "a"), cursor_of("runs", "a", "b"), raw('["runs",1,"a"]'),
        raw('["runs","2026-01-01T00:00:00","a"]'), raw('["runs","0001-01-01T00:00:00+23:59","a"]'),
        raw('["runs","2026-01-01T00:00:00Z","\\u0000"]'), raw('["runs",["a"],{}]'),
    ],
)  # fmt: skip
def test_a_cursor_that_is_none_of_this_list_is_refused(bad: str) -> None:
    with pytest.raises(Invalid, match="cursor") as refused:
        place_of("runs", bad, datetime, str)
    assert refused.value.errors[0].pointer == "/cursor"


def test_pages_of_a_short_list_hold_everything_once() -> None:
    items = [(f"{n:02}", n) for n in range(7)]
    seen, cursor = [], None
    while True:
        page, cursor = page_after("numbers", items, cursor, 3)
        seen += page
        if cursor is None:
            break
    assert seen == list(range(7))
    assert page_after("numbers", items[:3], None, 3) == ([0, 1, 2], None)


def test_a_change_must_name_the_version_that_it_is_of() -> None:
    tag = etag("2.ab")
    for fits in (tag, "*", f'"1.ab", {tag}'):
        expect(fits, tag)
    for stale in ('"1.ab"', f"W/{tag}", "2.ab", ""):
        with pytest.raises(Changed):
            expect(stale, tag)
    with pytest.raises(Unconditional, match="If-Match"):
        expect(None, tag)


def test_a_reader_may_know_a_version_weakly_and_a_writer_not() -> None:
    tag = etag("2.ab")
    assert is_known(f"W/{tag}", tag)
    assert is_known(tag, tag)
    assert not is_known(None, tag)
    assert not is_known('"3.cd"', tag)
    assert not names(f"W/{tag}", tag)
    assert expect_absent(" * ")
    assert not expect_absent(tag)
    assert not expect_absent(None)


def test_the_same_key_is_another_thing_for_another_caller_namespace_or_route() -> None:
    made = {
        one.id
        for who in (caller(), caller("bob"), caller(namespace="other"))
        for route in ("keys", "webhooks")
        if (one := once(who, route, "k", {}))
    }
    assert len(made) == 6
    assert once(caller(), "keys", None, {}) is None


def test_another_body_under_the_same_key_is_a_conflict() -> None:
    first, again, other = (once(caller(), "keys", "k", {"name": n}) for n in ("a", "a", "b"))
    assert first
    assert again
    assert other
    assert first.id == again.id == other.id
    again.check(first.digest)
    with pytest.raises(Conflict) as refused:
        other.check(first.digest)
    assert refused.value.reason == "idempotency_conflict"
