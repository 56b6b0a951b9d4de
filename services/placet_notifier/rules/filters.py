"""Which events go where, and what they are called there."""

from collections.abc import Iterable
from dataclasses import dataclass

from placet.errors import FieldError, Invalid
from placet.messages import EventType

ON_AGENTS = {
    EventType.INPUT_REQUESTED.value: "input_required",
    EventType.INPUT_RESOLVED.value: "input_resolved",
}
"""The names on an agent's stream; the others keep theirs."""
_TYPES = frozenset(each.value for each in EventType)
_BY_AGENT_NAME = {name: type for type, name in ON_AGENTS.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored event: its number in the namespace, what it is filtered by, and itself as JSON."""

    number: int
    id: str
    type: str
    agent_id: str
    run_id: str
    root_run_id: str
    body: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one stream shows. An empty text or set stands for all."""

    agent_id: str = ""
    run_id: str = ""
    types: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset({"input", "run"})
    """The first words of the types that the reader may see."""

    def matches(self, entry: Entry) -> bool:
        """Whether the stream shows it; a run's stream also shows the runs below it."""
        return (
            (not self.agent_id or entry.agent_id == self.agent_id)
            and (not self.run_id or self.run_id in {entry.run_id, entry.root_run_id})
            and (not self.types or entry.type in self.types)
            and entry.type.partition(".")[0] in self.groups
        )


def types_of(words: Iterable[str], pointer: str = "/types") -> frozenset[str]:
    """The event types with these names, also those of an agent's stream. Raises Invalid."""
    given = [word.strip() for word in words if word.strip()]
    types = [_BY_AGENT_NAME.get(word, word) for word in given]
    if unknown := [type for type in types if type not in _TYPES]:
        detail = f"no event type {', '.join(unknown)}; there are {', '.join(sorted(_TYPES))}"
        raise Invalid(detail, [FieldError(pointer, detail)])
    return frozenset(types)
