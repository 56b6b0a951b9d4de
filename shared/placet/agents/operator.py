"""What the operator says in `placet.toml`: bounds that no definition can loosen."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from placet.agents.workspace.folder import ShellSettings
from placet.domain.risk import ToolRisk
from placet.errors import DefinitionError, SettingsError
from placet.gate import Decision, Layer, Source, SourcePolicy
from placet.gate.names import same_tool
from placet.gate.policy import word, words
from placet.gate.shell import SHIPPED
from placet.gate.shell import Layer as SafeLayer
from placet.gate.shell import Source as SafeSource

_ORDER = (
    SourcePolicy.NEVER,
    SourcePolicy.DESTRUCTIVE,
    SourcePolicy.UNLESS_READ_ONLY,
    SourcePolicy.ALWAYS,
)
"""From the loosest to the strictest."""
WEEK = timedelta(days=7)

OPERATORS_ALONE = ("limits", "shell", "agent_safe_commands", "taint")
"""Tables that no definition has."""
_DEFINITIONS = ("stages", "human_input")
"""Tables that definitions alone have."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class AgentSafeCommands(_Table):
    """`[agent_safe_commands.NAME]`."""

    tools: list[str] = []
    shell: list[str] = []
    allow_blueprint: bool = False
    """Whether the list that a definition brings along counts."""


class SafeCommands(AgentSafeCommands):
    """`[safe_commands]`."""

    defaults: bool = True
    """Whether the shipped list counts."""


class Limits(_Table):
    """`[limits]`."""

    always_ask: list[str] = []
    approval_required_risk: str | None = None
    interaction_timeout_secs: int | None = Field(default=None, ge=0, le=2_592_000)
    """How long a question stands whose definition does not say; 0: until it is answered."""


class UnattendedTable(_Table):
    """`[unattended]`: runs that nobody watches."""

    allow: bool = False
    """Whether a run may let what would ask go on (`--yolo`)."""


class SourceTable(_Table):
    """`[sources.NAME]`."""

    policy: str | None = None
    tools: dict[str, str] = {}
    trusted: bool = False


class ShellTable(_Table):
    """`[shell]`: how the shell tool runs lines."""

    unsandboxed: bool = False
    """Lines may reach all that Placet can; the safe list is off then."""
    user: str | None = None
    """The account that runs lines, where Placet is root."""
    environment: list[str] = []
    """Names of variables that lines get."""
    readable: list[str] = []
    """Further folders that lines may read, such as tool chains."""
    seconds: float = 120
    output_bytes: int = 65_536
    """Of each stream, kept for the model."""


class TaintTable(_Table):
    """`[taint]`: for every definition; one may turn it on by itself, never off."""

    enabled: bool = False
    unattended: str = "deny"
    """What becomes of a call that would leak while nobody is there: `deny`, `ask` or `allow`."""


class Tables(_Table):
    """The operator's tables of `placet.toml`; the others are settings of the processes."""

    tool_permissions: dict[str, str] = {}
    safe_commands: SafeCommands = SafeCommands()
    agent_safe_commands: dict[str, AgentSafeCommands] = {}
    limits: Limits = Limits()
    sources: dict[str, SourceTable] = {}
    shell: ShellTable = ShellTable()
    taint: TaintTable = TaintTable()
    unattended: UnattendedTable = UnattendedTable()


@dataclass(frozen=True)
class Operator:
    """The operator's word; without a file, nothing but the shipped safe list."""

    tables: Tables = field(default_factory=Tables)
    file: str = "placet.toml"

    @cached_property
    def layer(self) -> Layer:
        """Permissions, threshold and what is asked about each time."""
        limits = self.tables.limits
        tier = limits.approval_required_risk
        return Layer(
            words(Decision, self.tables.tool_permissions, "tool_permissions"),
            ToolRisk(tier) if tier is not None else None,
            frozenset(same_tool(name) for name in limits.always_ask),
        )

    @property
    def patience(self) -> timedelta | None:
        """How long a question stands whose definition does not say; None: until it is answered."""
        seconds = self.tables.limits.interaction_timeout_secs
        if seconds is None:
            return WEEK
        return timedelta(seconds=seconds) if seconds else None

    @property
    def shell(self) -> ShellSettings:
        """How the shell tool runs lines."""
        table = self.tables.shell
        return ShellSettings(
            unsandboxed=table.unsandboxed,
            user=table.user,
            environment=tuple(table.environment),
            readable=tuple(Path(folder) for folder in table.readable),
            seconds=table.seconds,
            output_bytes=table.output_bytes,
        )

    def safe_layers(self, agent: str) -> Sequence[SafeLayer]:
        """The safe list as far as the operator says it."""
        general = self.tables.safe_commands
        layers = [SHIPPED] if general.defaults else []
        layers.append(_safe(SafeSource.CONFIG, general, self.file))
        if own := self.tables.agent_safe_commands.get(agent):
            layers.append(_safe(SafeSource.AGENT, own, self.file))
        return layers

    def allows_blueprint(self, agent: str) -> bool:
        """Whether the list that this definition brings along counts."""
        own = self.tables.agent_safe_commands.get(agent)
        return self.tables.safe_commands.allow_blueprint or bool(own and own.allow_blueprint)

    def bounding(self, sources: Mapping[str, Source]) -> Mapping[str, Source]:
        """The author's rules for sources, nowhere looser than the operator's."""
        return {
            name: _bounded(sources.get(name, Source()), self.tables.sources.get(name))
            for name in {*sources, *self.tables.sources}
        }


