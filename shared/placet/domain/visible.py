"""Text made safe to look at: control, bidirectional and invisible characters are shown, not obeyed."""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, *, keep_newlines: bool = False) -> str:
    r"""The text with every character that a person could not see written as `\u{HEX}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if (keep_newlines and char == "\n") or not hidden(char) else f"\\u{{{ord(char):x}}}"
        for char in text
    )


def hidden(char: str) -> bool:
    """Whether a character is a control, a format, a separator of lines or an odd space."""
    category = unicodedata.category(char)
    return category in _HIDDEN or (category == "Zs" and char != " ") or _variation(char)


def _variation(char: str) -> bool:
    return (
        0xFE00 <= ord(char) <= 0xFE0F
        or 0xE0100 <= ord(char) <= 0xE01EF
        or char in "\u115f\u1160\u3164\uffa0"
    )


def storable_text(text: str) -> str:
    """The text without halves of characters, which no store can keep."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
