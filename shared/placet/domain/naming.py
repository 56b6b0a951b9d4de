"""What may name a person, a service or a key: one rule for every surface."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

from placet.domain.base import LONGEST_ID
from placet.domain.visible import hidden

_UNSEEN = frozenset("\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
"""Blanks and selectors that are no format characters, and that nobody sees either."""
RULE = (
    f"has 1 to {LONGEST_ID} bytes, no character that can't be seen, no space at its ends, and is "
    "normalized (NFC)"
)


def names(text: str) -> bool:
    """Whether a text can name somebody: names that look alike to a person must not differ unseen."""
    if not text or text != text.strip() or not unicodedata.is_normalized("NFC", text):
        return False
    if any(hidden(char) or char in _UNSEEN for char in text):
        return False
    return len(text.encode()) <= LONGEST_ID


def checked_name(text: str) -> str:
    """The text if it can name somebody. Raises ValueError, for pydantic."""
    if not names(text):
        msg = f"a name {RULE}"
        raise ValueError(msg)
    return text


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_ID), AfterValidator(checked_name)]
"""A name or an id that people read: 1 to 200 bytes, not blank, nothing invisible, control or bidi."""
