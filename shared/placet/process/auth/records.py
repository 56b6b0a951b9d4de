"""What stored credentials have in common: how they are hashed, shown, and who they make the caller."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from placet.errors import Invalid
from placet.process.caller import ALL_SCOPES, Caller
from placet.store.port import Document

Place = tuple[datetime, str]
"""Where a page ended: the time and the id of its last record."""


def hashed(token: str) -> str:
    """What is kept of a secret; it is long and random, so one round is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def caller_of(record: Document, credential: str, *, by_session: bool = False) -> Caller:
    """The caller that a key, a session or a mapping stands for."""
    return Caller(
        namespace=record["namespace"],
        id=record["person"] or f"service:{record['service']}",
        scopes=frozenset(record["scopes"]),
        credential=credential,
        by_session=by_session,
        claimed_groups=frozenset(record.get("claimed_groups", ())),
    )


def granted(scopes: Iterable[str], by: Caller | None) -> list[str]:
    """The scopes that a new credential gets, sorted.

    Raises Invalid for one that does not exist, NotAllowed for one that `by` lacks.
    """
    wanted = sorted({str(scope) for scope in scopes})
    if unknown := [scope for scope in wanted if scope not in ALL_SCOPES]:
        raise Invalid(
            f"unknown scope {', '.join(unknown)}; there are {', '.join(sorted(ALL_SCOPES))}"
        )
    if by is not None:
        by.need_to_grant(wanted)
    return wanted


def older_than(place: Place | None) -> Document:
    """The filter for what comes behind this place, newest first: by `created_at`, then by `key`."""
    if place is None:
        return {}
    at, id = place
    # The first part is for the index: no store makes bounds of an $or.
    behind = [{"created_at": {"$lt": at}}, {"key": {"$lt": id}}]
    return {"created_at": {"$lte": at}, "$or": behind}
