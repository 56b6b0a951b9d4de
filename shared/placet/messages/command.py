"""What a runner is told to do with a run."""

from enum import StrEnum

from pydantic import Field

from placet.domain.base import DEFAULT_NAMESPACE, Value
from placet.domain.heritage import Birth, ChildEnd
from placet.domain.run import Message


class CommandName(StrEnum):
    """Routing keys of `placet.runs`."""

    START = "start"
    WAKE = "wake"
    MESSAGE = "message"
    ABORT = "abort"
    CHILD = "child"


class RunCommand(Value):
    """Start, wake, tell or end one run, or tell it how a child ended.

    Handling it twice, late or out of order is harmless.
    """

    command: CommandName
    run_id: str
    namespace: str = DEFAULT_NAMESPACE
    message: Message | None = None
    """With `message` only."""
    by: str | None = None
    """Who aborts."""
    birth: Birth | None = Field(default=None, exclude_if=lambda birth: birth is None)
    """What the run is made from if it does not exist yet; from a runner alone."""
    child: ChildEnd | None = Field(default=None, exclude_if=lambda child: child is None)
    """With `child` only."""
