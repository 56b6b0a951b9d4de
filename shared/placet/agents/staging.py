"""The stages of an agent, checked against the tools that it has."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from placet.agents.providers import resolve_model
from placet.domain.authoring import twice
from placet.domain.stage import Stage
from placet.errors import DefinitionError
from placet.gate import Decision, Layer
from placet.gate.names import same_tool
from placet.gate.policy import words

if TYPE_CHECKING:
    from placet.agents.agent import Agent


def checked_stages(agent: "Agent") -> tuple[Stage, ...]:
    """The agent's stages in their order.

    Raises:
        DefinitionError: what is no stage, two of one name, a tool that the agent does not have, or a
            word or model that does not exist; names agent, stage and key.
    """
    given: Any = agent.stages
    where = f"agent {agent.name}"
    if not isinstance(given, list | tuple) or not all(isinstance(each, Stage) for each in given):
        raise DefinitionError(f"{where}: stages takes a list of Stage(...)")
    if name := twice(stage.name for stage in given):
        raise DefinitionError(f"{where}: two stages are called {name!r}")
    known = {same_tool(name) for name in agent.toolbox}
    for stage in given:
        _check(stage, known, f"{where}: stage {stage.name!r}")
    return tuple(given)


def layer_of(stage: Stage, where: str = "") -> Layer:
    """What a stage says to the gate. Raises DefinitionError for a word that is none."""
    place = where or f"stage {stage.name!r}"
    return Layer(words(Decision, stage.tool_permissions, f"{place}: tool_permissions"))


def _check(stage: Stage, known: Collection[str], where: str) -> None:
    named: dict[str, Iterable[str]] = {
        "available_tools": stage.available_tools or (),
        "required_tools": stage.required_tools,
        "tool_permissions": layer_of(stage, where).tools,
    }
    for key, tools in named.items():
        if unknown := [name for name in tools if same_tool(name) not in known]:
            listed = ", ".join(sorted(known)) or "none"
            raise DefinitionError(f"{where}: {key} names {unknown[0]!r}; its tools are {listed}")
    if stage.model is not None:
        try:
            resolve_model(stage.model)
        except DefinitionError as error:
            raise DefinitionError(f"{where}: {error}") from None
