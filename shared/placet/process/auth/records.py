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


def shown(record: Document) -> Document:
    """A record without its hash, and what it was made of."""
    return {
        ("id" if name == "_id" else name): value
        for name, value in record.items()
        if name not in ("hash", "once", "about")
    }


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


def older_than(place: Place | None, key: str = "_id") -> Document:
    """The filter for what comes behind this place, newest first; `key` is the field of the id."""
    if place is None:
        return {}
    at, id = place
    return {"$or": [{"created_at": {"$lt": at}}, {"created_at": at, key: {"$lt": id}}]}
