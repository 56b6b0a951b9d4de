"""People: who is known, under which identities on channels, and who is let in no more."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from placet.errors import Conflict, NotAllowed, NotFound
from placet.process.auth.entries import (
    IDENTITY,
    PERSON,
    Entries,
    about_person,
    checked_identity,
    checked_person,
)
from placet.store.port import Document

Revoke = Callable[[str, str], Awaitable[None]]
"""Makes every credential of a namespace's person worthless."""
_TRIES = 5


class Told(TypedDict, total=False):
    """What people are called and where they are reached; None for nothing."""

    name: str | None
    email: str | None


class People:
    """The people of each namespace. A person need not be here to have a key or a token."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._revoking: list[Revoke] = []

    def when_disabled(self, revoke: Revoke) -> None:
        """Call this whenever a person is disabled."""
        self._revoking.append(revoke)

    async def get(self, namespace: str, id: str) -> Document:
        """One person, with their identities. Raises NotFound."""
        found = await self._entries.get(PERSON, namespace, id)
        if found is None:
            raise NotFound(f"there is no person {id!r} in the directory")
        (whole,) = await self._whole(namespace, [found])
        return whole

    async def page(
        self, namespace: str, *, limit: int = 100, after: str | None = None
    ) -> list[Document]:
        """People by id; `after` is the last id of the page before."""
        found = await self._entries.page(PERSON, namespace, limit=limit, after=after)
        return await self._whole(namespace, found)

    async def put(
        self,
        namespace: str,
        id: str,
        *,
        identities: Sequence[str] | None = None,
        disabled: bool | None = None,
        **told: Unpack[Told],
    ) -> Document:
        """Make a person, or change one; the same again changes nothing.

        What is left out stays as it is, and so do `identities` and `disabled` where None is said. A
        crash in between leaves a part done: repeat it.

        Raises:
            Invalid: an id or an identity that can't be.
            Conflict: an identity belongs to somebody else (`identity_taken`).
        """
        checked_person(id)
        wanted = [
            checked_identity(each, f"/identities/{n}") for n, each in enumerate(identities or ())
        ]
        made = await self._entries.add(PERSON, namespace, id, **{**_fresh(id), **told})
        if not made and told:
            await self._entries.change(PERSON, namespace, id, {"$set": told})
        if disabled is not None:
            await (self.disable if disabled else self.enable)(namespace, id)
        if identities is not None:
            before = (await self.get(namespace, id))["identities"]
            for each in wanted:
                await self.link(namespace, id, each)
            for each in set(before) - set(wanted):
                await self.unlink(namespace, id, each)
        return await self.get(namespace, id)

    async def disable(self, namespace: str, id: str) -> Document:
        """Let a person in no more: keys, sessions and links end now, tokens are refused from now on.

        One who is not in the directory is put there, disabled. Safe to repeat, and to be repeated
        where it failed half-way: the person counts as disabled from the first write on.
        """
        checked_person(id)
        now = await self._entries.now()
        where, change = {"disabled_at": None}, {"$set": {"disabled_at": now}}
        if await self._entries.change(PERSON, namespace, id, change, where) is None:
            made = {**_fresh(id), "disabled_at": now}
            if not await self._entries.add(PERSON, namespace, id, **made):
                await self._entries.change(PERSON, namespace, id, change, where)
        for revoke in self._revoking:
            await revoke(namespace, id)
        return await self.get(namespace, id)

    async def enable(self, namespace: str, id: str) -> Document:
        """Let a person in again; they need new keys. Raises NotFound."""
        await self._entries.change(PERSON, namespace, id, {"$set": {"disabled_at": None}})
        return await self.get(namespace, id)

    async def link(self, namespace: str, id: str, identity: str) -> Document:
        """Say that this identity on a channel is that person. The same again changes nothing.

        Raises:
            NotFound: no such person.
            Conflict: it is somebody else (`identity_taken`). Of two at once, one gets it.
        """
        checked_identity(identity)
        person = await self.get(namespace, id)
        for _ in range(_TRIES):
            fields: dict[str, Any] = {"person": id, "about": [identity, id]}
            if await self._entries.add(IDENTITY, namespace, identity, **fields):
                break
            found = await self._entries.get(IDENTITY, namespace, identity)
            if found is not None and found["person"] == id:
                return person
            if found is not None:
                raise Conflict(
                    f"{identity} is {found['person']!r} already; unlink it there first",
                    code="identity_taken",
                )
        return await self.get(namespace, id)

    async def unlink(self, namespace: str, id: str, identity: str) -> Document:
        """Say so no more; one that was not linked is fine. Raises NotFound for no such person."""
        await self._entries.drop(IDENTITY, namespace, identity, {"person": id})
        return await self.get(namespace, id)

    async def check_enabled(self, namespace: str, id: str) -> Document | None:
        """The bare record of a person, None if there is none. Raises NotAllowed if disabled."""
        found = await self._entries.get(PERSON, namespace, id)
        if found is not None and found["disabled_at"] is not None:
            raise NotAllowed(f"{id!r} is disabled here; ask an operator")
        return found

    async def keep_claims(
        self, namespace: str, id: str, claimed: Collection[str], at: datetime
    ) -> None:
        """Remember the groups that a token of this person told, made at `at`; a newer one's stay."""
        kept = {"claimed_groups": sorted(claimed), "claimed_at": at}
        kept["about"] = about_person(id, claimed)
        older = {"$or": [{"claimed_at": None}, {"claimed_at": {"$lt": at}}]}
        if await self._entries.change(PERSON, namespace, id, {"$set": kept}, older) is None:
            await self._entries.add(PERSON, namespace, id, **{**_fresh(id), **kept})

    async def _whole(self, namespace: str, found: list[Document]) -> list[Document]:
        ids = [person["key"] for person in found]
        linked = await self._entries.about(namespace, ids, [IDENTITY]) if ids else []
        return [_shown(person, linked) for person in found]


def _fresh(id: str) -> Document:
    return {
        "about": about_person(id, ()),
        "name": None,
        "email": None,
        "claimed_groups": [],
        "claimed_at": None,
        "disabled_at": None,
    }


def _shown(person: Document, linked: Sequence[Document]) -> Document:
    kept = ("namespace", "name", "email", "claimed_groups", "disabled_at", "created_at")
    own = sorted(entry["key"] for entry in linked if entry["person"] == person["key"])
    return {"id": person["key"], **{name: person[name] for name in kept}, "identities": own}
