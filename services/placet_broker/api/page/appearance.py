"""How foreign text is shown: all of it, with what would hide or mislead made visible."""

import hashlib
import re
import unicodedata
from typing import Any
from urllib.parse import urlsplit

import orjson
from markupsafe import Markup, escape

FOLD_AT = 1200
SHOWN_OF_FOLDED = 300
LINES_OF_FOLDED = 8
ONE_LINE = 110
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x180B, 0x180E))
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_RUNS = re.compile(r"\n{4,}| {13,}")
_HIDING = frozenset(map(chr, _SELECTORS)) | _BLANKS


def visible(text: str) -> Markup:
    """The text as HTML: nothing in it is markup, and no character of it is invisible.

    Control, bidirectional, zero-width and odd space characters show as their code point; long runs
    of line breaks or spaces, which would push the rest out of sight, show as their count.
    """
    parts: list[Markup] = []
    start = 0
    for run in _RUNS.finditer(text):
        parts += [_characters(text[start : run.start()]), _mark(_run_name(run.group()))]
        start = run.end()
    parts.append(_characters(text[start:]))
    return Markup().join(parts)


def value(content: Any) -> Markup:
    """A JSON value in full: short ones open, long ones folded with their size and digest."""
    text = content if isinstance(content, str) else _json(content)
    if len(text) <= FOLD_AT:
        return Markup('<pre class="value">{}</pre>').format(visible(text))
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return Markup(
        '<details class="fold"><summary><pre class="value">{}</pre>'
        '<span class="more">{} characters, {} lines, sha256 {} &mdash; show all</span></summary>'
        '<pre class="value">{}</pre></details>'
    ).format(
        visible(_beginning(text)) + Markup("&hellip;"),
        f"{len(text):,}",
        f"{text.count(chr(10)) + 1:,}",
        digest[:16],
        visible(text),
    )


def _beginning(text: str) -> str:
    lines = text[:SHOWN_OF_FOLDED].split("\n")
    return "\n".join(lines[:LINES_OF_FOLDED])


def kind_of(content: Any) -> str:
    """A word for a JSON value's type, so that "true" and true can be told apart."""
    match content:
        case bool():
            return "true/false"
        case None:
            return "null"
        case int() | float():
            return "number"
        case str():
            return "text" if content else "empty text"
        case list():
            return f"list of {len(content)}"
        case _:
            return "object"


def one_line(text: str) -> Markup:
    """The beginning of a text on one line."""
    flat = text.replace("\n", " ⏎ ")
    shortened = flat if len(flat) <= ONE_LINE else flat[: ONE_LINE - 1] + "…"
    return visible(shortened)


def host_note(url: str) -> str:
    """The host of a link, with a warning where its name may be a look-alike."""
    host = urlsplit(url).hostname or ""
    odd = "xn--" in host or not host.isascii()
    return f"{host} (this name uses unusual letters: check it)" if odd else host


def _json(content: Any) -> str:
    return orjson.dumps(content, option=orjson.OPT_INDENT_2, default=str).decode()


def _characters(text: str) -> Markup:
    if text.isascii() and text.isprintable():
        return escape(text)
    return Markup().join(_mark(_name(c)) if _is_hidden(c) else escape(c) for c in text)


def _is_hidden(character: str) -> bool:
    if character in " \n":
        return False
    if character in _HIDING:
        return True
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


def _name(character: str) -> str:
    short = {"\t": "TAB", "\r": "CR", "\x00": "NUL", "\x1b": "ESC", "\xa0": "NBSP"}
    return short.get(character, f"U+{ord(character):04X}")


def _run_name(run: str) -> str:
    return f"{len(run)} {'line breaks' if run[0] == chr(10) else 'spaces'}"


def _mark(name: str) -> Markup:
    return Markup('<span class="odd">{}</span>').format(name)
