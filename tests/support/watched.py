"""A scripted model that keeps what it was shown, and agents with points for the tests of stages."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from placet import Agent, InteractionPoint, ScriptedModel, Stage
from placet.agents.definitions import read_definition
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says, steps
from placet.kernel.turns import ModelReply

OPTIONS: dict[str, Any] = {
    "options": ["Approve", "Revise", "Edit", "Abort"],
    "abort_options": ["Abort"],
    "edit_options": ["Edit"],
    "directives": {"Revise": "Ask what to change."},
}
"""A point of every list."""


class Watched(ScriptedModel):
    """Gives its replies in order, and keeps each conversation that it answered."""

    def __init__(self, *replies: ModelReply, name: str = "watched") -> None:
        script = steps(*replies)
        self.seen: list[Conversation] = []

        def watching(conversation: Conversation) -> ModelReply:
            self.seen.append(conversation)
            return script(conversation)

        super().__init__(watching, name=name)

    @property
    def said(self) -> list[str]:
        """What people said in the last conversation."""
        return [turn.text for turn in self.seen[-1].turns if turn.role == "user"]


def point(name: str = "sign_off", **given: Any) -> InteractionPoint:
    """A point with every list, unless it is told what it has."""
    own = given if "style" in given or "options" in given else {**OPTIONS, **given}
    return InteractionPoint(name=name, prompt=f"{name}?", **own)


def staged(model: Any, *points: InteractionPoint, after: bool = True, **parts: Any) -> Agent:
    """An agent with the stage `plan`, which has these points, and `build` after it."""
    plan = Stage(
        name="plan",
        mode="interactive_points" if points else "autonomous",
        interaction_points=points,
    )
    stages = [plan, Stage(name="build")] if after else [plan]
    return Agent("coder", model=model, **{"stages": stages, **parts})


EXAMPLE = Path(__file__).parents[2] / "examples" / "coder.toml"
EXAMPLE_SCRIPT = (
    calls(("list_dir", {"path": "."})),
    calls(("ask_user_text", {"question": "Which module?"})),
    says("plan 1"),
    says("plan 2"),
    calls(("write_file", {"path": "new.txt", "content": "x"})),
    says("built"),
    calls(("bash", {"command": "ls"}), ("read_file", {"path": "new.txt"})),
    says("reported"),
)
"""What the model of the example says, where its plan is revised once."""


def example(folder: Path, model: Any) -> Agent:
    """The agent of examples/coder.toml, with this model, working in this folder."""
    return replace(read_definition(EXAMPLE), model=model, folder=folder)
