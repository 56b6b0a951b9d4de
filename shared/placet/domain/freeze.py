"""A freeze: calls of tools that an operator keeps from starting until it is lifted."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from placet.domain.base import DEFAULT_NAMESPACE, Value
from placet.domain.naming import Name

MOST_TOOLS = 100
LONGEST_REASON = 1000

Tools = Annotated[tuple[Name, ...], Field(max_length=MOST_TOOLS)]
Reason = Annotated[str, Field(min_length=1, max_length=LONGEST_REASON, pattern=r"\S")]


class Freeze(Value):
    """One freeze of a namespace. It is never deleted: it is its own audit record."""

    id: str
    """`frz_` + 32 hex digits."""
    namespace: str = DEFAULT_NAMESPACE
    agent: str | None = None
    """A definition's name or an agent's id (`agt_...`), and all runs below theirs; None: every agent."""
    tools: tuple[str, ...] = ()
    """The tools that are frozen; none named: all of them."""
    reason: str
    """Why, for whoever waits."""
    by: str
    at: datetime
    lifted_by: str | None = None
    lifted_at: datetime | None = None

    @property
    def active(self) -> bool:
        """Whether it still keeps calls from starting."""
        return self.lifted_at is None
