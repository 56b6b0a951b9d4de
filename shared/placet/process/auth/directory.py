"""The directory: who somebody is, whom names come to, and what operators keep of people."""

from collections.abc import Collection, Iterable, Sequence

from placet.domain.standing import GROUP, SERVICE, Standing, alone
from placet.domain.visible import storable_text
from placet.errors import NotAllowed
from placet.process.auth.circle import Circle, people_in
from placet.process.auth.delegations import Delegations
from placet.process.auth.entries import GROUPS, IDENTITY, PERSON, Entries, entry_id, is_cut
from placet.process.auth.groups import Groups
from placet.process.auth.people import People
from placet.store.port import Database, Document

MOST_SEATS = 100
"""People in whose place one may answer; those beyond give nothing."""


def is_one_query(id: str) -> bool:
    """Whether what is said about this name is found by that name: it is no group, service or identity."""
    return ":" not in id and storable_text(id) == id


class Directory:
    """People, groups and delegations of each namespace.

    `claims_count` says whether tokens of an issuer tell groups (OIDC is configured).
    """

    def __init__(self, database: Database, *, claims_count: bool = False) -> None:
        self.entries = Entries(database)
        self._claims_count = claims_count
        self.people = People(self.entries)
        self.groups = Groups(self.entries)
        self.delegations = Delegations(self.entries, self.standing)

    async def standing(
        self,
        namespace: str,
        id: str,
        claimed_groups: Collection[str] = (),
        *,
        entries: Sequence[Document] | None = None,
    ) -> Standing:
        """Who this is now: a person's id, `service:NAME`, or an identity on a channel.

        A linked identity is its person. `claimed_groups` are those that the credential tells
        besides those that are kept. One query for a person who stands in for nobody, none if `entries`
        is what was just read about them; one more for an identity on a channel and for each length
        of the chain of delegations; none for a service.

        Raises:
            NotAllowed: the person is disabled, or it is a group: a group is nobody.
        """
        if id.startswith(GROUP):
            raise NotAllowed(f"{id} is a group, and nobody answers as one; name a person")
        if id.startswith(SERVICE) or storable_text(id) != id:
            return alone(id)
        if ":" in id:
            linked = await self.entries.get(IDENTITY, namespace, id)
            if linked is None:
                return alone(id)
            id = linked["person"]
        circle = Circle(self._claims_count)
        seats = await self._seats(circle, namespace, id, entries)
        return circle.standing(id, seats, (GROUP + name for name in claimed_groups))

    async def members(self, namespace: str, names: Iterable[str]) -> frozenset[str] | None:
        """The distinct people, disabled ones left out, that these names of an audience come to.

        Services and identities that nobody linked are no people. None if it can't be known: a
        group that is not kept here may be one that tokens tell, and more may be said of these
        names than one question looks at. One query or two.
        """
        storable = (name for name in names if storable_text(name) == name)
        wanted = {name for name in storable if not name.startswith(SERVICE)}
        if not wanted:
            return frozenset()
        kinds = (PERSON, IDENTITY, GROUPS)
        entries = await self.entries.about(namespace, wanted, kinds)
        if is_cut(entries):
            return None
        found = people_in(wanted, entries, claims_count=self._claims_count)
        if not found:
            return None if found is None else frozenset()
        ids = {entry_id(PERSON, namespace, person): person for person in found}
        records = await self.entries.kept.get_many(ids)
        disabled = {ids[each] for each, record in records.items() if record["disabled_at"]}
        return frozenset(found - disabled)

    async def _seats(
        self, circle: Circle, namespace: str, id: str, entries: Sequence[Document] | None
    ) -> list[str]:
        """Learn of this person and of all in whose place they may answer, who are listed."""
        seats: list[str] = []
        level = [id]
        while level:
            if entries is None:
                entries = await self.entries.about(namespace, level)
            circle.learn(level, entries)
            entries = None
            if id in circle.disabled:
                raise NotAllowed(f"{id!r} is disabled here; ask an operator")
            enabled = [person for person in level if person not in circle.disabled]
            seats += [person for person in enabled if person != id]
            room = MOST_SEATS - len(seats)
            level = circle.next_seats(enabled, circle.names)[: max(room, 0)]
        return seats
