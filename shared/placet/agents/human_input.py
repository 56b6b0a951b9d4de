"""What an agent says of the people that it asks."""

from dataclasses import dataclass
from typing import Any, Literal

from placet.errors import DefinitionError

MIN_EXPIRY, MAX_EXPIRY = 60, 2_592_000
OnExpiry = Literal["deny", "stop"]


@dataclass(frozen=True, slots=True)
class HumanInput:
    """Who may answer besides the initiator, for how long a question stands, and what follows then."""

    expires_in_seconds: int | None = None
    """7 days unless the operator says otherwise."""
    approvers: tuple[str, ...] = ()
    on_expiry: OnExpiry = "deny"
    """`stop` ends the run where nobody answers; `deny` tells the model that nobody did."""

    def __post_init__(self) -> None:
        seconds: Any = self.expires_in_seconds
        fits = isinstance(seconds, int) and not isinstance(seconds, bool)
        if seconds is not None and not (fits and MIN_EXPIRY <= seconds <= MAX_EXPIRY):
            raise DefinitionError(
                f"human_input.expires_in_seconds is {seconds!r}; use 60 to 2592000 (30 days)"
            )
        named: Any = self.approvers
        if not isinstance(named, tuple | list) or len(named) > 100 or not all(map(_names, named)):
            raise DefinitionError(
                "human_input.approvers takes at most 100 names of 1 to 200 characters that are not blank"
            )
        if self.on_expiry not in ("deny", "stop"):
            raise DefinitionError(
                f"human_input.on_expiry is {self.on_expiry!r}; use one of deny, stop"
            )


def _names(word: Any) -> bool:
    return isinstance(word, str) and bool(word.strip()) and len(word) <= 200
