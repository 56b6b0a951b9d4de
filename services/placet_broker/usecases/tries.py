"""Conditional writes that miss are tried again, on what is there by then; not for ever."""

from placet.errors import Unavailable

TRIES = 8


def busy(input_id: str) -> Unavailable:
    """The error for an input that somebody else changed before each of these tries."""
    return Unavailable(f"{input_id} changes all the time; try again")
