"""Tools: a function with a name, a JSON Schema and a risk."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeVar, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from placet.agents.authored import in_thread
from placet.agents.context import Context
from placet.domain.digest import digest_of
from placet.domain.label import Label
from placet.domain.risk import ToolRisk
from placet.errors import DefinitionError, Invalid
from placet.gate import Role
from placet.gate.names import exposed
from placet.kernel.steps import ToolFacts

Function = Callable[..., Any]
Condition = bool | Callable[[Mapping[str, Any]], bool]
W = TypeVar("W", bound=StrEnum)
Fingerprint = Callable[[Mapping[str, Any]], Any]
RiskOf = ToolRisk | Callable[[Mapping[str, Any]], ToolRisk]


class _NoTitles(GenerateJsonSchema):
    """A schema that says only what a call must satisfy, so that its digest changes with that alone."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@dataclass(frozen=True)
class Tool:
    """One thing that an agent can do. Made by the `tool` decorator."""

    name: str
    description: str
    function: Function
    risk: RiskOf = ToolRisk.SAFE
    needs_approval: Condition = False
    retry: Literal["safe", "ask"] = "ask"
    """What happens to a call found started and not finished: run again with its key, or ask a person."""
    role: Role = Role.PLAIN
    source: str | None = None
    """Where it was discovered, such as the name of an MCP server; None for the definition's own."""
    raw: str = ""
    """What its source calls it."""
    read_only: bool | None = None
    destructive: bool | None = None
    """What its author or source declares; None where nothing is declared."""
    loaded: bool = True
    """Whether the definition was loaded with it."""
    fingerprint: Fingerprint | None = None
    """Of what a call acts on: taken when a person is asked, and again before it runs."""
    label: Label = Label.PUBLIC
    """Of what it returns, unless the execution says more with `ctx.label`."""
    outbound: bool | None = None
    """Whether what it is given may leave; None: it may. Reading is no promise that nothing is sent."""
    clearance: Label = Label.PUBLIC
    """How far data may go with it."""
    timeout: timedelta | None = None
    """Of one execution; the time that people take does not count."""
    parameters: type[BaseModel] = field(default=BaseModel, repr=False)
    wants_context: bool = True

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        schema = self.parameters.model_json_schema(schema_generator=_NoTitles)
        schema.pop("title", None)
        schema.pop("description", None)
        return schema

    @cached_property
    def facts(self) -> ToolFacts:
        """What the kernel needs to know."""
        digest = digest_of({"schema": self.schema, "description": self.description})
        delegates = self.role is Role.DELEGATES
        return ToolFacts(digest, retry=self.retry, label=self.label, delegates=delegates)

    @property
    def sends(self) -> bool:
        """Whether what it is given may leave."""
        if self.outbound is not None:
            return self.outbound
        return self.role not in (Role.ASKS, Role.DELEGATES)

    def risk_of(self, args: Mapping[str, Any]) -> Any:
        """What the tool says is the tier of one call. Raises whatever its own function raises."""
        return self.risk(args) if callable(self.risk) else self.risk

    def asks_for(self, args: Mapping[str, Any]) -> bool:
        """Whether the tool itself says that this call needs approval."""
        wanted = self.needs_approval
        return wanted(args) is not False if callable(wanted) else wanted

    async def __call__(self, context: Context, args: Mapping[str, Any]) -> Any:
        """Run it once. Raises Invalid for arguments that do not fit, and whatever the function raises."""
        try:
            model = self.parameters.model_validate(dict(args))
        except ValidationError as error:
            raise Invalid(str(error)) from error
        named = {name: getattr(model, name) for name in model.model_fields_set}
        positional = (context,) if self.wants_context else ()
        if inspect.iscoroutinefunction(self.function):
            return await self.function(*positional, **named)
        return await in_thread(self.function, *positional, **named)


@overload
def tool(function: Function, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    risk: RiskOf = ToolRisk.SAFE,
    needs_approval: Condition = False,
    retry: Literal["safe", "ask"] | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    source: str | None = None,
    label: Label = Label.PUBLIC,
    outbound: bool | None = None,
    clearance: Label = Label.PUBLIC,
    fingerprint: Fingerprint | None = None,
    timeout: timedelta | None = None,
) -> Callable[[Function], Tool]: ...


def tool(  # noqa: PLR0913 - what an author may say of a tool
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    risk: RiskOf = ToolRisk.SAFE,
    needs_approval: Condition = False,
    retry: Literal["safe", "ask"] | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    source: str | None = None,
    label: Label = Label.PUBLIC,
    outbound: bool | None = None,
    clearance: Label = Label.PUBLIC,
    fingerprint: Fingerprint | None = None,
    timeout: timedelta | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Make a function a tool. Its docstring is what the model reads, its annotations are the schema.

    Args:
        function: sync or async; its first parameter may be a `Context`.
        name: what the model calls it; the function's name otherwise.
        risk: a tier, or a function of the arguments that returns one.
        needs_approval: ask before each call; or a function of the arguments that says so.
        retry: `safe` runs a call again that was started and never finished, with the same
            idempotency key; `ask` puts a review to a person. `safe` for `read_only` tools.
        read_only: the tool changes nothing.
        destructive: the tool destroys something; a source policy `destructive` asks for it.
        label: of what it returns: `public`, `internal` or `private`.
        outbound: whether what it is given may leave.
        clearance: how far data may go with it.
        fingerprint: of what a call acts on, a function of the arguments that only reads. A change
            between the question and the start asks again.
        source: where it was discovered; it is then called `SOURCE__NAME`.
        timeout: of one execution.

    Raises:
        DefinitionError: a parameter without an annotation, a tier that does not exist, or
            a `needs_approval` that is neither yes nor no nor a function.
    """

    def make(function: Function) -> Tool:
        raw: str = name or function.__name__
        exposed_name = exposed(source, raw)
        parameters, wants_context = _parameters(exposed_name, function)
        if not isinstance(needs_approval, bool) and not callable(needs_approval):
            raise DefinitionError(
                f"tool {raw}: needs_approval is {needs_approval!r}; use True, False or a function"
            )
        return Tool(
            name=exposed_name,
            description=inspect.cleandoc(function.__doc__ or ""),
            function=function,
            risk=risk if callable(risk) else _word(ToolRisk, raw, "risk", risk),
            needs_approval=needs_approval,
            retry=retry or ("safe" if read_only and source is None else "ask"),
            source=source,
            raw=raw,
            read_only=read_only,
            destructive=destructive,
            label=_word(Label, raw, "label", label),
            fingerprint=fingerprint,
            outbound=outbound,
            clearance=_word(Label, raw, "clearance", clearance),
            timeout=timeout,
            parameters=parameters,
            wants_context=wants_context,
        )

    return make(function) if function is not None else make


def _word(kind: type[W], name: str, field: str, given: Any) -> W:
    try:
        return kind(given)
    except ValueError:
        words = ", ".join(kind)
        raise DefinitionError(f"tool {name}: {field} {given!r} is none of {words}") from None


def _parameters(label: str, function: Function) -> tuple[type[BaseModel], bool]:
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    wants_context = False
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        hint = hints.get(parameter.name)
        if position == 0 and (hint is Context or parameter.name == "ctx"):
            wants_context = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DefinitionError(
                f"tool {label}: *{parameter.name} has no schema; name each parameter"
            )
        elif hint is None:
            raise DefinitionError(f"tool {label}: parameter {parameter.name!r} needs an annotation")
        else:
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hint, default)
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    return create_model(f"{label}_arguments", __config__=config, **fields), wants_context
