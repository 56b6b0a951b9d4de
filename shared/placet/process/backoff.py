"""Waiting before the next try: exponential with full jitter, so that many do not come at once."""

import random
from collections.abc import Iterator
from datetime import timedelta


def full_jitter(attempt: int, first: timedelta, longest: timedelta) -> timedelta:
    """A random wait before try number `attempt` (from 1), at most `first * 2 ** (attempt - 1)`."""
    ceiling = min(longest, first * (1 << min(attempt - 1, 20)))
    return ceiling * random.random()  # noqa: S311 - spreads load, guards nothing


def waits(first: timedelta, longest: timedelta) -> Iterator[float]:
    """Endless waits in seconds, each at least half of its ceiling, for loops that must not spin."""
    attempt = 0
    while True:
        attempt += 1
        ceiling = min(longest, first * (1 << min(attempt - 1, 20))).total_seconds()
        yield ceiling / 2 + full_jitter(attempt, first, longest).total_seconds() / 2
