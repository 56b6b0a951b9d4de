"""Why a line is opaque: a stable code and a sentence for each thing that the reader refuses."""

import re

from placet.domain.visible import hidden, visible
from placet.gate.shell.builtins import RESERVED, SHELL_STATE
from placet.gate.shell.parts import Opaque, Word
from placet.gate.shell.tokens import OPEN_QUOTE

LONGEST = 10_000
"""Characters of a line; what is longer asks."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PROGRAM = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*+\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+(?:\[.*\])?\+?=", re.DOTALL)

_SENTENCES = {
    "arithmetic": "an arithmetic expansion",
    "assignment": "an assignment before the program",
    "background": "a background job",
    "both_streams": "a pipe that takes both streams (|&)",
    "braces": "braces together with quotes, expansions or a range",
    "command_substitution": "a command substitution",
    "continuation": "a line that is continued inside a word",
    "control": "the shell's own word {}",
    "descriptor": "a redirect that opens a descriptor of more than one digit, or a named one",
    "empty_command": "no command where one must stand",
    "expansion": "an expansion other than $NAME and ${{NAME}}",
    "group": "a group, a subshell or a function",
    "here_document": "a here-document",
    "hidden_character": "the hidden character U+{}",
    "no_program": "a redirect without a program",
    "pattern": "a pattern with parentheses",
    "process_substitution": "a process substitution",
    "program": "a program that is not named plainly ({})",
    "quote": "a quote that is never closed",
    "reads": "a redirect that reads from {}",
    "shell_state": "the builtin {}, which runs text in this shell or changes it",
    "special_quote": "a quote after a dollar sign",
    "too_long": "more than {} characters",
    "too_many": "more than {} commands",
    "unread": "something that is not understood ({})",
    "writes": "a redirect that writes to {}",
}

_OBSTACLES = tuple(
    (code, re.compile(pattern, re.DOTALL))
    for code, pattern in (
        ("descriptor", r"[0-9]{2,}+[<>]|\{[A-Za-z0-9_]++\}[<>]"),
        ("continuation", r"\\(?:\n|\Z)"),
        ("command_substitution", r"`|\$\((?!\()|\$\{[ \t\n|]"),
        ("arithmetic", r"\$\(\(|\$\["),
        ("special_quote", r"\$['\"]"),
        ("expansion", r"\$"),
        ("process_substitution", r"[<>]\("),
        ("pattern", r"(?<=[?*+@!])\("),
        ("group", r"[()]"),
        ("here_document", r"[0-9]*+<<"),
        ("writes", r"(?:[0-9]*+(?:>[>|&]?|<>)|&>>?)[ \t]*+(?P<what>[^ \t\n;|&<>()]*)"),
        ("reads", r"[0-9]*+<&?[ \t]*+(?P<what>[^ \t\n;|&<>()]*)"),
        ("both_streams", r"\|&"),
        ("background", r"&"),
        ("empty_command", r";"),
    )
)
"""Tried in this order where the reader stopped. Only the sentence depends on it, no decision does."""

_BRACES = re.compile(r"(?!\{[A-Za-z0-9_]++\}[<>])(?:(?!\$\{)[^ \t\n;|&<>()`{}])*+[{}]")


def refused(code: str, what: str, at: int) -> Opaque:
    """What is said of an obstacle of this kind at this place."""
    shown = visible(what if len(what) <= 60 else f"{what[:60]}...") or "nothing"
    return Opaque(code, f"{_SENTENCES[code].format(shown)} at character {at + 1}", at)


def limits(line: str) -> Opaque | None:
    """What can be said of a line before it is read: its length, and what cannot be seen in it."""
    if len(line) > LONGEST:
        return refused("too_long", str(LONGEST), LONGEST)
    found = _CONTROLS.search(line)
    at = found.start() if found else -1
    if at < 0 and not line.isascii():
        at = next((n for n, char in enumerate(line) if hidden(char) and char not in "\t\n"), -1)
    return refused("hidden_character", f"{ord(line[at]):04X}", at) if at >= 0 else None


def before_program(word: Word, at: int) -> Opaque | None:
    """Why the first word of a command is no program that can be spoken of, or `None`."""
    if word.raw in RESERVED:
        return refused("control", word.raw, at)
    if word.raw in SHELL_STATE:
        return refused("shell_state", word.raw, at)
    if _PROGRAM.match(word.raw):
        return None
    return refused("assignment" if _ASSIGNMENT.match(word.raw) else "program", word.raw, at)


def obstacle(line: str, start: int, at: int) -> Opaque:
    """What keeps the word or operator that begins at `start` from being read beyond `at`."""
    if quoted := OPEN_QUOTE.match(line, at):
        at = quoted.end()
        if at == len(line):
            return refused("quote", "", quoted.start())
    elif at == start and _BRACES.match(line, at):
        return refused("braces", "", at)
    for code, pattern in _OBSTACLES:
        if found := pattern.match(line, at):
            return refused(code, found.groupdict().get("what") or "", at)
    return refused("unread", line[at : at + 1], at)
