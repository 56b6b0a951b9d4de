"""One way in and one way out: contract models as JSON bytes, with the AMQP `type` of each."""

from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from placet.domain.interaction import ApprovalRequest, Kind, Request, RequestAdapter
from placet.domain.resolution import Resolution
from placet.errors import FieldError, Invalid
from placet.messages.command import RunCommand
from placet.messages.event import Event
from placet.messages.request import AnswerMessage, Close

M = TypeVar("M", bound=BaseModel)

NAMES: dict[type[BaseModel], str] = {
    RunCommand: "placet.run_command.v1",
    AnswerMessage: "placet.answer.v1",
    Resolution: "placet.resolution.v1",
    Close: "placet.close.v1",
    Event: "placet.event.v1",
}
"""The AMQP `type` of each model. Its meaning never changes; a breaking change is a `v2` beside it."""

APPROVAL_REQUEST = "placet.approval_request.v1"
INTERACTION_REQUEST = "placet.interaction_request.v1"


def name_of(model: BaseModel) -> str:
    """The AMQP `type` of a message."""
    if isinstance(model, Request):
        approval = getattr(model, "kind", None) == Kind.TOOL_APPROVAL
        return APPROVAL_REQUEST if approval else INTERACTION_REQUEST
    return NAMES[type(model)]


def encode(model: BaseModel) -> bytes:
    """The message as JSON; the same model gives the same bytes, and reading them gives an equal model."""
    return model.model_dump_json().encode()


def decode(model: type[M], body: bytes) -> M:
    """Read one message of Placet's own services, open to fields of a newer writer.

    What somebody else wrote is read by `strict.decode_strict`.

    Raises:
        Invalid: no JSON, or fields that do not fit; `errors` lists them.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise unfit(error) from error


def decode_request(body: bytes) -> Any:
    """Read a request of the runner by its `kind`; one without is an `ApprovalRequest`.

    What another service asks is read by `strict.decode_request_strict`. Raises Invalid.
    """
    try:
        return RequestAdapter.validate_json(body)
    except ValidationError as error:
        if error.errors()[0]["type"] == "union_tag_not_found":
            return decode(ApprovalRequest, body)
        raise unfit(error) from error


def unfit(error: ValidationError) -> Invalid:
    """A validation error as the one that every surface reports."""
    fields = [
        FieldError("".join(f"/{part}" for part in e["loc"]), e["msg"]) for e in error.errors()
    ]
    return Invalid("; ".join(f"{f.pointer or '/'}: {f.detail}" for f in fields)[:2000], fields)


ADAPTERS: dict[str, TypeAdapter[Any]] = {
    APPROVAL_REQUEST: RequestAdapter,
    INTERACTION_REQUEST: RequestAdapter,
    **{name: TypeAdapter(model) for model, name in NAMES.items()},
}
"""How to read a message by its AMQP `type`, for tools that meet any."""
