"""What in the file system is Placet's: agents neither see nor change it without being asked about."""

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import placet

CONFIG = "placet.toml"
DATA = ".placet"
DEFINITIONS = (".py", ".toml", ".json")
"""What the files end with from which agents are loaded."""


@dataclass(frozen=True, slots=True)
class Own:
    """Absolute paths of what is Placet's. They may lie in an agent's folder, or nowhere near it."""

    config: Path
    """The configuration file."""
    data: tuple[Path, ...] = ()
    """Folders of databases and keys."""
    definitions: tuple[Path, ...] = ()
    """Files from which agents are loaded."""
    program: tuple[Path, ...] = ()
    """Placet's code and its virtual environment: no secret, but what is changed there runs here."""

    @property
    def private(self) -> tuple[Path, ...]:
        """What a line may not even see."""
        return (self.config, *self.data, *self.definitions)

    def holds(self, path: PurePath, *, writing: bool) -> bool:
        """Whether a path is one of these, or lies in one. Looks at names only, in any case of letters."""
        asked = _folded(path)
        guarded = (*self.private, *self.program) if writing else self.private
        return any(asked[: len(own)] == own for own in map(_folded, guarded))


def own_here(environ: Mapping[str, str] | None = None, here: Path | None = None) -> Own:
    """What this process goes by: `PLACET_CONFIG`, `PLACET_DATA`, `PLACET_AGENTS`, and the file's words.

    Without them it is `placet.toml` and `.placet` in `here`, the current folder. What the variables
    and what the file names is Placet's, whichever counts.
    """
    given = os.environ if environ is None else environ
    base = here or Path.cwd()
    config = _absolute(base, given.get("PLACET_CONFIG") or CONFIG)
    said = _said(config)
    data = [DATA, given.get("PLACET_DATA", ""), said.get("data")]
    listed = said.get("agents")
    agents = [
        *given.get("PLACET_AGENTS", "").split(","),
        *(listed if isinstance(listed, list) else str(listed or "").split(",")),
    ]
    return Own(
        config=config,
        data=tuple(
            _absolute(base, each)
            for each in dict.fromkeys(data)
            if isinstance(each, str) and each and each[0] != ":"
        ),
        definitions=tuple(
            _absolute(base, name.strip())
            for name in dict.fromkeys(agents)
            if isinstance(name, str) and name.strip().endswith(DEFINITIONS)
        ),
        program=tuple(dict.fromkeys(_program())),
    )


def _said(config: Path) -> Mapping[str, Any]:
    """The settings of the file; one that can't be read is refused where it is loaded."""
    try:
        return tomllib.loads(config.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _program() -> Iterator[Path]:
    if sys.prefix != sys.base_prefix:
        yield Path(os.path.abspath(sys.prefix))
    yield Path(placet.__file__).resolve().parent


def _absolute(base: Path, path: str) -> Path:
    # Not resolved: a link that stands in the agent's folder must be found there.
    return Path(os.path.normpath(base / path))


def _folded(path: PurePath) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path.parts)
