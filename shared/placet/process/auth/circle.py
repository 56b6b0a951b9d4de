"""What entries of the directory say of people, put together. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from placet.domain.standing import GROUP, Standing
from placet.process.auth import entries as kinds
from placet.store.port import Document


@dataclass(slots=True)
class Circle:
    """Some people, by id: what they are called, whom they stand in for, who is disabled."""

    claims_count: bool
    """Whether groups that tokens told count."""
    names: dict[str, set[str]] = field(default_factory=dict)
    principals: dict[str, list[str]] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)

    def learn(self, people: Iterable[str], entries: Iterable[Document]) -> None:
        """Take in what the entries say of these people."""
        for person in people:
            self.names.setdefault(person, {person})
        for entry in entries:
            match entry["kind"]:
                case kinds.PERSON:
                    self._person(entry)
                case kinds.IDENTITY:
                    self._call(entry["person"], entry["key"])
                case kinds.GROUPS:
                    for member in entry["members"]:
                        self._call(member, GROUP + entry["key"])
                case kinds.DELEGATION:
                    self.principals.setdefault(entry["to"], []).append(entry["from"])
                case _:
                    pass

    def standing(self, id: str, seats: Iterable[str], more: Iterable[str] = ()) -> Standing:
        """The person with these names besides, and those in whose place they may answer."""
        own = frozenset(self.names[id]) | frozenset(more)
        return Standing(id, own, tuple(Standing(s, frozenset(self.names[s])) for s in seats))

    def next_seats(self, of: Iterable[str], taken: Iterable[str]) -> list[str]:
        """Whom these people stand in for directly, without those who are taken; sorted."""
        found = {each for person in of for each in self.principals.get(person, ())}
        return sorted(found - set(taken))

    def _person(self, entry: Document) -> None:
        if entry["disabled_at"] is not None:
            self.disabled.add(entry["key"])
        if self.claims_count:
            for name in entry["claimed_groups"]:
                self._call(entry["key"], GROUP + name)

    def _call(self, person: str, name: str) -> None:
        if person in self.names:
            self.names[person].add(name)


def people_in(
    names: Iterable[str], entries: Iterable[Document], *, claims_count: bool
) -> set[str] | None:
    """The people that these names come to; None if one is a group that only tokens could tell."""
    wanted = set(names)
    found = {name for name in wanted if ":" not in name}
    kept: set[str] = set()
    for entry in entries:
        match entry["kind"]:
            case kinds.GROUPS if GROUP + entry["key"] in wanted:
                kept.add(GROUP + entry["key"])
                found |= set(entry["members"])
            case kinds.IDENTITY if entry["key"] in wanted:
                found.add(entry["person"])
            case kinds.PERSON if claims_count and _claims(entry, wanted):
                found.add(entry["key"])
            case _:
                pass
    told = {name for name in wanted if name.startswith(GROUP)} - kept
    return None if told and claims_count else found


def _claims(entry: Mapping[str, list[str]], wanted: set[str]) -> bool:
    return any(GROUP + name in wanted for name in entry["claimed_groups"])
