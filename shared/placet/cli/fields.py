"""`--field name=value`: content of a form, of several questions or of a review, typed by what is asked."""

import json
from collections.abc import Mapping, Sequence
from getpass import getpass
from typing import Any

from placet.domain.digest import strict_json
from placet.domain.form import choices, sealed_names
from placet.domain.interaction import (
    FormRequest,
    InteractionRequest,
    Question,
    QuestionsRequest,
    ReviewRequest,
)
from placet.domain.visible import visible
from placet.errors import FieldError, Invalid

Given = Mapping[str, list[str]]


def content(request: InteractionRequest, pairs: Sequence[str]) -> dict[str, Any]:
    """What the pairs amount to. A text that is not of its field's type is sent as it is, and refused.

    A sealed field may be named alone: its text is then read from the terminal, without echo.

    Raises Invalid for a pair without `=`, a name that is not asked for, and a kind without fields.
    """
    given = _paired(pairs, sealed_names(request.form) if isinstance(request, FormRequest) else ())
    match request:
        case FormRequest():
            return _form(request.form["properties"], given)
        case QuestionsRequest():
            return _questions(request.questions, given)
        case ReviewRequest():
            _check_names(given, ["outcome", "result"])
            return {name: texts[-1] for name, texts in given.items()}
        case _:
            raise Invalid(f"--field does not answer a {request.kind}")


def _paired(pairs: Sequence[str], sealed: Sequence[str]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals and name in sealed:
            text = getpass(f"{visible(name)}: ")
        elif not equals:
            raise Invalid(f"--field {pair}: write it as name=value")
        given.setdefault(name, []).append(text)
    return given


def _form(properties: Mapping[str, Any], given: Given) -> dict[str, Any]:
    _check_names(given, list(properties))
    return {name: _typed(properties[name], texts) for name, texts in given.items()}


def _typed(field: Mapping[str, Any], texts: list[str]) -> Any:
    """The value that the schema wants: of a list every text, of anything else the last."""
    if field.get("type") == "array":
        return [_of(choices(field.get("items", {})), text) for text in texts]
    text = texts[-1]
    if (offered := choices(field)) is not None:
        return _of(offered, text)
    if field.get("type") not in ("integer", "number", "boolean"):
        return text
    read = _read(text)
    return read if isinstance(read, int | float) else text


def _of(offered: Sequence[tuple[Any, str]] | None, text: str) -> Any:
    """What is meant by a value or its title; a text that is neither is sent as it is, and refused."""
    said = (value for value, title in offered or () if text in (value, title, json.dumps(value)))
    return next(said, text)


def _read(text: str) -> Any:
    try:
        return strict_json(text)
    except Invalid:
        return None


def _questions(questions: Sequence[Question], given: Given) -> dict[str, Any]:
    """A question goes by its header, by its text, or by its number from 0."""
    names = {
        name: question
        for number, question in enumerate(questions)
        for name in (str(number), question.header, question.question)
    }
    _check_names(given, list(names))
    found: dict[str, list[str]] = {}
    for name, texts in given.items():
        found.setdefault(names[name].question, []).extend(texts)
    several = {question.question for question in questions if question.multi_select}
    return {name: texts if name in several else texts[-1] for name, texts in found.items()}


def _check_names(given: Given, known: Sequence[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        detail = f"is not asked for; the fields are {', '.join(known)}"
        raise Invalid("no such field", [FieldError(f"/{name}", detail) for name in unknown])
