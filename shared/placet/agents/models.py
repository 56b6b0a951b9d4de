"""The model as a port: one request at a time, no loop of its own."""

from dataclasses import dataclass
from typing import Any, Protocol

from placet.kernel.turns import ModelReply, Turn


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one model call is made from."""

    instructions: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSchema, ...]


class Model(Protocol):
    """Something that answers a conversation."""

    @property
    def name(self) -> str:
        """What it is called in logs and metrics, such as `openai:gpt-5`."""
        ...

    async def reply(self, conversation: Conversation) -> ModelReply:
        """One reply. Call ids may be anything; the runtime gives its own.

        Raises:
            ModelError: the provider failed; `transient` says whether to try again.
        """
        ...
