"""What the driver raises, sorted by what a caller can do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pymongo.errors import (
    ConnectionFailure,
    DocumentTooLarge,
    InvalidOperation,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
)

from placet.errors import Conflict, PlacetError, TooLarge, Unavailable
from placet.store.port import BadStatement

DUPLICATE: Final = 11000
_TOO_LARGE: Final = frozenset({10334, 17280, 17419, 17420, 17260})
_CREDENTIALS: Final = frozenset({13, 18, 8000})
_NO_ROOM: Final = frozenset({388})
"""The storage engine's cache is too full for a write of this size, at this moment."""
# Failovers, shutdowns and time-outs, as the specification of retryable writes lists them, and
# write concerns that were not met: the write may stand or not.
_UNKNOWN: Final = frozenset(
    {6, 7, 50, 64, 79, 89, 91, 100, 133, 134, 189, 262, 317, 358, 9001}
    | {10058, 10107, 11600, 11602, 13435, 13436}
)


def is_unknown(error: PyMongoError) -> bool:
    """Say whether the write that failed may have happened, or may go through when sent again."""
    if isinstance(error, ConnectionFailure):
        return True
    retryable = error.has_error_label("RetryableWriteError")
    return retryable or (isinstance(error, OperationFailure) and error.code in _UNKNOWN)


def never_sent(error: PyMongoError) -> bool:
    """Say whether no server was found, so that nothing can have happened."""
    return isinstance(error, ServerSelectionTimeoutError)


def unknown_code(failure: Mapping[str, Any]) -> bool:
    """Say whether an entry of a command's reply leaves the write's outcome open."""
    return failure.get("code") in _UNKNOWN


def unavailable(server: str, error: BaseException) -> Unavailable:
    """Return the error for a server that is away."""
    return Unavailable(f"MongoDB at {server} is not available: {_words(error)}")


def _words(error: BaseException) -> str:
    """Return the driver's sentence without the dump of its state."""
    return str(error).split(", full error:")[0].split(", Timeout:")[0]


def refusal(server: str, code: int | None, message: str) -> PlacetError:
    """Return the error for a statement that the server understood and refused."""
    if code == DUPLICATE:
        return Conflict(f"another document has this key: {message}")
    if code in _TOO_LARGE:
        return TooLarge(f"the document would be over 16 MiB: {message}")
    if code in _CREDENTIALS:
        return Unavailable(f"MongoDB at {server} refuses the credential: {message}")
    if code in _NO_ROOM:
        return Unavailable(f"MongoDB at {server} has no room in its cache for this now: {message}")
    return BadStatement(f"MongoDB refused a statement ({code}): {message}")


def translated(server: str, error: PyMongoError) -> PlacetError:
    """Return the error of Placet for an error of the driver."""
    if isinstance(error, DocumentTooLarge):
        return refusal(server, 10334, str(error))
    if is_unknown(error) or isinstance(error, InvalidOperation):
        return unavailable(server, error)
    code = error.code if isinstance(error, OperationFailure) else None
    return refusal(server, code, _words(error))
