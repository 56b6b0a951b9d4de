"""What a person wrote into a safe list: entries that hold, and cautions about the rest."""

import re
from dataclasses import dataclass
from enum import StrEnum

from placet.domain.naming import names
from placet.domain.visible import visible
from placet.gate.shell.dangers import danger
from placet.gate.shell.multitools import words_needed
from placet.gate.shell.parts import Opaque
from placet.gate.shell.programs import runs_anything
from placet.gate.shell.reader import read

MOST_WORDS = 3
SCRIPTED = ("a shell", "an interpreter")
"""What runs a file that is named by its first word."""


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
    found = _bad_tool(text) if kind is Kind.TOOL else _bad_command(text)
    if found:
        code, why = found
        said = f"{_quoted(text)} is skipped: {why}"
        return None, Caution(code, said, text, True, source, file)
    name = " ".join(text.split())
    if kind is Kind.TOOL:
        return Entry(name, kind, source, file), None
    caution = None
    if found := _risk(name.split()):
        caution = Caution(found[0], f"{_quoted(name)}: {found[1]}", text, False, source, file)
    return Entry(name, kind, source, file, relative(name.split())), caution


def relative(words: list[str]) -> bool:
    """Whether one of the words is a path that means another file after a `cd`."""
    paths = [word for word in words if "/" in word]
    if words[1:] and runs_anything(words[0]) in SCRIPTED:
        paths.append(words[1])
    return any(not path.startswith("/") for path in paths)


def _quoted(text: str) -> str:
    return f"`{visible(text if len(text) <= 80 else f'{text[:80]}...')}`"


_TOOL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*+\Z")
_NARROWS = re.compile(r"(?:\.{0,2}/)?[A-Za-z_][A-Za-z0-9_.:@/+-]*+\Z")


def _bad_tool(text: str) -> tuple[str, str] | None:
    name = text.strip()
    if not name:
        return "empty", "it is empty"
    if name.startswith("shell:"):
        return "shell_key", "what a shell line may run belongs under `shell`"
    if name.startswith(">"):
        return "write", "a write is never approved beforehand"
    if not names(name) or not _TOOL.match(name):
        return "no_name", "it is no tool's name"
    return None


def _bad_command(text: str) -> tuple[str, str] | None:
    if not text.strip(" \t\n"):
        return "empty", "it is empty"
    if text.lstrip().startswith(">"):
        return "write", "a write is never approved beforehand"
    line = read(text)
    if isinstance(line, Opaque):
        return line.code, f"it holds {line.sentence}"
    program, *words = text.split()
    if len(line.commands) > 1 or line.commands[0].redirected:
        return "not_one_command", "it is more than one program with its subcommand"
    if [word.text for word in line.commands[0].arguments] != words or len(words) >= MOST_WORDS:
        return "not_plain", "an entry is a program and at most two plain words that narrow it"
    loose = next((word for word in words if not _NARROWS.match(word)), None)
    if loose is not None:
        return "narrows_nothing", f"{loose} is no subcommand; write {program} for any arguments"
    return None


def _risk(words: list[str]) -> tuple[str, str] | None:
    program, *narrowing = words
    first = narrowing[0] if narrowing else None
    kind = runs_anything(program, first)
    if kind in SCRIPTED and narrowing:
        return None
    if kind:
        return "runs_anything", f"{program} is {kind}: it runs whatever it is told"
    if len(words) < words_needed(program, narrowing) <= MOST_WORDS:
        return "multi_tool", f"{program} does many things, and this allows all of them; name one"
    if why := danger(program):
        return "not_read_only", f"{program} {why}"
    return None
