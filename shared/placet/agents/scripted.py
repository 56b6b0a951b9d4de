"""A scripted model: no intelligence at all, for tests and demos, and named so."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placet.agents.models import Conversation
from placet.domain.interaction import ToolCall
from placet.kernel.turns import ModelReply

Script = Callable[[Conversation], ModelReply]


class ScriptedModel:
    """Answers by a function of the conversation. The same conversation always gets the same reply."""

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._script = script
        self.name = f"scripted:{name}"

    async def reply(self, conversation: Conversation) -> ModelReply:
        """What the script says."""
        return self._script(conversation)


def says(text: str) -> ModelReply:
    """A reply without calls, which ends the run."""
    return ModelReply(text=text)


def calls(*wanted: tuple[str, Mapping[str, Any]], text: str = "") -> ModelReply:
    """A reply that makes these calls, each a tool's name and its arguments."""
    made = tuple(
        ToolCall(id=f"call_{n}", tool=name, args=dict(args))
        for n, (name, args) in enumerate(wanted)
    )
    return ModelReply(text=text, calls=made)


def steps(*replies: ModelReply) -> Script:
    """A script that gives these replies in order, by how often the model has replied in the conversation.

    After the last reply it repeats it.
    """
    sequence: Sequence[ModelReply] = replies

    def script(conversation: Conversation) -> ModelReply:
        answered = sum(turn.role == "model" for turn in conversation.turns)
        return sequence[min(answered, len(sequence) - 1)]

    return script
