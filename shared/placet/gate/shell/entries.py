"""What a person wrote into a safe list: entries that hold, and cautions about the rest."""

from dataclasses import dataclass
from enum import StrEnum

from placet.domain.visible import visible
from placet.gate.shell.checks import bad_command, bad_tool, risk
from placet.gate.shell.programs import relative


class Kind(StrEnum):
    """What an entry speaks of."""

    SHELL = "shell"
    """A program on a shell line, perhaps narrowed by its subcommand."""
    TOOL = "tool"
    """Another tool, by its name."""


class Source(StrEnum):
    """Which layer an entry is from, the widest first."""

    DEFAULT = "default"
    CONFIG = "config"
    AGENT = "agent"
    BLUEPRINT = "blueprint"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry that holds."""

    name: str
    """A program and the words that narrow it, with one blank between them; or a tool's name."""
    kind: Kind
    source: Source
    file: str
    """What put it there; empty for what is shipped."""
    relative: bool = False
    """Whether it means a file by a relative path, and so holds in the agent's own folder only."""

    @property
    def key(self) -> str:
        """Its name in lists that hold both kinds: `shell:git status`, `read_file`."""
        return f"shell:{self.name}" if self.kind is Kind.SHELL else self.name


@dataclass(frozen=True, slots=True)
class Caution:
    """Something a person should know of what they wrote into a safe list."""

    code: str
    sentence: str
    text: str
    """The entry as it was written."""
    skipped: bool
    """Whether the entry holds nevertheless (`False`) or was left out (`True`)."""
    source: Source
    file: str


def parse_entry(
    text: str, kind: Kind, source: Source = Source.CONFIG, file: str = ""
) -> tuple[Entry | None, Caution | None]:
    """The entry, if it is one, and what is to be said of it, if anything is. Never raises."""
    found = bad_tool(text) if kind is Kind.TOOL else bad_command(text)
    if found:
        code, why = found
        said = f"{_quoted(text)} is skipped: {why}"
        return None, Caution(code, said, text, True, source, file)
    name = " ".join(text.split())
    if kind is Kind.TOOL:
        return Entry(name, kind, source, file), None
    caution = None
    if found := risk(name.split()):
        caution = Caution(found[0], f"{_quoted(name)}: {found[1]}", text, False, source, file)
    return Entry(name, kind, source, file, relative(name.split())), caution


def _quoted(text: str) -> str:
    return f"`{visible(text if len(text) <= 80 else f'{text[:80]}...')}`"
