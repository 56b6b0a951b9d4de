"""What is wrong with an entry of a safe list, or worth a caution."""

import re

from placet.gate.shell.dangers import danger
from placet.gate.shell.multitools import words_needed
from placet.gate.shell.parts import Opaque
from placet.gate.shell.programs import SCRIPTED, runs_anything
from placet.gate.shell.reader import read

MOST_WORDS = 3
SHELL_TOOLS = ("bash", "shell")

_TOOL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,199}\Z")
_NARROWS = re.compile(r"(?:\.{0,2}/)?[A-Za-z_][A-Za-z0-9_.:@/+-]*+\Z")

Finding = tuple[str, str]
"""A stable code, and what is to be said."""


def bad_tool(text: str) -> Finding | None:
    """Why it cannot stand among tools, or `None`."""
    name = text.strip()
    if not name:
        return "empty", "it is empty"
    if name.startswith("shell:"):
        return "shell_key", "what a shell line may run belongs under `shell`"
    if name.startswith(">"):
        return "write", "a write is never approved beforehand"
    if name in SHELL_TOOLS:
        return "shell_tool", "a shell is covered line by line, under `shell`"
    return None if _TOOL.match(name) else ("no_name", "it is no tool's name")


def bad_command(text: str) -> Finding | None:
    """Why it cannot stand among shell entries, or `None`."""
    if not text.strip():
        return "empty", "it is empty"
    if text.lstrip().startswith(">"):
        return "write", "a write is never approved beforehand"
    line = read(text)
    if isinstance(line, Opaque):
        return line.code, f"it holds {line.sentence}"
    command, *others = line.commands
    plain = [command.program, *(word.text for word in command.arguments)] == text.split()
    if others or not plain or len(command.arguments) >= MOST_WORDS:
        return "not_plain", "an entry is one program and at most two plain words that narrow it"
    loose = next((word.raw for word in command.arguments if not _NARROWS.match(word.raw)), None)
    if loose is None:
        return None
    return "narrows_nothing", f"{loose} is no subcommand; {command.program} alone has any arguments"


def risk(words: list[str]) -> Finding | None:
    """What a person should know of an entry that holds, or `None`."""
    program, *narrowing = words
    kind = runs_anything(program, *narrowing)
    if kind and not (narrowing and kind in SCRIPTED):
        return "runs_anything", f"{program} is {kind}: it runs whatever it is told"
    if not kind and len(words) < words_needed(program, narrowing):
        does = " ".join(words)
        return "multi_tool", f"this allows everything that {does} does; name a subcommand"
    why = danger(program)
    return ("not_read_only", f"{program} {why}") if why else None
