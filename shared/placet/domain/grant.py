"""What a person allowed beyond one call: named, counted, revocable, and gone with its run."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from placet.domain.audience import ONE_YES, AnswerPolicy
from placet.domain.base import Value
from placet.domain.label import Label
from placet.domain.person import Person
from placet.domain.risk import ToolRisk


class Grant(Value):
    """One approval with a scope. It covers later calls of that run, and of nothing else."""

    id: str
    tool: str
    schema_digest: str = ""
    """The tool as it was when the grant was given; another schema or description ends the grant."""
    keys: tuple[str, ...] = ()
    """A shell tool: the commands it names, such as `git status`. Empty: the tool, with any arguments."""
    exact: str = ""
    """The digest of the only call that it covers; empty: any arguments."""
    risk: ToolRisk = ToolRisk.SAFE
    """The tier of the call that it was given for; a call of a higher one asks."""
    clearance: Label | None = None
    """How far the run's data may go with this tool; such a grant covers nothing else."""
    scope: Literal["stage", "run"]
    stage: str = "main"
    """Where it was given: a grant of scope `stage` holds until another stage comes between."""
    by: Person | None = None
    asked: AnswerPolicy = Field(default=ONE_YES, exclude_if=lambda asked: asked == ONE_YES)
    """How many said yes, and who could not; a call that takes more asks."""
    at: datetime
    input_id: str
    """The question whose answer gave it."""


class GivenGrant(Grant):
    """A grant as people see it."""

    uses: int = 0
    """Calls that ran because of it."""
    revoked_at: datetime | None = None
    revoked_by: str | None = None
