"""The base of what an author writes in a definition: a slip is a DefinitionError that names its place."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from placet.domain.base import Value
from placet.domain.visible import hidden
from placet.errors import DefinitionError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z")
_NAMED = "use letters, digits, - and _, at most 100"


def _named(name: str) -> str:
    if not NAME.match(name):
        raise ValueError(_NAMED)
    return name


def _seen(label: str) -> str:
    if not label.strip() or any(map(hidden, label)):
        msg = f"{label!r} is blank, or has a character that can't be seen"
        raise ValueError(msg)
    return label


def _plain(text: str) -> str:
    if "\x00" in text:
        msg = "leave the null character out"
        raise ValueError(msg)
    return text


def _listed(given: Any) -> Any:
    if not isinstance(given, list | tuple):
        msg = f"{str(given)[:100]!r} is no list; write it as one"
        raise ValueError(msg)
    return given


Named = Annotated[str, AfterValidator(_named)]
"""What a stage, a point or a region is called: ASCII, so that no two look alike."""
Label = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_seen)]
"""What a person picks: 1 to 500 characters, none of them invisible."""
Text = Annotated[str, Field(max_length=4000), AfterValidator(_plain)]
Listed = BeforeValidator(_listed)
"""Only what has an order is taken for a list."""
Labels = Annotated[tuple[Label, ...], Listed]
ToolNames = Annotated[tuple[str, ...], Listed]
"""Tools by name, in the order that they were written."""


class Authored(Value):
    """A frozen value that an author writes by keyword, or as a table of a file.

    Raises:
        DefinitionError: an unknown key, a missing or misspelt word, or whatever else does not fit; says
            what it is about, the key, and what is allowed. Nothing here is a pydantic error.
    """

    what: ClassVar[str]
    """What it is called in messages."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """Other spellings of keys, by the one that counts."""

    name: Named

    def __init__(self, /, **given: Any) -> None:
        known = type(self).model_fields
        where = called(self.what, given.get("name", known["name"].get_default() or ""))
        for key, alias in self.aliases.items():
            if alias in given and key in given:
                raise DefinitionError(f"{where}: {alias} is another word for {key}; say it once")
            if alias in given:
                given[key] = given.pop(alias)
        if unknown := [key for key in given if key not in known]:
            raise DefinitionError(f"{where}: there is no {unknown[0]!r}; use {', '.join(known)}")
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise DefinitionError(f"{where}: {_problem(error)}") from None
        except DefinitionError as error:  # of a part, which does not know what it is in
            raise DefinitionError(f"{where}: {error}") from None


def called(what: str, name: object) -> str:
    """Something by its kind and name, for a message."""
    return f"{what} {str(name)[:100]!r}"


def twice(names: Iterable[str]) -> str | None:
    """A name that is given more than once, if there is one."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    match first["type"]:
        case "missing":
            return f"{key} is missing"
        case "literal_error":
            words = str(first["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
            return f"{key} = {str(first['input'])[:100]!r}: use one of {words}"
        case "string_too_long":
            return f"{key} has more than {first['ctx']['max_length']} characters"
        case _:
            return f"{key}: {first['msg'].removeprefix('Value error, ')}"
