"""Request bodies of the broker's REST API; unknown fields are refused."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.requests import Request

from placet.domain.answer import Action
from placet.domain.base import WireId
from placet.domain.digest import strict_json
from placet.domain.freeze import Reason, Tools
from placet.domain.naming import RULE, Name, names
from placet.domain.person import Person
from placet.errors import Invalid
from placet.messages.wire import unfit

B = TypeVar("B", bound=BaseModel)


class Body(BaseModel):
    """A body: frozen, nothing unknown in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class SignedBody(Body):
    """A body that may say in whose name it is sent."""

    named: Person | None = Field(default=None, alias="from")
    """Who answers: an id, or `{id, name, username}` of which only the id counts."""

    @field_validator("named", mode="before")
    @classmethod
    def _person(cls, value: Any) -> Any:
        return {"id": value} if isinstance(value, str) else value

    @field_validator("named")
    @classmethod
    def _somebody(cls, value: Person | None) -> Person | None:
        if value is not None and not names(value.id):
            msg = f"an id {RULE}"
            raise ValueError(msg)
        return value


class AnswerBody(SignedBody):
    """An answer to one input."""

    action: Action = Action.ACCEPT
    content: Any = None
    """What fits the input's kind."""
    digest: str | None = None
    """Of what was shown; another is refused as `shown_differs`."""


class BatchedAnswer(AnswerBody):
    """One answer of a batch."""

    id: WireId = Field(min_length=1)
    """Which input it answers; nothing goes by position."""


class BatchBody(Body):
    """Answers to several inputs."""

    answers: tuple[BatchedAnswer, ...] = Field(min_length=1, max_length=100)
    mode: Literal["all", "each"] = "all"
    """`all`: all of them settle, or none does. `each`: every one for itself, with a result for each."""


class ExtendBody(SignedBody):
    """More time for an input."""

    expires_at: datetime
    """The new deadline: later than the present one, at most 30 days from now."""


class AudienceBody(Body):
    """Other approvers of an input."""

    add: tuple[Name, ...] = Field(default=(), max_length=100)
    """People, `group:NAME`, `service:NAME`, or a channel's identity such as `slack:ID`."""
    remove: tuple[str, ...] = Field(default=(), max_length=100)


class LinkBody(Body):
    """What a one-time link is for."""

    person: Name
    """Whose answer it is."""
    action: Action = Action.ACCEPT
    content: Any = None
    """What fits the input's kind; the link gives this answer and no other."""
    seconds: int = Field(default=86_400, ge=60, le=2_592_000, strict=True)
    """How long it is good for."""


class FreezeBody(Body):
    """Keep calls from starting until the freeze is lifted."""

    reason: Reason
    """Why, for whoever waits."""
    agent: Name | None = None
    """A definition's name or an agent's id (`agt_...`), with all runs below theirs; else every agent."""
    tools: Tools = ()
    """Which tools, by name; `delegate` is one, and `bash` and `shell` are the same. None: all of them."""


class KeyBody(Body):
    """A key for a person or a service, or what an AMQP user stands for."""

    kind: Literal["key", "amqp"] = "key"
    name: Name
    """For people to tell keys apart; of kind `amqp`, the AMQP user."""
    person: Name | None = None
    service: Name | None = None
    scopes: tuple[str, ...] = ()
    expires_at: AwareDatetime | None = None
    """When the key ends by itself, within ten years; a mapping of an AMQP user has no end."""


class PersonBody(Body):
    """A person of the directory."""

    name: Name | None = None
    """What people call them. Left out: as before."""
    email: Name | None = None
    identities: Annotated[tuple[WireId, ...], Field(max_length=20)] | None = None
    """Who they are on channels: `slack:ID`, `telegram:ID`, `discord:ID`. Left out: as before."""
    disabled: bool | None = Field(default=None, strict=True)
    """Whether they are let in no more. Left out: as before."""


class GroupBody(Body):
    """A group of people."""

    members: tuple[WireId, ...] = Field(max_length=1000)
    """Ids of people."""


class DelegationBody(Body):
    """Somebody answers in another's place as well, until a moment."""

    to: WireId
    """Who answers besides."""
    until: AwareDatetime
    """Within 366 days."""
    named: WireId | None = Field(default=None, alias="from")
    """In whose place; the caller otherwise. Somebody else's needs the scope `operate`."""


async def read(model: type[B], request: Request) -> B:
    """The body as this model.

    Raises:
        Invalid: no JSON, a key twice, an unknown field, or one that does not fit; lists them.
    """
    given = strict_json(await request.body())
    try:
        # Half a character, or a number that no other program reads, can't be kept or passed on.
        orjson.dumps(given)
        return model.model_validate(given)
    except TypeError as error:
        raise Invalid(f"not readable as JSON: {error}") from error
    except ValidationError as error:
        raise unfit(error) from error


async def read_or_nothing(model: type[B], request: Request) -> B:
    """The same, of a body that may be left out. Raises as `read`."""
    return await read(model, request) if await request.body() else model()


def documented(model: type[BaseModel]) -> dict[str, Any]:
    """What OpenAPI says about a body that the route reads itself."""
    schema = model.model_json_schema(by_alias=True)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
