"""Several answers from a file: a JSON array, or a JSON object a line."""

import sys
from pathlib import Path
from typing import Any

from placet.client import Answer
from placet.domain.digest import strict_json
from placet.errors import FieldError, Invalid

_KNOWN = ("id", "action", "content", "from", "digest")


def answered_in(file: Path, from_: str | None) -> list[Answer]:
    """The answers of a file, or of stdin for `-`; `from_` stands where one does not say its own.

    Raises Invalid, naming the answer: no JSON, no id, or a field that nobody knows.
    """
    text = _text(file)
    given = strict_json(text) if text.lstrip().startswith("[") else _lines(text)
    if not isinstance(given, list) or not given:
        raise Invalid(f"{file}: no answers in it")
    return [_answer(number, each, from_) for number, each in enumerate(given)]


def _text(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} can't be read: {error}") from error


def _lines(text: str) -> list[Any]:
    return [strict_json(line) for line in text.splitlines() if line.strip()]


def _answer(number: int, given: Any, from_: str | None) -> Answer:
    at = f"/answers/{number}"
    if not isinstance(given, dict) or not isinstance(given.get("id"), str):
        raise Invalid("an answer says which input it is for", [FieldError(f"{at}/id", "missing")])
    for name in given:
        if name not in _KNOWN:
            detail = f"unknown; the fields are {', '.join(_KNOWN)}"
            raise Invalid("no such field", [FieldError(f"{at}/{name}", detail)])
    return Answer(
        given["id"],
        given.get("content"),
        given.get("action", "accept"),
        given.get("from", from_),
        given.get("digest"),
    )
