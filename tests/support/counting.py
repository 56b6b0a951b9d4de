"""Counts what is read of the directory."""

from typing import Any

from placet.process.auth import Directory


class Counted:
    """A collection that counts its reads."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        self.reads += name in ("get", "get_many", "find", "count")
        return getattr(self._kept, name)


def counted(directory: Directory) -> Counted:
    found = Counted(directory.entries.kept)
    directory.entries.kept = found
    return found
