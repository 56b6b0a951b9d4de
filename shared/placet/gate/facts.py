"""What is known about one call when it is judged. All of it is recorded, nothing is looked up."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator

from placet.domain.base import Value
from placet.domain.grant import Grant
from placet.domain.label import Label
from placet.domain.risk import ToolRisk
from placet.gate.names import same_tool


class Role(StrEnum):
    """What kind of tool it is, where that changes how it is judged."""

    PLAIN = "plain"
    SHELL = "shell"
    WRITES = "writes"
    """A builtin that changes files: it asks unless something allows it."""
    ASKS = "asks"
    """A builtin that asks a person: gated by `deny` and `!name` alone."""
    DELEGATES = "delegates"


class Assessment(Value):
    """What a classifier said about one call, once. It may raise the need for approval, never lower it."""

    asks: bool
    reason: str = ""
    failed: bool = False
    """It raised, took too long or could not be read: then the call asks."""


class Facts(Value):
    """One call."""

    tool: Annotated[str, AfterValidator(same_tool)]
    """The name that rules go by."""
    role: Role = Role.PLAIN
    risk: ToolRisk = ToolRisk.SAFE
    needs_approval: bool = False
    condition_failed: str | None = None
    """What the tool's own condition raised, if it did: then the call asks."""
    source: str | None = None
    raw: str = ""
    """What its source calls the tool."""
    read_only: bool | None = None
    destructive: bool | None = None
    loaded: bool = True
    """Whether the definition was loaded with it; False for one that a source added later."""
    line: str | None = None
    """A shell tool: the line."""
    digest: str = ""
    """Of tool, schema and arguments."""
    schema_digest: str = ""
    stage: str = "main"
    outbound: bool = False
    """Whether what it is given may leave."""
    clearance: Label = Label.PUBLIC
    """How far data may go with it."""
    taint: Label = Label.PUBLIC
    """The highest label of what the run holds."""
    assessment: Assessment | None = None

    def meant_by(self, grant: Grant) -> bool:
        """Whether a grant is of this very tool, in this stage, and not of another call of it alone."""
        return (
            same_tool(grant.tool) == self.tool
            and grant.schema_digest == self.schema_digest
            and (grant.scope == "run" or grant.stage == self.stage)
            and grant.exact in ("", self.digest)
        )
