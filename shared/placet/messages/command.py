"""What a runner is told to do with a run."""

from enum import StrEnum

from placet.domain.base import DEFAULT_NAMESPACE, Value
from placet.domain.run import Message


class CommandName(StrEnum):
    """Routing keys of `placet.runs`."""

    START = "start"
    WAKE = "wake"
    MESSAGE = "message"
    ABORT = "abort"


class RunCommand(Value):
    """Start, wake, tell or end one run. Handling it twice, late or out of order is harmless."""

    command: CommandName
    run_id: str
    namespace: str = DEFAULT_NAMESPACE
    message: Message | None = None
    """With `message` only."""
    by: str | None = None
    """Who aborts."""
