"""What an approval of a line can be said to cover beyond that one time."""

import re
from collections.abc import Iterator

from placet.gate.shell.multitools import words_needed
from placet.gate.shell.parts import Command, Line, Opaque
from placet.gate.shell.programs import relative, runs_anything
from placet.gate.shell.reader import read

CHANGES_FOLDER = "cd"

_SUBCOMMAND = re.compile(r"[A-Za-z][A-Za-z0-9_.:@/+-]*+\Z")
_UNNAMED = frozenset({"printf", "test", "exit", "help"})
"""Builtins that evaluate their arguments, or that there is no sense in granting."""


def grants(line: str) -> tuple[str, ...] | None:
    """The keys that cover every command of the line, each once, in order; `None` if one has none.

    A key is a program, or a program with the words that say what it does (`git push`,
    `npm run build`), and covers it with any other arguments. What runs whatever it is told
    (interpreters, shells, wrappers) has no key.
    """
    found = read(line)
    return None if isinstance(found, Opaque) else grants_of(found)


def grants_of(line: Line) -> tuple[str, ...] | None:
    """The keys of a line that has been read."""
    keys: dict[str, None] = {}
    for command, moved in with_folder(line):
        key = key_of(command, moved=moved)
        if key is None:
            return None
        keys[key] = None
    return tuple(keys)


def key_of(command: Command, *, moved: bool = False) -> str | None:
    """The key of one command; a relative path has none where a `cd` stands before it (`moved`)."""
    following = []
    for word in command.arguments[:2]:
        if not word.plain or not _SUBCOMMAND.match(word.raw):
            break
        following.append(word.raw)
    program = command.program
    needed = words_needed(program, following)
    words = [program, *following[: needed - 1]]
    if len(words) < needed or program in _UNNAMED:
        return None
    if runs_anything(program, *following):
        return None
    return None if moved and relative(words) else " ".join(words)


def with_folder(line: Line) -> Iterator[tuple[Command, bool]]:
    """Each command, and whether a `cd` stands before it on the line."""
    moved = False
    for command in line.commands:
        yield command, moved
        moved = moved or command.program == CHANGES_FOLDER
