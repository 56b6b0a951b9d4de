"""Agents from TOML and JSON files of the operator's own disk; a slip is named with file, key and remedy."""

import importlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from placet.agents.agent import Agent
from placet.agents.authored import said
from placet.agents.human_input import HumanInput, OnExpiry
from placet.agents.operator import OPERATORS_ALONE
from placet.agents.tool import Tool
from placet.domain.stage import Stage
from placet.errors import DefinitionError

SUFFIXES = (".toml", ".json")


class _Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )


class HumanInputTable(_Table):
    """`[human_input]`."""

    expires_in_seconds: int | None = None
    approvers: list[str] = []
    on_expiry: OnExpiry = "deny"
    quorum: int = 1
    exclude_initiator: bool = False
    reminders: list[int] = []
    escalation: list[dict[str, Any]] = []
    """Steps: `after_seconds`, `add`, `priority`, `notify`, `deny`."""
    priority: str = "normal"
    labels: list[str] = []
    tiers: dict[str, dict[str, Any]] = {}
    """Stricter rules for calls of a tier and above."""
    tools: dict[str, dict[str, Any]] = {}
    """Rules for single tools."""


class Definition(_Table):
    """What a file, or a body of the API, says of an agent."""

    name: str | None = None
    """The file's own name without its ending, where nothing is said."""
    instructions: str = ""
    model: str = ""
    tools: list[str] = []
    """`module:tool_name`, to be imported."""
    builtins: list[str] = []
    folder: str = "."
    max_steps: int = Field(default=50, ge=1)
    approval_required_risk: str | None = None
    tool_permissions: dict[str, str] = {}
    allowed_tools: list[str] | None = None
    safe_commands: dict[str, Any] = {}
    sources: dict[str, str | dict[str, Any]] = {}
    human_input: HumanInputTable = HumanInputTable()
    edits: bool = False
    taint: bool = False
    stages: dict[str, dict[str, Any]] = {}
    """By name, in the order of the file."""
    delegates: list[str] = []
    """Definitions that it may start as child runs, by name."""


def read_definition(path: Path) -> Agent:
    """The agent that a `.toml` or `.json` file describes.

    Its `tools` are imported, which runs their modules: only for files that the operator put there.

    Raises:
        DefinitionError: the file can't be read, has a key that is unknown or said twice, or describes
            no agent that works; names the file, the key, and what is allowed.
    """
    found = read_table(path)
    if path.name == "placet.toml" or _operators(found):
        raise DefinitionError(
            f"{path}: this is the operator's file, as placet.toml is; a definition is a file of its own, "
            f"with {', '.join(Definition.model_fields)}"
        )
    try:
        given = Definition.model_validate(found)
        name = path.stem if given.name is None else given.name
        return agent_of(given, name, [_tool(spelled) for spelled in given.tools])
    except ValidationError as error:
        raise DefinitionError(f"{path}: {problem_of(error)}") from None
    except DefinitionError as error:
        raise DefinitionError(f"{path}: {error}") from error


def agent_of(given: Definition, name: str, tools: Sequence[Tool] = ()) -> Agent:
    """The agent of this name that a definition describes, with these tools. Raises DefinitionError."""
    fields: dict[str, Any] = {key: getattr(given, key) for key in type(given).model_fields}
    return Agent(
        **{
            **fields,
            "name": name,
            "tools": tools,
            "human_input": _human_input(given.human_input),
            "stages": tuple(_stage(name, table) for name, table in given.stages.items()),
        }
    )


def _human_input(table: HumanInputTable) -> HumanInput:
    given: dict[str, Any] = table.model_dump()
    listed: dict[str, Any] = {k: tuple(v) for k, v in given.items() if isinstance(v, list)}
    return HumanInput(**given | listed)


def _stage(name: str, table: Mapping[str, Any]) -> Stage:
    if "name" in table:
        raise DefinitionError(
            f"stage {name!r}: leave `name` out; a stage is called as its table is"
        )
    return Stage(**{**table, "name": name})


def _tool(spelled: str) -> Tool:
    module, colon, name = spelled.partition(":")
    if not (colon and module and name) or module.startswith("."):
        raise DefinitionError(f"tools: write {spelled!r} as module:tool_name")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # an author's module may raise anything at import
        what = f"{type(error).__name__}: {said(error, 500)}"
        raise DefinitionError(f"tools: {spelled!r} can't be imported: {what}") from error
    if not isinstance(found, Tool):
        raise DefinitionError(f"tools: {spelled!r} is no tool; decorate a function with @tool")
    return found


def read_table(path: Path) -> dict[str, Any]:
    """What a `.toml` or `.json` file says, unchecked. Raises DefinitionError: it can't be read."""
    if not path.is_file():
        raise DefinitionError(f"{path}: no such file")
    try:
        text = path.read_text("utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else _json(text)
    except (OSError, ValueError, RecursionError) as error:
        raise DefinitionError(f"{path} can't be read: {error}") from error
    if not isinstance(found, dict):
        raise DefinitionError(
            f"{path}: not an object; a definition is one, with name and instructions"
        )
    return found


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            msg = f"{key!r} is said twice"
            raise ValueError(msg)
        table[key] = value
    return table


def _no_number(word: str) -> Any:
    msg = f"{word} is no number in JSON"
    raise ValueError(msg)


def _operators(found: Mapping[str, Any]) -> bool:
    return any(isinstance(found.get(table), dict) for table in OPERATORS_ALONE)


def problem_of(error: ValidationError) -> str:
    """What is wrong with a definition, and what is allowed there."""
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] != "extra_forbidden":
        return f"{key}: {first['msg']}"
    table = HumanInputTable if first["loc"][0] == "human_input" else Definition
    return f"there is no {key!r}; use one of {', '.join(table.model_fields)}"
