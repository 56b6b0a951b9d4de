"""What the directory is made of: its one collection, the kinds of its entries, and their names.

Every entry lists in `about` whom it says something about, so that one query finds all of it.
"""

from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from typing import Any

from placet.bus.topology import OWN_USERS
from placet.domain.naming import RULE, names
from placet.domain.standing import GROUP
from placet.errors import FieldError, Invalid
from placet.ids import derived_id
from placet.store.port import Collection, Database, Document, Index

PERSON = "person"
IDENTITY = "identity"
GROUPS = "group"
DELEGATION = "delegation"
KEY = "key"
CHANNELS = ("slack", "telegram", "discord")
MOST = 2000
"""Entries that one question to the directory looks at."""
FIRST = [("kind", -1)]
"""The order of kinds: persons, keys, identities, groups, delegations.

What is beyond MOST is what would give somebody more, never that a person is disabled.
"""

IN_FORCE: Mapping[str, Any] = {
    "$or": [{"until": None}, {"ended_at": None, "$expr": {"$gt": ["$until", "$$NOW"]}}]
}
"""What has not ended: by the database's clock."""


class Entries:
    """The collection `directory` of `auth`."""

    def __init__(self, database: Database) -> None:
        self.kept: Collection = database.collection(
            "directory",
            [
                Index((("about", 1), ("namespace", 1), ("kind", -1))),
                Index((("kind", 1), ("namespace", 1), ("key", 1))),
                Index((("kind", 1), ("namespace", 1), ("created_at", 1), ("key", 1))),
                Index((("of", 1), ("namespace", 1)), sparse=True),
            ],
        )
        self.now = database.now

    async def get(self, kind: str, namespace: str, key: str) -> Document | None:
        """One entry, by what it is called."""
        return await self.kept.get(entry_id(kind, namespace, key))

    async def add(self, kind: str, namespace: str, key: str, **fields: Any) -> bool:
        """Store a new entry; False if there is one of that name."""
        entry = {"_id": entry_id(kind, namespace, key), "namespace": namespace, "kind": kind}
        now = await self.now()
        return await self.kept.insert({**entry, "key": key, "created_at": now, **fields})

    async def change(
        self,
        kind: str,
        namespace: str,
        key: str,
        change: Any,
        where: Mapping[str, Any] | None = None,
    ) -> Document | None:
        """Change an entry if it also matches; None if it does not, or is not there."""
        return await self.kept.update(entry_id(kind, namespace, key), where or {}, change)

    async def drop(
        self, kind: str, namespace: str, key: str, where: Mapping[str, Any] | None = None
    ) -> bool:
        """Delete an entry if it also matches."""
        return await self.kept.delete(entry_id(kind, namespace, key), where or {})

    async def about(
        self, namespace: str, whom: Several[str], kinds: Sequence[str] = ()
    ) -> list[Document]:
        """Everything in force that says something about one of these names: the FIRST ones, MOST."""
        where: dict[str, Any] = {"namespace": namespace, "about": {"$in": sorted(whom)}, **IN_FORCE}
        if kinds:
            where["kind"] = {"$in": list(kinds)}
        return await self.kept.find(where, sort=FIRST, limit=MOST, by="about")

    async def page(
        self, kind: str, namespace: str, *, limit: int, after: str | None
    ) -> list[Document]:
        """Entries of a kind by name; `after` is the last name of the page before."""
        where: dict[str, Any] = {"namespace": namespace, "kind": kind}
        if after is not None:
            where["key"] = {"$gt": after}
        return await self.kept.find(where, sort=[("key", 1)], limit=limit)


def is_cut(found: Sequence[Document]) -> bool:
    """Whether there may be more than these, which one question found."""
    return len(found) >= MOST


def entry_id(kind: str, namespace: str, key: str) -> str:
    """The `_id` of an entry: one of a name, so that two writers at once meet."""
    return derived_id(f"dir_{kind}", namespace, key)


def checked(text: str, what: str, pointer: str = "") -> str:
    """The id of a person or the name of a group. Raises Invalid."""
    if not names(text) or ":" in text or text != text.strip():
        detail = f"{what} {RULE}, no colon, and no space at its ends"
        raise Invalid(detail, [FieldError(pointer, detail)])
    return text


def checked_person(text: str, pointer: str = "/id") -> str:
    """The id of a person. Raises Invalid."""
    if text in OWN_USERS:
        detail = f"{text} is one of Placet's own services and no person"
        raise Invalid(detail, [FieldError(pointer, detail)])
    return checked(text, "a person's id", pointer)


def checked_identity(text: str, pointer: str = "/identity") -> str:
    """Somebody on a channel, such as `slack:U1`. Raises Invalid."""
    channel, colon, rest = text.partition(":")
    if channel not in CHANNELS or not colon or not names(text) or not rest.strip():
        kinds = ", ".join(f"{each}:ID" for each in CHANNELS)
        detail = f"an identity on a channel is one of {kinds}"
        raise Invalid(detail, [FieldError(pointer, detail)])
    return text


def about_person(id: str, claimed: Several[str]) -> list[str]:
    """What the record of a person says something about: them, and each group that they claimed."""
    return [id, *(f"{GROUP}{name}" for name in sorted(claimed))]
