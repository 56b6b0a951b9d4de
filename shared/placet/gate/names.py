"""Names of tools: one spelling each, so that no rule misses the tool that it means."""

import re
import unicodedata
from collections.abc import Iterable, Mapping

SHELL = "bash"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,199}\Z")
"""A tool's name. Nothing in it is invisible or passes for something else, and no rule's sign begins it."""
_ALIASES: Mapping[str, str] = {"shell": SHELL}


def same_tool(name: str) -> str:
    """The name that rules go by: `bash` and `shell` are one tool."""
    return _ALIASES.get(name, name)


def exposed(source: str | None, raw: str) -> str:
    """What a discovered tool is called everywhere: `SOURCE__RAW`."""
    return f"{source}__{raw}" if source else raw


def look_alikes(names: Iterable[str]) -> tuple[str, str] | None:
    """Two names that a person or a model would take for one another, if there are any."""
    seen: dict[str, str] = {}
    for name in names:
        folded = _folded(same_tool(name))
        if seen.setdefault(folded, name) != name:
            return seen[folded], name
    return None


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in plain if char.isalnum())
