"""Loading agents from a person's own files or modules. One that fails does not stop the others."""

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from placet.agents.agent import Agent
from placet.agents.definitions import SUFFIXES, read_definition
from placet.agents.operator import Operator
from placet.agents.policies import unmatched
from placet.agents.workspace.own import DEFINITIONS
from placet.errors import DefinitionError
from placet.ids import derived_id


@dataclass(slots=True)
class Loaded:
    """What was found, and what could not be loaded and why."""

    agents: dict[str, Agent] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    found: dict[str, Agent] = field(default_factory=dict)
    """The definitions as their files have them."""
    files: list[Path] = field(default_factory=list)
    """Where agents were looked for."""
    operator: Operator = field(default_factory=Operator)
    """Whose word bounds them."""


def load_agents(sources: Iterable[str], operator: Operator | None = None) -> Loaded:
    """Every `Agent` that these files (`.py`, `.toml`, `.json`) or modules (`a.b.c`) hold, as bounded.

    None of them gets at any of these files without being asked about, even where they are in its folder.
    """
    bounds = operator or Operator()
    loaded = Loaded(operator=bounds)
    for source in sources:
        if source.endswith(DEFINITIONS):
            loaded.files.append(Path(os.path.abspath(source)))
        try:
            _collect(loaded, source, _agents_in(loaded, source), bounds)
        except DefinitionError as error:
            loaded.problems.append(str(error))
    loaded.problems += unmatched(bounds, loaded.agents.values())
    for agent in loaded.agents.values():
        agent.work_in(agent.workspace.without(loaded.files))
    return loaded


def for_a_runner(loaded: Loaded) -> Loaded:
    """The agents that can be run durably. One that asks in place, or a test's, is a problem instead."""
    kept = Loaded(problems=list(loaded.problems), operator=loaded.operator)
    for name, agent in loaded.agents.items():
        if why := _not_durable(agent):
            kept.problems.append(f"agent {name}: {why}")
        else:
            kept.agents[name] = agent
    while stray := _stray_delegate(kept):
        name, missing = stray
        del kept.agents[name]
        kept.problems.append(f"agent {name}: delegates names {missing!r}, which is not loaded here")
    return kept


def _stray_delegate(loaded: Loaded) -> tuple[str, str] | None:
    """A definition and one that it may delegate to and that is not there."""
    pairs = ((name, to) for name, agent in loaded.agents.items() for to in agent.delegate_names)
    return next(((name, to) for name, to in pairs if to not in loaded.agents), None)


def _not_durable(agent: Agent) -> str | None:
    intervention = agent.human_in_the_loop
    if intervention is not None and intervention.ask is not None:
        return (
            "HumanInTheLoop(ask=...) asks in the program that runs the agent, and a runner has nobody "
            "there; leave `ask` out, and its questions wait for their answers"
        )
    if getattr(agent.approval_handler, "for_tests_alone", False):
        kind = type(agent.approval_handler).__name__
        return f"{kind} approves whatever is asked, for tests; leave approval_handler out"
    return None


def _agents_in(loaded: Loaded, source: str) -> list[Agent]:
    if source.endswith(SUFFIXES):
        agent = read_definition(Path(source))
        modules = (sys.modules.get(tool.function.__module__) for tool in agent.tools)
        loaded.files += {Path(os.path.abspath(m.__file__)) for m in modules if m and m.__file__}
        return [agent]
    module = _module(source)
    if module.__file__ and not source.endswith(".py"):
        loaded.files.append(Path(os.path.abspath(module.__file__)))
    found = [value for value in vars(module).values() if isinstance(value, Agent)]
    if not found:
        raise DefinitionError(f"{source}: no Agent at the top level of the module")
    return found


def _collect(loaded: Loaded, source: str, found: Iterable[Agent], operator: Operator) -> None:
    for agent in _with_delegates(found):
        if loaded.found.setdefault(agent.name, agent) is not agent:
            loaded.problems.append(f"{source}: an agent called {agent.name!r} is loaded already")
            continue
        try:
            loaded.agents[agent.name] = agent.under(operator)
        except DefinitionError as error:
            loaded.problems.append(f"{source}: {error}")


def _with_delegates(found: Iterable[Agent]) -> list[Agent]:
    """These, and the definitions that they may delegate to and hold themselves; each once."""
    every: dict[int, Agent] = {}
    left = list(found)
    while left:
        agent = left.pop(0)
        if id(agent) not in every:
            every[id(agent)] = agent
            left += [each for each in agent.delegates if isinstance(each, Agent)]
    return list(every.values())


def _module(source: str) -> ModuleType:
    try:
        if source.endswith(".py"):
            return _from_file(Path(source))
        return importlib.import_module(source)
    except DefinitionError as error:
        raise DefinitionError(f"{_place(source, error)}: {error}") from error
    except Exception as error:  # an author's file may raise anything at import
        what = f"{type(error).__name__}: {error}"
        raise DefinitionError(f"{_place(source, error)}: {what}") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        msg = "no such file"
        raise DefinitionError(msg)
    name = derived_id("placet_agents", str(path.resolve()))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = "not a Python file"
        raise DefinitionError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _place(source: str, error: BaseException) -> str:
    """`file:line` of the author's own line that failed, as far as it can be told."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    here = Path(source).name if source.endswith(".py") else source.rpartition(".")[2] + ".py"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == here]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else source
