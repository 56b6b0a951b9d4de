"""A directory of people that is written down, for tests without a database."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from placet.domain.standing import Standing


@dataclass
class Written:
    """People by what is said of them: their groups, linked identities, and whom they stand in for."""

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    linked: Mapping[str, str] = field(default_factory=dict)
    """Channel identity to person."""
    delegates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Person to those whom they stand in for."""
    asked: list[str] = field(default_factory=list)

    async def standing(
        self, namespace: str, id: str, claimed_groups: Collection[str] = ()
    ) -> Standing:
        self.asked.append(id)
        who = self.linked.get(id, id)
        principals = tuple(self._alone(name) for name in self.delegates.get(who, ()))
        own = self._alone(who)
        claimed = {f"group:{group}" for group in claimed_groups}
        return Standing(own.id, own.names | claimed, principals)

    async def members(self, namespace: str, names: Iterable[str]) -> frozenset[str] | None:
        found = set()
        for name in names:
            if name.startswith("group:"):
                found |= {p for p, groups in self.groups.items() if name[6:] in groups}
            elif ":" not in name or name in self.linked:
                found.add(self.linked.get(name, name))
        return frozenset(found)

    def _alone(self, id: str) -> Standing:
        identities = {channel for channel, person in self.linked.items() if person == id}
        groups = {f"group:{group}" for group in self.groups.get(id, ())}
        return Standing(id, frozenset({id} | identities | groups))
