"""What a person is told about a call in one line: the real call, from its arguments, on every surface."""

import unicodedata

import orjson

from placet.domain.interaction import ToolCall
from placet.domain.visible import visible

TRUSTING = (
    "To trust it is a yes too, and lets this tool run from now on with any arguments: nobody is asked, "
    "and no classifier judges it."
)
"""What an answer that trusts means, wherever it can be given."""
LONGEST = 120
"""Characters of the telling argument."""
_TELLING = {
    "bash": "command",
    "shell": "command",
    "read_file": "path",
    "write_file": "path",
    "edit_file": "path",
    "list_dir": "path",
}
_USUAL = ("command", "cmd", "path", "file", "url", "name", "query", "to", "id")
_ALPHABETS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "HEBREW", "ARABIC", "CHEROKEE", "FULLWIDTH")


def question(call: ToolCall) -> str:
    """May it run? With the argument that tells most, if the tool is one of which that is known."""
    argument = _first_line(call.args.get(_TELLING.get(call.tool, ""), None))
    if argument is None:
        return f"Allow {call.tool} to run?"
    return f"Allow {call.tool} to run? {argument}"


def telling(call: ToolCall) -> str:
    """The argument that tells most, and how many more there are."""
    if not call.args:
        return "no arguments"
    wanted = (_TELLING.get(call.tool), *_USUAL)
    name = next((n for n in wanted if n and isinstance(call.args.get(n), str)), None)
    name = name if name is not None else next(iter(call.args))
    content = call.args[name]
    text = content if isinstance(content, str) else orjson.dumps(content, default=str).decode()
    rest = len(call.args) - 1
    return f"{name}: {_first_line(text) or repr(text)}" + (f"  (+{rest} more)" if rest else "")


def _first_line(text: object) -> str | None:
    """The first line that says something, shortened, and with what hides made visible."""
    if not isinstance(text, str) or not text.strip():
        return None
    lines = text.strip().splitlines()
    shown = visible(lines[0])
    cut = len(lines) > 1 or len(shown) > LONGEST
    return f"{shown[:LONGEST]}…" if cut else shown


def looks_odd(name: str) -> bool:
    """Whether a name mixes alphabets, as one does that is made to be taken for another."""
    letters = [char for char in name if char.isalpha()]
    found = {unicodedata.name(char, "?").split(" ")[0] for char in letters}
    return len(found & set(_ALPHABETS)) > 1 or any("FULLWIDTH" in each for each in found)


ODD = "this name mixes alphabets: check it"
