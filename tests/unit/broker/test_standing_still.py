"""How much of a deadline is left under freezes, whatever they overlap and whenever it is asked."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.domain.freeze import Freeze
from placet_broker.rules.standing_still import standing

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def frozen(begins: float, ends: float | None = None) -> Freeze:
    """A freeze by hours after noon."""
    lifted = None if ends is None else NOON + ends * HOUR
    return Freeze(
        id=f"frz_{begins}", reason="x", by="root", at=NOON + begins * HOUR, lifted_at=lifted
    )


@pytest.mark.parametrize(
    ("freezes", "now", "left", "still"),
    [
        ([], 1, 2, False),
        ([frozen(1, 2)], 2, 3, False),
        ([frozen(1, 2)], 5, 3, False),
        ([frozen(1)], 2, 3, True),
        ([frozen(1)], 9, 10, True),
        ([frozen(-5, 1)], 1, 3, False),
        ([frozen(-5, -1)], 1, 2, False),
        ([frozen(2)], 5, 5, True),
        ([frozen(2.5)], 5, 2, False),
        ([frozen(0, 2), frozen(1, 3)], 3, 5, False),
        ([frozen(0, 3), frozen(1, 2)], 3, 5, False),
        ([frozen(1, 2), frozen(2.5, 3)], 3, 3.5, False),
        ([frozen(1, 2), frozen(3.5, 4)], 4, 3, False),
        ([frozen(0, 4), frozen(1)], 5, 7, True),
    ],
)
def test_the_time_under_a_freeze_does_not_count(
    freezes: list[Freeze], now: float, left: float, still: bool
) -> None:
    """A deadline two hours after noon, of a question that was asked at noon."""
    found = standing(NOON + 2 * HOUR, NOON, freezes, NOON + now * HOUR)
    assert (found.at, found.still) == (NOON + left * HOUR, still)


HOURS = st.integers(0, 50)
SPANS = st.lists(st.tuples(HOURS, HOURS | st.none()), max_size=6)


@given(SPANS, HOURS, HOURS)
def test_crediting_in_two_steps_is_crediting_once(
    spans: list[tuple[int, int | None]], first: int, later: int
) -> None:
    freezes = [frozen(a, None if length is None else a + length) for a, length in spans]
    first, later = sorted((first, later))
    then, now = NOON + first * HOUR, NOON + later * HOUR
    at_once = standing(NOON + 8 * HOUR, NOON, freezes, now)
    known = [f for f in freezes if f.at <= then]
    half = standing(NOON + 8 * HOUR, NOON, known, then)
    if half.at >= then:  # else it has expired
        assert standing(half.at, then, freezes, now) == at_once


@given(SPANS, HOURS)
def test_nothing_is_added_but_time_that_was_frozen(
    spans: list[tuple[int, int | None]], later: int
) -> None:
    freezes = [frozen(a, None if length is None else a + length) for a, length in spans]
    now = NOON + later * HOUR
    found = standing(NOON + 8 * HOUR, NOON, freezes, now)
    hours = range(min(later, 200))
    covered = sum(
        any(
            f.at <= NOON + h * HOUR and (f.lifted_at is None or f.lifted_at > NOON + h * HOUR)
            for f in freezes
        )
        for h in hours
    )
    assert NOON + 8 * HOUR <= found.at <= NOON + (8 + covered) * HOUR
