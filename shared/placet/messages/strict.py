"""Reading what others wrote: every key once, and none that would be dropped in silence.

A field that is misspelt would otherwise be as if it had not been sent, and what it was to restrict,
such as who may answer, would be open.
"""

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from placet.domain.digest import strict_json
from placet.domain.interaction import InteractionRequest, Kind
from placet.errors import FieldError, Invalid
from placet.messages.wire import M, unfit

_KINDS: dict[str, type[BaseModel]] = {
    str(model.model_fields["kind"].default): model
    for model in get_args(get_args(InteractionRequest)[0])
}


def decode_strict(model: type[M], body: bytes) -> M:
    """Read one message of somebody else.

    Raises:
        Invalid: no JSON, a key twice, NaN or an infinity, fields that do not fit, or fields that
            nobody knows, at any level; `errors` lists them.
    """
    return _fitting(model, strict_json(body), body)


def decode_request_strict(body: bytes) -> Any:
    """Read a request of another service by its `kind`; one without is an approval.

    Raises Invalid as `decode_strict` does.
    """
    given = strict_json(body)
    kind = given.get("kind", Kind.TOOL_APPROVAL) if isinstance(given, dict) else Kind.TOOL_APPROVAL
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        why = f"must be one of {', '.join(sorted(_KINDS))}"
        raise Invalid(f"/kind: {why}", [FieldError("/kind", why)])
    return _fitting(model, given, body)


def _fitting(model: type[M], given: Any, body: bytes) -> M:
    if foreign := unknown_fields(model, given):
        raise Invalid("; ".join(f"{e.pointer}: {e.detail}" for e in foreign)[:2000], foreign)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise unfit(error) from error


def unknown_fields(model: type[BaseModel], given: Any, at: str = "") -> list[FieldError]:
    """Every field of `given`, and of the models inside, that the model does not have."""
    if not isinstance(given, dict):
        return []
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    found = []
    for key, value in given.items():
        pointer = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in fields:
            allowed = ", ".join(sorted(fields))
            found.append(FieldError(pointer, f"unknown field; the fields here are {allowed}"))
        elif inner := _model_in(fields[key].annotation):
            each = enumerate(value) if isinstance(value, list) else [(None, value)]
            for place, item in each:
                inside = pointer if place is None else f"{pointer}/{place}"
                found += unknown_fields(inner, item, inside)
    return found


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field holds, or holds many or none of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
