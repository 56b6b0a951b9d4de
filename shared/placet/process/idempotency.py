"""`Idempotency-Key`: a creation that is sent again makes nothing twice, on any replica, after any kill.

Nothing is kept beside the thing itself: its id is derived from who sent which key where, and the
digest of what was sent stands in its document.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Header

from placet.domain.digest import digest_of
from placet.errors import Conflict
from placet.ids import derived_id
from placet.process.caller import Caller

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="1 to 200 printable characters. The same key with the same request makes nothing twice.",
    ),
]
"""The header, as a parameter of a route."""


@dataclass(frozen=True, slots=True)
class Once:
    """One creation, however often it is sent."""

    id: str
    """Derived from namespace, caller, route and key: 32 hex digits."""
    digest: str
    """Of what was sent."""

    def named(self, prefix: str) -> str:
        """The id of what is made, `PREFIX_` + 32 hex digits."""
        return f"{prefix}_{self.id}"

    def check(self, kept: str | None) -> None:
        """Raise Conflict unless what was made before was made of the same request."""
        if kept != self.digest:
            raise Conflict(
                "this Idempotency-Key was used for another request; take another key",
                code="idempotency_conflict",
            )


def once(who: Caller, route: str, key: str | None, body: Any) -> Once | None:
    """What makes this creation one, if it has a key. `body` is JSON."""
    if key is None:
        return None
    derived = derived_id("once", who.namespace, who.id, route, key)
    return Once(derived.removeprefix("once_"), digest_of(body))
