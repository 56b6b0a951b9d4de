"""The safe list in effect for one agent: shipped, configured, per agent, and from its definition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from placet.gate.shell.defaults import DEFAULTS
from placet.gate.shell.entries import Caution, Entry, Kind, Source, parse_entry
from placet.gate.shell.parts import Command


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place adds."""

    source: Source
    shell: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    file: str = ""


SHIPPED = Layer(Source.DEFAULT, DEFAULTS)
"""The read-only programs; leave it out to have none of them."""


class Effective(NamedTuple):
    """One row of what is in effect."""

    key: str
    source: Source
    file: str


@dataclass(frozen=True, slots=True)
class SafeList:
    """What may run without asking. It only ever turns an ask into an allow."""

    shell: Mapping[str, Entry]
    """By program and subcommand."""
    tools: Mapping[str, Entry]
    """By tool."""
    inert: tuple[Entry, ...] = ()
    """What the definition asked for and nobody allowed."""
    cautions: tuple[Caution, ...] = ()

    @classmethod
    def of(cls, layers: Iterable[Layer], *, allow_blueprint: bool = False) -> "SafeList":
        """The layers, in any order, as one list; where several have an entry, the narrowest names it.

        What a definition brings along is inert unless `allow_blueprint`. Bad entries are left out
        with a caution.
        """
        order = list(Source)
        parsed = [
            each
            for layer in sorted(layers, key=lambda layer: order.index(layer.source))
            for each in _parsed(layer)
        ]
        entries = [entry for entry, _ in parsed if entry]
        held = [e for e in entries if allow_blueprint or e.source is not Source.BLUEPRINT]
        return cls(
            shell={entry.name: entry for entry in held if entry.kind is Kind.SHELL},
            tools={entry.name: entry for entry in held if entry.kind is Kind.TOOL},
            inert=tuple(entry for entry in entries if entry not in held),
            cautions=tuple(caution for _, caution in parsed if caution),
        )

    def covering(self, command: Command, *, moved: bool = False) -> Entry | None:
        """The narrowest entry that covers the command; `moved` says that a `cd` stands before it."""
        name, found = command.program, self.shell.get(command.program)
        if found and moved and found.relative:
            found = None
        for word in command.arguments[:2]:
            if not word.plain:
                break
            name = f"{name} {word.raw}"
            entry = self.shell.get(name)
            if entry and not (moved and entry.relative):
                found = entry
        return found

    def effective(self) -> tuple[Effective, ...]:
        """Every entry that holds, by key."""
        entries = [*self.shell.values(), *self.tools.values()]
        return tuple(sorted(Effective(e.key, e.source, e.file) for e in entries))


def _parsed(layer: Layer) -> Iterable[tuple[Entry | None, Caution | None]]:
    for kind, texts in ((Kind.SHELL, layer.shell), (Kind.TOOL, layer.tools)):
        for text in texts:
            entry, caution = parse_entry(text, kind, layer.source, layer.file)
            yield entry, None if layer.source is Source.DEFAULT else caution
