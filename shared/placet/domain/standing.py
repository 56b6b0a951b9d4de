"""Who somebody is in a namespace: seen through channels, groups, and those they stand in for."""

from collections.abc import Iterator
from dataclasses import dataclass

SERVICE = "service:"
GROUP = "group:"


@dataclass(frozen=True, slots=True)
class Standing:
    """Somebody who answers, as the directory of people knew them a moment ago."""

    id: str
    """A person's id, `service:NAME`, or a channel identity such as `slack:U1` that nobody linked."""
    names: frozenset[str]
    """Whatever an audience may call them: the id, linked channel identities, `group:NAME` of each group."""
    principals: tuple["Standing", ...] = ()
    """Whose delegate they are now, directly or through others; nobody twice."""

    @property
    def is_person(self) -> bool:
        """Whether this is one person, known by an id; a service or an unlinked channel identity is not."""
        return ":" not in self.id

    def seats(self) -> Iterator["Standing"]:
        """Themselves, then everybody in whose place they may answer."""
        yield self
        yield from self.principals


def alone(id: str) -> Standing:
    """Somebody of whom nothing but the id is known."""
    return Standing(id, frozenset({id}))
