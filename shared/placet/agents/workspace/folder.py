"""The folder that an agent works in, and how its shell runs."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from placet.agents.workspace.own import CONFIG, DATA, Own, own_here
from placet.errors import SettingsError

LEAST_OUTPUT = 1_024


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """How lines of the shell tool run. The operator's, never the model's."""

    unsandboxed: bool = False
    """Run lines with all that Placet itself can reach. No line is safe then without a person."""
    seconds: float = 120
    """The longest that a line may take."""
    output_bytes: int = 65_536
    """How much of stdout and of stderr is kept, each: the first half and the last."""
    environment: tuple[str, ...] = ()
    """Names of Placet's own variables that lines get too. Some never pass, see `environment.py`."""
    user: str | None = None
    """Account that lines run as; needs root. Without it Placet's own, or the folder's owner for root."""
    readable: tuple[Path, ...] = ()
    """Further files and folders that lines may read, such as a tool chain in a home folder."""

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 86_400:
            raise SettingsError(
                f"[shell] seconds is {self.seconds}; use more than 0, at most 86400"
            )
        if self.output_bytes < LEAST_OUTPUT:
            raise SettingsError(
                f"[shell] output_bytes is {self.output_bytes}; use {LEAST_OUTPUT} or more"
            )
        for each in self.readable:
            if not each.is_absolute() or len(each.parts) == 1:
                raise SettingsError(f"[shell] readable holds {str(each)!r}; name a folder in full")


@dataclass(frozen=True, slots=True)
class Workspace:
    """One agent's folder: its shell works there, and its file tools never leave it.

    Give each agent a folder of its own. Folders that lie in one another let one agent move what
    another one works in, and a folder that holds Placet's own files makes each call dearer.
    """

    folder: Path
    shell: ShellSettings = field(default_factory=ShellSettings)
    own: Own = field(default_factory=own_here)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder).expanduser().resolve())

    def without(self, definitions: Iterable[Path]) -> "Workspace":
        """The same, with these files of agents' definitions held to be Placet's."""
        files = dict.fromkeys((*self.own.definitions, *definitions))
        return replace(self, own=replace(self.own, definitions=tuple(files)))

    def guarded(self, path: str, *, writing: bool = True) -> bool:
        """Whether a person has to be asked before a file tool touches this path, whatever else holds.

        True for `placet.toml`, `.placet/`, the data folder and the files of definitions, for paths
        with `..`, and when writing for Placet's code. Pure: it looks at the name alone, so that the
        same call is judged alike today and after a restart.
        """
        asked = PurePosixPath(path)
        names = [part.casefold() for part in asked.parts]
        if ".." in names or CONFIG in names or DATA in names:
            return True
        return self.own.holds(PurePosixPath(os.path.normpath(self.folder / asked)), writing=writing)