def read_operator(path: Path) -> Operator:
    """The operator's tables of a file; an absent file says nothing.

    Raises:
        SettingsError: the file can't be read, or a key or word is unknown; names the file, the key
            and what is allowed.
    """
    try:
        found = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} can't be read: {error}") from error
    if odd := sorted(key for key, value in found.items() if _unknown_table(key, value)):
        known = ", ".join(Tables.model_fields)
        hint = (
            "; a definition is a file of its own, named in PLACET_AGENTS"
            if set(odd) & set(_DEFINITIONS)
            else ""
        )
        raise SettingsError(f"{path}: there is no [{odd[0]}]; the tables are {known}{hint}")
    mine = {key: value for key, value in found.items() if key in Tables.model_fields}
    try:
        tables = Tables.model_validate(mine)
    except ValidationError as error:
        raise SettingsError("; ".join(_problem(path, each) for each in error.errors())) from None
    _check_words(path, tables)
    made = Operator(tables, str(path))
    _ = made.shell  # what it refuses is told at start
    return made


def _unknown_table(key: str, value: Any) -> bool:
    tables = value if isinstance(value, list) else [value]
    return key not in Tables.model_fields and any(isinstance(each, dict) for each in tables)


def _check_words(path: Path, tables: Tables) -> None:
    limit = tables.limits.approval_required_risk
    try:
        words(Decision, tables.tool_permissions, f"{path}: tool_permissions")
        word(Decision, tables.taint.unattended, f"{path}: taint.unattended")
        if limit is not None:
            word(ToolRisk, limit, f"{path}: limits.approval_required_risk")
        for name, source in tables.sources.items():
            if source.policy is not None:
                word(SourcePolicy, source.policy, f"{path}: sources.{name}.policy")
            for raw, rule in source.tools.items():
                word(SourcePolicy, rule, f"{path}: sources.{name}.tools.{raw}")
    except DefinitionError as error:
        raise SettingsError(str(error)) from None


def _problem(path: Path, error: Mapping[str, Any]) -> str:
    where = ".".join(map(str, error["loc"]))
    if error["type"] != "extra_forbidden":
        return f"{path}: {where}: {error['msg']}"
    table = _TABLES.get(error["loc"][0], Tables) if len(error["loc"]) > 1 else Tables
    return f"{path}: there is no {where}; use one of {', '.join(table.model_fields)}"


_TABLES: Mapping[Any, type[_Table]] = {
    "safe_commands": SafeCommands,
    "agent_safe_commands": AgentSafeCommands,
    "limits": Limits,
    "sources": SourceTable,
    "shell": ShellTable,
    "taint": TaintTable,
    "unattended": UnattendedTable,
}


def _safe(source: SafeSource, table: AgentSafeCommands, file: str) -> SafeLayer:
    return SafeLayer(source, tuple(table.shell), tuple(table.tools), file)


def _bounded(author: Source, table: SourceTable | None) -> Source:
    if table is None:
        return replace(author, trusted=False)
    tools = {raw: SourcePolicy(rule) for raw, rule in table.tools.items()}
    policy = SourcePolicy(table.policy) if table.policy is not None else None
    stricter = {
        raw: _stricter(author.about(raw), tools.get(raw, policy)) for raw in {*author.tools, *tools}
    }
    return replace(
        author,
        policy=_stricter(author.policy, policy),
        tools={raw: found for raw, found in stricter.items() if found is not None},
        trusted=table.trusted,
    )


def _stricter(one: SourcePolicy | None, two: SourcePolicy | None) -> SourcePolicy | None:
    return max((each for each in (one, two) if each), key=_ORDER.index, default=None)
