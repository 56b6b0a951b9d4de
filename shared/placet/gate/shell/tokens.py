"""The pieces of bash's grammar that the reader understands, as patterns.

Each pattern takes one piece at one place and never gives back what it took (`++`, `*+`), so that
reading is linear whatever the text. What matches none of them is not understood.
"""

import re

from placet.gate.shell.parts import Word

_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_BARE = r"A-Za-z0-9_./:@%+,=^!\]\x80-\U0010ffff-"
_END = r"(?=[ \t\n;|&<>]|\Z)"

TOKEN = re.compile(
    rf"""
    (?: [ \t] (?: [ \t] | \\\n )*+ )?+           # a line may be continued where a word has ended
    (?: (?P<comment> \# [^\n]*+ )                 # tried where a word may begin, and nowhere else
    | (?P<operator> && | \|\| | \|(?!&) | ;(?![;&]) | \n )
    | (?P<redirect>
          (?: [0-9]? (?: >>? | >\| | < ) | &>>? | >& ) [ \t]*+ /dev/null {_END}
        | [0-9]? [<>]& [ \t]*+ [0-9-] {_END} )
    | (?P<word> (?! [0-9]++ [<>] ) [{_BARE}] [{_BARE}\#]*+ {_END} )
    | (?P<other> ) )                              # a word that needs a closer look, or the end
    """,
    re.VERBOSE,
)
"""The next thing on the line, whatever it is. Most words are `word`: nothing quoted or expanded."""

_DOUBLE = rf"""
    (?: [^"\\$`]++
      | \\ [^\n]
      | \$ (?: {_NAME} | \{{ {_NAME} \}} | [?0-9] | (?= [] \t\n"'./,:;|)<>&%+=^}}~] ) )
    )*+
"""

_PIECE = re.compile(
    rf"""
      (?P<bare> [{_BARE}\#]++ )
    | ' (?P<single> [^']*+ ) '
    | " (?P<double> {_DOUBLE} ) "
    | \\ (?P<escaped> [^\n] )
    | (?P<expands> \$ (?: {_NAME} | \{{ {_NAME} \}} | [?0-9] ) | [*?\[~]++ )
    | (?P<dollar> \$ (?= [ \t\n;|] | \Z ) )
    | (?P<brace> [{{}}]++ )
    """,
    re.VERBOSE,
)

OPEN_QUOTE = re.compile(rf"'[^']*+|\" {_DOUBLE}", re.VERBOSE)
"""A quote as far as it is understood, without its end."""

_WORD_ENDS = re.compile(_END)
_ESCAPE = re.compile(r"\\([\\$`\"])")
_EXPANSION = re.compile(r"\$[A-Za-z0-9_{?]")
_BRACES = re.compile(r"[^{'\"\\$]*+(?:\{(?:(?!\.\.)[^{'\"\\$])*+){0,4}+\Z")
"""A word with braces that is understood: up to four, nothing quoted in it, no range.

Braces expand before all else, and what they leave is expanded again: of `{$,x}[1]` arithmetic is
left, and of `{Z..a}` a backtick.
"""


def word_at(line: str, start: int) -> tuple[Word | None, int]:
    """The word that begins at `start` and where it ends; or `None` and where it stops making sense."""
    at, texts, literal, braces = start, [], True, False
    while piece := _PIECE.match(line, at):
        kind = str(piece.lastgroup)
        text = piece[kind]
        if kind == "double":
            literal = literal and not _EXPANSION.search(_ESCAPE.sub("", text))
            text = _ESCAPE.sub(r"\1", text)
        elif kind == "brace":
            literal, braces = False, True
        elif kind == "expands":
            literal = False
        texts.append(text)
        at = piece.end()
    raw = line[start:at]
    if at == start or not _WORD_ENDS.match(line, at):
        return None, at
    if (braces and not _BRACES.match(raw)) or _names_descriptor(raw, line[at : at + 1]):
        return None, start
    return Word(raw, "".join(texts) if literal else None), at


def _names_descriptor(raw: str, following: str) -> bool:
    """Whether a redirect takes the word for a descriptor: `12>x`, and `{name}>x` sets a variable."""
    return following in ("<", ">") and (raw.isdigit() or raw.endswith("}"))
