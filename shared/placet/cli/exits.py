"""Exit codes, the same for every command."""

from enum import IntEnum

from placet.errors import (
    Changed,
    Conflict,
    NotAllowed,
    NotFound,
    PlacetError,
    SettingsError,
    Unauthenticated,
    Unavailable,
)


class Exit(IntEnum):
    """What a script can tell from the exit code."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    CONFLICT = 5
    """It was answered already, or has ended."""
    TIMEOUT = 6
    DENIED = 7
    UNREACHABLE = 8
    INTERRUPTED = 130


def exit_for(error: PlacetError) -> Exit:
    """The exit code of an error."""
    match error:
        case SettingsError():
            return Exit.USAGE
        case NotFound():
            return Exit.NOT_FOUND
        case NotAllowed() | Unauthenticated():
            return Exit.NOT_ALLOWED
        case Conflict() | Changed():
            return Exit.CONFLICT
        case Unavailable():
            return Exit.UNREACHABLE
        case _:
            return Exit.FAILED
