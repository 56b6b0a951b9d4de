"""Groups of people that operators keep here; those that only tokens tell are not among them."""

from collections.abc import Sequence
from typing import Any

from placet.domain.standing import GROUP
from placet.errors import Invalid, NotFound
from placet.process.auth.entries import GROUPS, Entries, checked, checked_person
from placet.store.port import Document

MOST_MEMBERS = 1000


class Groups:
    """The groups of each namespace. An audience names one as `group:NAME`."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    async def get(self, namespace: str, name: str) -> Document:
        """One group. Raises NotFound."""
        return _shown(await self._entries.get(GROUPS, namespace, name), name)

    async def page(
        self, namespace: str, *, limit: int = 100, after: str | None = None
    ) -> list[Document]:
        """Groups by name; `after` is the last name of the page before."""
        found = await self._entries.page(GROUPS, namespace, limit=limit, after=after)
        return [_shown(each, each["key"]) for each in found]

    async def put(self, namespace: str, name: str, members: Sequence[str]) -> Document:
        """Make a group, or replace its members. Raises Invalid."""
        checked(name, "a group's name", "/name")
        for n, member in enumerate(members):
            checked_person(member, f"/members/{n}")
        _check_size(len(set(members)))
        told = _members(name, members)
        if not await self._entries.add(GROUPS, namespace, name, **told):
            await self._entries.change(GROUPS, namespace, name, {"$set": told})
        return await self.get(namespace, name)

    async def add(self, namespace: str, name: str, person: str) -> Document:
        """Put a person in; the same again changes nothing. Raises NotFound, Invalid."""
        checked_person(person, "/person")
        before = await self.get(namespace, name)
        _check_size(len({*before["members"], person}))
        change = {"$addToSet": {"members": person, "about": person}}
        return _shown(await self._entries.change(GROUPS, namespace, name, change), name)

    async def remove(self, namespace: str, name: str, person: str) -> Document:
        """Take a person out; one who was not in is fine. Raises NotFound."""
        change = {"$pull": {"members": person, "about": person}}
        if person == f"{GROUP}{name}":
            return await self.get(namespace, name)
        return _shown(await self._entries.change(GROUPS, namespace, name, change), name)

    async def delete(self, namespace: str, name: str) -> Document:
        """Let there be no such group; it is returned as it was. Raises NotFound."""
        found = await self.get(namespace, name)
        await self._entries.drop(GROUPS, namespace, name)
        return found


def _members(name: str, members: Sequence[str]) -> dict[str, Any]:
    each = sorted(set(members))
    return {"members": each, "about": [f"{GROUP}{name}", *each]}


def _check_size(size: int) -> None:
    if size > MOST_MEMBERS:
        raise Invalid(f"a group has at most {MOST_MEMBERS} members")


def _shown(found: Document | None, name: str) -> Document:
    if found is None:
        raise _missing(name)
    kept = ("namespace", "created_at")
    shown = {"name": found["key"], **{each: found[each] for each in kept}}
    return {**shown, "members": sorted(found["members"])}


def _missing(name: str) -> NotFound:
    return NotFound(
        f"there is no group {name!r} in the directory; only kept ones can be named here"
    )
