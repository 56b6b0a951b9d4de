"""A definition that came over the API, as it is kept and as people see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """A definition that came over the API, as it was sent."""

    namespace: str
    name: str
    body: Mapping[str, Any]
    version: int
    digest: str
    """Of the body."""
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    request: str | None = None
    """What makes a creation that is sent again the same one."""

    @property
    def tag(self) -> str:
        """The version as an ETag names it: another for each change."""
        return f"{self.version}.{self.digest.removeprefix('sha256:')[:16]}"
