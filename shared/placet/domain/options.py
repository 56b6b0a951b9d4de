"""Which option somebody means: the label as it is written, or one that reads the same."""

import unicodedata
from collections.abc import Sequence

_DASHES = frozenset("\u2212\u207b\u208b\u02d7\u2043\u2796")
"""Minus signs and bullets that pass for a dash, and that Unicode counts as something else."""


def match_option(options: Sequence[str], said: object) -> str | None:
    """The option that `said` means, as it stands in `options`; None where it means none of them.

    An option matches exactly first, then with dashes and spaces dropped and case folded, unless two
    read the same that way: those are told apart by their exact labels alone. Never raises.
    """
    if not isinstance(said, str):
        return None
    if said in options:
        return said
    wanted = _folded(said)
    alike = [option for option in options if wanted and _folded(option) == wanted]
    return alike[0] if len(alike) == 1 else None


def _folded(text: str) -> str:
    return "".join(char for char in text if not _dropped(char)).casefold()


def _dropped(char: str) -> bool:
    return char.isspace() or char in _DASHES or unicodedata.category(char) == "Pd"
